"""Trials by Optuna: each is `run_training` in this process, and its average return is what counts."""

import importlib.util
import logging
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mario_a3c.config import TrainingConfig
from mario_a3c.config.as_flags import as_flags
from mario_a3c.config.json_file import write_config
from mario_a3c.errors import NumericsError, SetupError
from mario_a3c.search.config import StudyConfig
from mario_a3c.search.space import parameters_of, suggest
from mario_a3c.training.report import duration
from mario_a3c.training.run import TrainingResult, run_training
from mario_a3c.training.stopping import StopReason

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

LOG = logging.getLogger("mario.search")

_FLAGS, _RUN_SECTIONS = "flags", ("run", "budget", "metrics", "evaluation", "display", "cache")


@dataclass(frozen=True, slots=True)
class Best:
    """The best trial of a study so far, and the file of its settings."""

    number: int
    value: float
    flags: str
    config_path: Path


def run_study(config: TrainingConfig, study_config: StudyConfig) -> Best | None:
    """Makes the trials around `config`; None where none of them finished an episode."""
    if importlib.util.find_spec("optuna") is None:
        raise SetupError("the search needs the package optuna; `pip install 'mario-a3c[search]'` installs it")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study_config.out.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        study_name=study_config.study_name,
        storage=_storage(study_config),
        sampler=optuna.samplers.TPESampler(seed=study_config.seed),
        direction="maximize",
        load_if_exists=True,
    )
    if not study.trials:
        study.enqueue_trial(parameters_of(config))
    trials = _Trials(config, study_config)
    study.optimize(
        trials.run,
        n_trials=study_config.trials,
        timeout=study_config.max_seconds or None,
        catch=(NumericsError,),
        callbacks=[trials.report],
    )
    return _best(study, config, study_config)


class _Trials:
    """One process's share of a study."""

    def __init__(self, config: TrainingConfig, study_config: StudyConfig) -> None:
        self._config, self._study_config = config, study_config
        self._started, self._num_done = time.monotonic(), 0

    def run(self, trial: "Trial") -> float:
        config = self._settings(trial)
        trial.set_user_attr(_FLAGS, " ".join(as_flags(config, self._config, without=_RUN_SECTIONS)))
        result = run_training(config)
        for name in ("clear_rate", "furthest", "num_updates", "num_steps", "seconds"):
            trial.set_user_attr(name, getattr(result, name))
        if result.reason is StopReason.SIGNAL:
            trial.study.stop()
            self._prune("interrupted")
        if result.num_updates < self._study_config.updates:
            self._prune("the time is over")  # a shorter run cannot be compared
        return self._value(result)

    def report(self, study: "Study", trial: "FrozenTrial") -> None:
        self._num_done += 1
        elapsed = time.monotonic() - self._started
        left = self._study_config.trials - self._num_done
        eta = elapsed / self._num_done * left
        if self._study_config.max_seconds:
            eta = min(eta, max(0.0, self._study_config.max_seconds - elapsed))
        values = [each.value for each in study.trials if each.value is not None]
        LOG.info(
            "trial %d %s, %s %s, best %s; %d of %d done, ETA %s; %s",
            trial.number, trial.state.name.lower(), self._study_config.objective,
            "none" if trial.value is None else f"{trial.value:.3f}", f"{max(values):.3f}" if values else "none",
            self._num_done, self._study_config.trials, duration(eta),
            ", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
                      for name, value in trial.params.items()),
        )  # fmt: skip

    def _settings(self, trial: "Trial") -> TrainingConfig:
        config, limits = suggest(trial, self._config), self._study_config
        left = limits.max_seconds - (time.monotonic() - self._started) if limits.max_seconds else None
        return replace(
            config,
            budget=replace(
                config.budget,
                total_updates=limits.updates,
                target_clear_rate=None,
                max_seconds=None if left is None else max(left, 1.0),
            ),
            run=replace(
                config.run, save_dir=limits.out / "runs", run_name=f"{limits.study_name}_{trial.number:04d}",
                resume=None, fresh=True,
            ),
            metrics=replace(config.metrics, tensorboard=False),
            evaluation=replace(config.evaluation, eval_interval=0, video_interval=0, final_evaluation=False),
        )  # fmt: skip

    def _value(self, result: TrainingResult) -> float:
        value: float = getattr(result, self._study_config.objective)
        if math.isnan(value):
            self._prune("no episode has ended; more --updates, --num-envs or --rollout-steps let some end")
        return value

    @staticmethod
    def _prune(why: str) -> None:
        import optuna

        LOG.warning("the trial does not count: %s", why)
        raise optuna.TrialPruned(why)


def _storage(study_config: StudyConfig) -> Any:
    """Optuna's own for a URL; else a journal, which processes on one disk may share."""
    if "://" in study_config.storage:
        return study_config.storage
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = Path(study_config.storage) if study_config.storage else study_config.out / "study.journal"
    path.parent.mkdir(parents=True, exist_ok=True)
    return JournalStorage(JournalFileBackend(str(path)))


def _best(study: "Study", config: TrainingConfig, study_config: StudyConfig) -> Best | None:
    import optuna

    complete = [each for each in study.trials if each.state is optuna.trial.TrialState.COMPLETE]
    if not complete:
        return None
    best = study.best_trial
    path = study_config.out / "best.json"
    write_config(suggest(optuna.trial.FixedTrial(best.params), config), path)  # type: ignore[arg-type] # asked alike
    return Best(best.number, float(study.best_value), str(best.user_attrs.get(_FLAGS, "")), path)
