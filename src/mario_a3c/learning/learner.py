"""One rollout in, better weights out."""

import logging
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mario_a3c.acting.actor import Weights
from mario_a3c.algorithms.config import ReturnConfig
from mario_a3c.errors import ConfigError, SetupError, first_line
from mario_a3c.experience.rollout import Rollout
from mario_a3c.experience.sample import ReplaySample
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.learning.objective import Batch, Objective, Rates
from mario_a3c.learning.optimizer import GuardedAdamW
from mario_a3c.learning.recorded import RecordedSteps
from mario_a3c.learning.recovery import Recovery
from mario_a3c.learning.schedules import Annealing, CosineWithWarmup, Fading, Horizon
from mario_a3c.learning.stats import STEP_NUMBERS, Tally, UpdateStats
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.averaged_weights import AveragedWeights
from mario_a3c.models.execution import Execution, RecordingError, is_memory_shortage
from mario_a3c.random_numbers import permutation
from mario_a3c.stateful import State, check_fit

LOG = logging.getLogger("mario.learning")

_KL = STEP_NUMBERS.index("kl")


class Learner:
    """Owns the network that learns, its optimizer, its averaged weights, and the count of updates.

    `lr_scale` and `entropy_scale` multiply what the schedules say; adaptive control moves them.
    """

    def __init__(
        self,
        config: LearnerConfig,
        returns: ReturnConfig,
        model: MarioActorCritic,
        execution: Execution,
        *,
        total_updates: int,
        seed: int = 0,
        failure_dir: Path | None = None,
        teacher: MarioActorCritic | None = None,
    ) -> None:
        """`model` was prepared by `execution`, and so was a `teacher`, which has no memory. What could not be learned
        from is saved to `failure_dir`."""
        self.config, self.model = config, model
        self.device = torch.device(execution.device)
        self.before_minibatch: Callable[[], None] | None = None
        """Called before every optimizer step. Raising there abandons an update; `restore` then makes it undone."""
        self.num_updates = 0
        self.lr_scale = self.entropy_scale = 1.0
        self.lr_schedule = CosineWithWarmup(
            config.lr, total_updates, config.warmup_share, config.lr_final_share, config.lr_hold_share
        )
        self.entropy_schedule = Annealing(
            config.entropy_beta, config.entropy_beta_final, total_updates, config.entropy_schedule
        )
        self.floor_schedule = Annealing(
            config.floor_beta, config.floor_beta_final, total_updates, config.entropy_schedule
        )
        teacher_beta = 0.0 if teacher is None else config.teacher_beta
        self.teacher_schedule = Fading(teacher_beta, config.num_taught_updates(total_updates))
        self.gamma_schedule = Horizon(returns.gamma, returns.last_gamma, total_updates)
        self.averaged = AveragedWeights(model, config.ema_decay) if config.ema_decay else None
        self._seed = seed
        self._objective = Objective(config, returns, model, teacher, self.device)
        self._optimizer = GuardedAdamW(
            model,
            lr=config.lr,
            weight_decay=config.weight_decay,
            epsilon=config.adam_epsilon,
            clip_grad=config.clip_grad,
        )
        self._scaler = execution.grad_scaler()
        self._recorded = RecordedSteps(execution)
        self._num_pieces = config.grad_accum
        self._recovery = Recovery(failure_dir)
        self._recovery.remember(self._trained_state())

    @property
    def learning_rate(self) -> float:
        return self.lr_schedule(self.num_updates) * self.lr_scale * self._recovery.lr_scale

    @property
    def entropy_beta(self) -> float:
        return self.entropy_schedule(self.num_updates) * self.entropy_scale

    @property
    def floor_beta(self) -> float:
        return self.floor_schedule(self.num_updates)

    @property
    def teacher_beta(self) -> float:
        return self.teacher_schedule(self.num_updates)

    @property
    def gamma(self) -> float:
        return self.gamma_schedule(self.num_updates)

    @property
    def _rates(self) -> Rates:
        return Rates(self.gamma, self.entropy_beta, self.floor_beta, self.teacher_beta)

    def weights(self) -> Weights:
        """What to act with from now on."""
        return Weights(self.num_updates, self.model)

    def update(self, rollout: Rollout, sample: ReplaySample | None = None) -> UpdateStats:
        """Learns from a rollout, then from a replayed sample where there is one.

        Writes `advantages` and `target_values` of both. A step whose loss or gradient is not finite is not applied;
        NumericsError says that this went on after every remedy.
        """
        here = rollout.to(self.device)
        self._optimizer.set_lr(self.learning_rate)
        self._objective.set_rates(self._rates)
        self._anchor(here)
        tally = Tally()
        for envs in self._minibatches(here):
            if self.before_minibatch is not None:
                self.before_minibatch()
            numbers = self._optimize(Batch(here, envs))
            tally.add(numbers)
            has_seen_all = len(tally) >= self.config.minibatches
            if self.config.target_kl and has_seen_all and float(numbers[_KL]) > self.config.target_kl:
                break
        if sample is not None:
            tally.add(self._optimize(Batch.of_sample(sample)), is_replayed=True)
        if here is not rollout:
            rollout.advantages.copy_(here.advantages)
            rollout.target_values.copy_(here.target_values)
        stats = self._stats(rollout, tally)
        self._finish(rollout, stats)
        return replace(stats, num_rollbacks=self._recovery.num_rollbacks)

    def warm_up(self, rollout: Rollout, policy_lag: int) -> None:
        """Compiles what updates from such rollouts need, and learns nothing."""
        envs = next(self._minibatches(rollout))
        batch = Batch(rollout.to(self.device), envs.tensor_split(self._num_pieces)[0])
        self._objective.set_rates(self._rates)
        loss, _ = self._objective.loss(batch, self._objective.evaluate(batch, batch.envs), None)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.forget_gradients()
        if policy_lag and self.config.is_clipped:
            self._write_anchor(batch.rollout, batch.envs)

    def state(self) -> State:
        """Everything that the next updates depend on."""
        return {
            **self._trained_state(),
            "scaler": self._scaler.state_dict(),
            "num_updates": self.num_updates,
            "lr_scale": self.lr_scale,
            "entropy_scale": self.entropy_scale,
            "recovery": self._recovery.state(),
        }

    def restore(self, state: State) -> None:
        self._restore_trained(state)
        if state["scaler"]:
            self._scaler.load_state_dict(dict(state["scaler"]))
        self.num_updates = state["num_updates"]
        self.lr_scale, self.entropy_scale = state["lr_scale"], state["entropy_scale"]
        self._recovery.restore(state["recovery"])
        self._recovery.remember(self._trained_state())

    def _anchor(self, rollout: Rollout) -> None:
        """What several passes must not go too far from is the policy as it is now. Where collecting lags, another one
        acted: clipping around that one would forbid what was learned since (Hilton et al. 2022).
        """
        if not self.config.is_clipped or rollout.weights_version == self.num_updates:
            rollout.anchor_log_probs.copy_(rollout.log_probs)
            return
        pieces = torch.arange(rollout.num_envs, device=self.device).tensor_split(
            self.config.minibatches * self._num_pieces
        )
        for envs in pieces:
            kind = "anchor", rollout.frames.data_ptr(), len(envs)
            self._record_or_launch(kind, lambda chosen: self._write_anchor(rollout, chosen), envs)

    @torch.no_grad()
    def _write_anchor(self, rollout: Rollout, envs: Tensor) -> Tensor:
        log_probs = self._objective.evaluate(Batch(rollout, envs), envs).log_probs
        return rollout.anchor_log_probs.index_copy_(1, envs, log_probs)

    def _minibatches(self, rollout: Rollout) -> Iterator[Tensor]:
        """Environments, dealt out anew for each pass: whole sequences, as memories need them."""
        count, num_envs = self.config.minibatches, rollout.num_envs
        if count * self.config.grad_accum > num_envs:
            raise ConfigError(
                f"--minibatches {count} of --grad-accum {self.config.grad_accum} pieces each need "
                f"{count * self.config.grad_accum} environments, --num-envs is {num_envs}"
            )
        for epoch in range(self.config.epochs):
            counter = self.num_updates * self.config.epochs + epoch
            yield from permutation(num_envs, self._seed, counter, self.device).tensor_split(count)

    def _optimize(self, batch: Batch) -> Tensor:
        """One optimizer step; in smaller pieces, from then on, where memory runs out. Returns its STEP_NUMBERS."""
        while True:
            try:
                return self._step(batch)
            except RuntimeError as error:
                if not is_memory_shortage(error):
                    raise
                shortage = first_line(error)
            # Outside the handler: the error holds on to everything that was allocated.
            self._optimizer.forget_gradients()
            self._recorded.forget()
            self._halve_pieces(len(batch.envs), shortage)

    def _step(self, batch: Batch) -> Tensor:
        slot = batch.rollout
        if batch.is_replayed or self._num_pieces > 1:
            return self._step_by_launches(batch)
        kind = "step", slot.frames.data_ptr(), len(batch.envs), self._objective.follows_teacher
        return self._record_or_launch(kind, lambda envs: self._step_by_launches(Batch(slot, envs)), batch.envs)

    def _record_or_launch(self, kind: Hashable, work: Callable[[Tensor], Tensor], envs: Tensor) -> Tensor:
        """As a recorded graph where there can be one: launching some hundred kernels takes longer than they do."""
        if not self.model.memory.has_fixed_work:
            return work(envs)
        try:
            return self._recorded(kind, work, envs)
        except RecordingError as error:
            LOG.warning("steps are launched kernel by kernel from now on, they could not be recorded: %s", error)
        self._recorded.give_up()
        self._optimizer.forget_gradients()
        return work(envs)

    def _step_by_launches(self, batch: Batch) -> Tensor:
        pieces = batch.envs.tensor_split(min(self._num_pieces, len(batch.envs)))
        moments = self._objective.moments(batch, pieces)
        numbers: dict[str, Tensor] = {}
        for envs in pieces:
            evaluation = self._objective.evaluate(batch, envs)
            loss, of_piece = self._objective.loss(batch, evaluation, moments)
            share = len(envs) / len(batch.envs)
            self._scaler.scale(loss * share).backward()  # type: ignore[no-untyped-call]
            for name, number in of_piece.items():
                numbers[name] = numbers.get(name, 0.0) + number.detach() * share
            batch.rollout.advantages[batch.burn_in :].index_copy_(1, envs, evaluation.targets.advantages)
            batch.rollout.target_values[batch.burn_in :].index_copy_(1, envs, evaluation.targets.vs)
            largest = evaluation.log_rhos.detach().abs().max()
            numbers["log_rho_max"] = torch.maximum(numbers.get("log_rho_max", largest), largest)
        numbers["grad_norm"], numbers["is_skipped"] = self._optimizer.step(numbers["loss_total"], self._scaler)
        return torch.stack([numbers[name] for name in STEP_NUMBERS])

    def _halve_pieces(self, num_envs: int, shortage: str) -> None:
        if self._num_pieces >= num_envs:
            raise SetupError(
                f"out of memory with one environment at a time ({shortage}); "
                "shorten --rollout-steps, or free the device"
            )
        self._num_pieces = min(2 * self._num_pieces, num_envs)
        LOG.warning("out of memory: minibatches are learned in %d pieces from now on, same result", self._num_pieces)

    def _stats(self, rollout: Rollout, tally: Tally) -> UpdateStats:
        numbers: dict[str, Any] = tally.read()
        return UpdateStats(
            update=self.num_updates + 1,
            learning_rate=self.learning_rate,
            policy_lag=self.num_updates - rollout.weights_version,
            num_env_steps=rollout.actions.numel(),
            num_optimizer_steps=len(tally),
            num_pieces=self._num_pieces,
            num_rollbacks=0,
            **self._rates._asdict(),
            **numbers,
        )

    def _finish(self, rollout: Rollout, stats: UpdateStats) -> None:
        is_overflow = self._scaler.is_enabled() and self._scaler.get_scale() >= 1  # which is how a scale is found
        if stats.num_skipped_steps and not is_overflow:
            LOG.warning("update %d: %d steps were not finite and not applied", stats.update, stats.num_skipped_steps)
            good = self._recovery.after_bad_update(rollout, stats)
            if good is not None:
                self._restore_trained(good)
        elif self._recovery.after_good_update(stats.update):
            self._recovery.remember(self._trained_state())
        self.num_updates += 1
        if self.averaged is not None:
            self.averaged.update(self.model)

    def _trained_state(self) -> dict[str, State]:
        parameters = {name: each.detach().clone() for name, each in self.model.named_parameters()}
        averaged = {} if self.averaged is None else self.averaged.state()
        return {"model": parameters, "optimizer": self._optimizer.state(), "averaged": averaged}

    @torch.no_grad()
    def _restore_trained(self, state: State) -> None:
        check_fit("network", state["model"], dict(self.model.named_parameters()))
        for name, parameter in self.model.named_parameters():
            parameter.copy_(state["model"][name])
        self._optimizer.restore(state["optimizer"])
        self._recorded.forget()  # the moments lie elsewhere now
        if self.averaged is not None and state["averaged"]:
            self.averaged.restore(state["averaged"])
