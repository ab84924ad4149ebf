"""Population-based training (Jaderberg et al. 2017): the worst go on from the best, with settings a little changed.

Members are trained one after another in this process, a piece at a time. Learning rate and entropy are constant within
a piece: what changes them is the population.
"""

import json
import logging
import math
import random
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import write_config
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import ConfigError, NumericsError
from mario_a3c.search.config import PopulationConfig
from mario_a3c.training.report import duration
from mario_a3c.training.run import run_training
from mario_a3c.training.stopping import StopReason

LOG = logging.getLogger("mario.search")

_FIRST_SPREAD = 4.0  # first settings lie within this factor of those that were given


@dataclass(frozen=True, slots=True)
class Member:
    """One of the population, after its last piece."""

    number: int
    lr: float
    entropy_beta: float
    value: float = -math.inf
    generation: int = 0  # pieces that were made
    run: str = ""  # the folder of its run
    parent: str = ""  # the run whose weights it goes on from, until its next piece has begun


@dataclass(frozen=True, slots=True)
class Outcome:
    best: Member
    config_path: Path
    is_complete: bool


def run_population(config: TrainingConfig, population: PopulationConfig) -> Outcome | None:
    """Trains the population, or goes on with the one in its folder; None where no member finished an episode."""
    population.out.mkdir(parents=True, exist_ok=True)
    path = population.out / "population.json"
    members = read_members(path, population) or first_members(config, population)
    started, num_done = time.monotonic(), 0
    num_left = sum(population.generations - each.generation for each in members)
    is_over = False
    for generation in range(population.generations):
        for index, member in enumerate(members):
            is_over = is_over or bool(population.max_seconds and time.monotonic() - started > population.max_seconds)
            if is_over or member.generation > generation:
                continue
            trained = train_piece(config, population, member)
            if trained is None:
                is_over = True
                continue
            members[index] = trained
            num_done += 1
            eta = (time.monotonic() - started) / num_done * (num_left - num_done)
            LOG.info(
                "generation %d of %d, member %d: %s %.3f with lr %.3g, entropy %.3g; best %.3f, ETA %s",
                generation + 1, population.generations, member.number, population.objective, trained.value,
                trained.lr, trained.entropy_beta, max(each.value for each in members), duration(eta),
            )  # fmt: skip
            write_members(path, members)
        if is_over:
            break
        if generation + 1 < population.generations and all(each.generation == generation + 1 for each in members):
            members = next_generation(members, population, generation)
            write_members(path, members)
    return conclude(config, population, members, is_complete=not is_over)


def first_members(config: TrainingConfig, population: PopulationConfig) -> list[Member]:
    """The first as it was given, the others around it."""
    draw = random.Random(population.seed)  # noqa: S311 - not a secret
    given = Member(0, config.learner.lr, config.learner.entropy_beta)
    return [given] + [
        replace(
            given,
            number=number,
            lr=given.lr * _FIRST_SPREAD ** draw.uniform(-1, 1),
            entropy_beta=given.entropy_beta * _FIRST_SPREAD ** draw.uniform(-1, 1),
        )
        for number in range(1, population.members)
    ]


def next_generation(members: list[Member], population: PopulationConfig, generation: int) -> list[Member]:
    """The worst of them, each in the place of one of the best: its weights, its settings changed up or down."""
    draw = random.Random(f"{population.seed} {generation}")  # noqa: S311 - not a secret
    ranked = sorted(members, key=lambda each: each.value, reverse=True)
    num_replaced = max(1, int(len(members) * population.replaced_share))
    following = {each.number: each for each in members}
    for loser, winner in zip(ranked[-num_replaced:], ranked[:num_replaced], strict=True):
        if winner.value == loser.value:
            continue
        lr, entropy_beta = (
            value * population.factor ** draw.choice((-1, 1)) for value in (winner.lr, winner.entropy_beta)
        )
        following[loser.number] = replace(loser, lr=lr, entropy_beta=entropy_beta, parent=winner.run)
        LOG.info(
            "member %d goes on from member %d, lr %.3g, entropy %.3g", loser.number, winner.number, lr, entropy_beta
        )
    return [following[number] for number in sorted(following)]


def train_piece(config: TrainingConfig, population: PopulationConfig, member: Member) -> Member | None:
    """The member after one more piece; None where the run was interrupted. One that breaks counts as the worst."""
    is_new = not member.run or bool(member.parent)
    name = f"member_{member.number:02d}_{member.generation:03d}" if is_new else Path(member.run).name
    runs = population.out / "runs"
    settings = replace(
        config,
        budget=replace(config.budget, total_updates=_updates_of(population, member, is_new), target_clear_rate=None),
        run=replace(
            config.run, save_dir=runs, run_name=name, fresh=is_new, resume=None if is_new else "latest",
            init_from=Path(member.parent) if member.parent else None, init_weights="last",
        ),
        learner=replace(
            config.learner, lr=member.lr, lr_final_share=1.0, entropy_beta=member.entropy_beta,
            entropy_beta_final=member.entropy_beta, entropy_schedule="constant",
        ),
        vector_env=replace(config.vector_env, seed=config.vector_env.seed + member.number),
        metrics=replace(config.metrics, tensorboard=False),
        evaluation=replace(config.evaluation, eval_interval=0, video_interval=0, final_evaluation=False),
    )  # fmt: skip
    try:
        result = run_training(settings)
    except NumericsError as error:
        LOG.warning("member %d: %s", member.number, error)
        return replace(member, value=-math.inf, generation=member.generation + 1, parent="")
    if result.reason is StopReason.SIGNAL:
        return None
    value: float = getattr(result, population.objective)
    return replace(
        member, value=-math.inf if math.isnan(value) else value,
        generation=member.generation + 1, run=str(runs / name), parent="",
    )  # fmt: skip


def _updates_of(population: PopulationConfig, member: Member, is_new: bool) -> int:
    """A run that goes on counts its updates from its own beginning."""
    before = 0 if is_new else member.generation - int(Path(member.run).name.rpartition("_")[2])
    return population.updates * (before + 1)


def conclude(
    config: TrainingConfig, population: PopulationConfig, members: list[Member], *, is_complete: bool
) -> Outcome | None:
    best = max(members, key=lambda each: each.value)
    if best.value == -math.inf:
        return None
    path = population.out / "best.json"
    learner = replace(config.learner, lr=best.lr, entropy_beta=best.entropy_beta)
    write_config(replace(config, learner=learner), path)
    return Outcome(best, path, is_complete)


def write_members(path: Path, members: list[Member]) -> None:
    plain = [{**asdict(each), "value": each.value if math.isfinite(each.value) else None} for each in members]
    write_durably(path, (json.dumps(plain, indent=1) + "\n").encode())


def read_members(path: Path, population: PopulationConfig) -> list[Member] | None:
    if not path.exists():
        return None
    members = [
        Member(**{**each, "value": -math.inf if each["value"] is None else each["value"]})
        for each in json.loads(path.read_text())
    ]
    if len(members) != population.members:
        raise ConfigError(
            f"{path} has {len(members)} members, --members is {population.members}: give it {len(members)}, "
            "or another --out"
        )
    return members
