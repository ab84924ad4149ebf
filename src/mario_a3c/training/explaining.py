"""Why a trained agent fails in a stage: a table, and pictures of the moments in which it could have been saved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.stages import parse_stages
from mario_a3c.errors import ConfigError
from mario_a3c.evaluation.failures import Choices, ChoiceTrier, Failure, FailureFinder, MakeBatch
from mario_a3c.metrics.plot import new_figure, save_figure
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.cores import num_cores
from mario_a3c.native.rom import locate_rom
from mario_a3c.native.start_states import Stage, stages_of
from mario_a3c.training.agent import Agent, load_agent

_COLUMNS = 4
_ENOUGH = 0.1  # of the tries saved: less may be chance


@dataclass(frozen=True, kw_only=True, slots=True)
class Trials:
    """How many failures are looked at, and how closely."""

    num_failures: int
    most_episodes: int  # that are played to find them
    num_tries: int  # of each action at each moment
    steps_before: Sequence[int]  # the moments, the last steps first
    seed: int


@dataclass(frozen=True, slots=True)
class Explained:
    """One failure, and what could have been done at several moments before it; the last steps first."""

    failure: Failure
    choices: tuple[Choices, ...]

    @property
    def telling(self) -> Choices:
        """The moment in which another action would have saved most; where none would have, the last one."""
        best = max(self.choices, key=lambda each: each.avoidable)
        return best if best.avoidable >= _ENOUGH else self.choices[0]


@dataclass(frozen=True, slots=True)
class Explanation:
    agent: str
    actions: tuple[str, ...]
    stage: Stage
    num_episodes: int
    num_failed: int  # of these; the first of them are looked at
    failures: tuple[Explained, ...]

    @property
    def means(self) -> list[tuple[int, float, float]]:
        """Steps before the end; how often it fails from there as the agent plays, and after the best first action."""
        moments = zip(*(each.choices for each in self.failures), strict=True)
        return [
            (column[0].steps_before, mean(each.as_played for each in column), mean(each.at_best for each in column))
            for column in moments
        ]

    def table(self) -> str:
        fail = f"{self.num_failed} of {self.num_episodes} episodes fail"
        lines = [
            f"{self.agent} in {self.stage}: {fail}, {len(self.failures)} of them looked at",
            "",
            "| steps before the end | fails as it plays | after the best first action |",
            "| --- | --- | --- |",
        ]
        lines += [f"| {steps} | {as_played:.0%} | {at_best:.0%} |" for steps, as_played, at_best in self.means]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "stage": str(self.stage),
            "episodes": self.num_episodes,
            "failed": self.num_failed,
            "means": [
                {"steps_before": steps, "as_played": round(as_played, 4), "at_best": round(at_best, 4)}
                for steps, as_played, at_best in self.means
            ],
            "failures": [
                {
                    "end_reason": str(each.failure.end_reason),
                    "room": each.failure.room,
                    "x": each.failure.x,
                    "moments": [choices.as_row(self.actions) for choices in each.choices],
                }
                for each in self.failures
            ],
        }


def explain_failures(
    checkpoint: Path,
    stage: str,
    trials: Trials,
    say: Callable[[str], None],
) -> Explanation:
    """Finds failures of an agent, and tries every action before them. `say` hears how far that is."""
    agent = load_agent(checkpoint)
    env, cache = agent.config.vector_env.env, CacheDir.open(CacheConfig())
    rom = locate_rom(RomConfig(), cache, game=env.game, graphics=env.graphics)
    agent.expect_rom(rom)
    stages = parse_stages(stage, stages_of(rom))
    if len(stages) != 1:
        raise ConfigError(f"--stage is one stage, like 1-2, got {stage}")

    def make_batch(env: MarioEnvConfig, num_envs: int) -> MarioBatch:
        config = MarioVectorEnvConfig(num_envs=num_envs, num_threads=num_cores(), env=env)
        return MarioBatch(config, engine=EngineConfig(), cache=cache, autoreset=False, max_starts=1)

    return explain_in_batches(agent, checkpoint.name, stages[0], make_batch, trials, say)


def explain_in_batches(
    agent: Agent,
    name: str,
    stage: Stage,
    make_batch: MakeBatch,
    trials: Trials,
    say: Callable[[str], None],
) -> Explanation:
    env = agent.config.vector_env.env
    finder = FailureFinder(agent.model, env, make_batch, num_moments=max(trials.steps_before), seed=trials.seed)

    def on_episode(num_found: int) -> None:
        if finder.num_episodes % 32 == 0:
            say(f"{finder.num_episodes} episodes of {stage}, {num_found} of {trials.num_failures} failures")

    failures = finder.find(stage, trials.num_failures, trials.most_episodes, on_episode)
    if not failures:
        raise ConfigError(
            f"{name} failed in none of {finder.num_episodes} episodes of {stage} that were longer than "
            f"{max(trials.steps_before)} steps; more are played with --most-episodes"
        )
    trier = ChoiceTrier(agent.model, env, make_batch, num_tries=trials.num_tries, seed=trials.seed)
    explained: list[Explained] = []
    for failure in failures:
        explained.append(Explained(failure, tuple(trier.try_at(failure, steps) for steps in trials.steps_before)))
        best = explained[-1].telling
        what = f"{best.as_played:.0%} fail, after {agent.actions[best.best_action]} {best.at_best:.0%}"
        found = f"{best.steps_before} steps before {what}" if best.avoidable >= _ENOUGH else "no action saves it"
        say(f"{len(explained)} of {len(failures)}: {failure.end_reason} at x {failure.x}; {found}")
    return Explanation(name, agent.actions, stage, finder.num_episodes, finder.num_failed, tuple(explained))


def draw_failures(explanation: Explanation, target: Path) -> Path:
    """The curves, and the telling moment of each failure."""
    rows = -(-(len(explanation.failures) + 1) // _COLUMNS)
    title = f"{explanation.agent} in {explanation.stage}: how often it fails, and what would have saved it"
    figure = new_figure(title, (3.2 * _COLUMNS, 3.3 * rows))
    curves, *tiles = figure.subplots(rows, _COLUMNS, squeeze=False).flat
    steps, as_played, at_best = zip(*explanation.means, strict=True)
    curves.plot(steps, as_played, label="as it plays", linewidth=1.4)
    curves.plot(steps, at_best, label="after the best first action", linewidth=1.4)
    curves.set_xlabel("steps before the end", fontsize=8)
    curves.set_ylim(0, 1)
    curves.invert_xaxis()
    curves.grid(alpha=0.3)
    curves.legend(fontsize=8, frameon=False)
    for axes in tiles:
        axes.set_axis_off()
    for axes, each in zip(tiles, explanation.failures, strict=False):
        best = each.telling
        axes.imshow(best.picture)
        axes.set_title(_caption(each, explanation.actions), fontsize=8, loc="left")
    return save_figure(figure, target)


def _caption(each: Explained, actions: Sequence[str]) -> str:
    best, failure = each.telling, each.failure
    held = "nothing" if best.last_action is None else actions[best.last_action]
    where = f"{failure.end_reason} at x {failure.x}, {best.steps_before} steps before, {held} held:"
    if best.avoidable < _ENOUGH:
        return f"{where}\n{best.as_played:.0%} fail, and no action saves it"
    usual = actions[int(best.policy.argmax())]
    return (
        f"{where}\n{best.as_played:.0%} fail as it plays ({usual}, p = {best.policy.max():.2g}),\n"
        f"{best.at_best:.0%} after {actions[best.best_action]} (p = {best.policy[best.best_action]:.1g})"
    )
