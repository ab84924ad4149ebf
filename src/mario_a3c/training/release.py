"""The published agents: which file of a folder plays which stage. All else that is known of one is in its file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mario_a3c.checkpoint.sidecar import read_object
from mario_a3c.checkpoint.store import read_metadata
from mario_a3c.config import TrainingConfig
from mario_a3c.config.as_flags import as_flags
from mario_a3c.config.presets import preset_config
from mario_a3c.durable_file import write_durably
from mario_a3c.errors import CheckpointError
from mario_a3c.evaluation.config import JUDGED_MODES
from mario_a3c.native.start_states import Stage
from mario_a3c.training.agent import config_in
from mario_a3c.training.report import duration

MANIFEST = "agents.json"
FORMAT = "mario-a3c agents 1"
DEFAULT_FOLDER = Path("pretrained")
_NUM_STAGES = 32
_REPOSITORY = Path(__file__).resolve().parents[3]

Kind = Literal["generalist", "specialist"]


@dataclass(frozen=True, slots=True)
class PublishedAgent:
    path: Path
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """Agents that share the stages out among them."""

    folder: Path
    agents: tuple[PublishedAgent, ...]
    chosen_with_seed: int | None = None
    """Of the evaluation that chose them: what it measured is a little too good, since the best were taken."""

    @property
    def stages(self) -> list[Stage]:
        return sorted(stage for agent in self.agents for stage in agent.stages)

    def save(self) -> None:
        plain = {
            "format": FORMAT,
            "chosen_with_seed": self.chosen_with_seed,
            "agents": [{"file": each.path.name, "stages": list(map(str, each.stages))} for each in self.agents],
        }
        write_durably(self.folder / MANIFEST, (json.dumps(plain, indent=1) + "\n").encode())


def kind_of(config: TrainingConfig) -> Kind:
    """By what it was trained on: several stages, or one."""
    return "generalist" if config.vector_env.env.has_several_stages else "specialist"


def is_release(path: Path) -> bool:
    return (path / MANIFEST).is_file()


def find_release(named: Path | None = None) -> Release:
    """Of the folder that is named; else of `pretrained` here, or in the repository."""
    places = [named] if named is not None else [DEFAULT_FOLDER, _REPOSITORY / DEFAULT_FOLDER]
    for place in places:
        if is_release(place):
            return read_release(place)
    raise CheckpointError(
        f"there are no published agents in {places[0]}: {places[0] / MANIFEST} is missing; "
        "it is in the repository, and scripts/choose_agents.py writes one for agents of your own"
    )


def read_release(folder: Path) -> Release:
    """Raises CheckpointError on a manifest that does not fit its folder."""
    path = folder / MANIFEST
    try:
        plain = read_object(path)
        agents = tuple(_agents_in(plain, folder))
        seed = plain.get("chosen_with_seed")
        release = Release(folder, agents, seed if isinstance(seed, int) else None)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be used: {error}") from error
    twice = sorted({str(stage) for stage in release.stages if release.stages.count(stage) > 1})
    if twice or not release.stages:
        raise CheckpointError(f"{path} names {'two agents for ' + ', '.join(twice) if twice else 'no agent'}")
    return release


def _agents_in(plain: Mapping[str, Any], folder: Path) -> Iterator[PublishedAgent]:
    if plain.get("format") != FORMAT:
        raise ValueError(f"its format is {plain.get('format')!r}, not {FORMAT!r}")
    for each in plain["agents"]:
        name = each["file"]
        if Path(name).name != name or not (folder / name).is_file():
            raise ValueError(f"there is no file {name!r} in {folder}")
        yield PublishedAgent(folder / name, tuple(Stage.parse(stage) for stage in each["stages"]))


def choose_agents(folder: Path, reports: Sequence[Mapping[str, Any]]) -> Release:
    """For every stage the agent that did best in evaluations of files in `folder`, by the worst of the judged modes.

    A generalist that clears a stage plays it, whatever specialists do.
    """
    best: dict[Stage, tuple[tuple[Any, ...], str]] = {}
    for report in reports:
        for contender in report["contenders"]:
            name = Path(contender.get("file") or "").name
            if contender["is_baseline"] or not name or not (folder / name).is_file():
                continue
            for stage, merit in _merits(contender):
                if stage not in best or merit > best[stage][0]:
                    best[stage] = merit, name
    if not best:
        raise CheckpointError(f"these reports are not about agents in {folder}; `mario report {folder}/*.pt` makes one")
    names = list(dict.fromkeys(name for _, name in sorted(best.values(), key=lambda each: each[1])))
    agents = tuple(
        PublishedAgent(folder / name, tuple(sorted(stage for stage in best if best[stage][1] == name)))
        for name in names
    )
    seeds = {report["seed"] for report in reports}
    return Release(folder, agents, seeds.pop() if len(seeds) == 1 else None)


def _merits(contender: Mapping[str, Any]) -> Iterator[tuple[Stage, tuple[Any, ...]]]:
    is_generalist = contender.get("kind") == "generalist"
    rates: dict[str, dict[str, float]] = {}
    progress: dict[str, float] = {}
    for each in contender["summaries"]:
        rates.setdefault(each["stage"], {})[each["mode"]] = each["clear_rate"]
        progress[each["stage"]] = each["mean_progress"]
    for stage, by_mode in rates.items():
        judged = [by_mode[mode] for mode in JUDGED_MODES if mode in by_mode]
        if len(judged) == len(JUDGED_MODES):
            is_cleared = contender["cleared"].get(stage) is True
            worst, mean = min(judged), sum(judged) / len(judged)
            yield Stage.parse(stage), (
                is_cleared, is_cleared and is_generalist, worst, mean, is_generalist, progress[stage],
            )  # fmt: skip


def describe_release(release: Release) -> str:
    """The page of a folder of published agents: what each is, and how it was made."""
    lines = [
        "# Published agents",
        "",
        "Weights in half precision, with everything that `mario eval` needs; `agents.json` says who plays which stage.",
        "",
        "```bash",
        "./mario demo                                           # a tour of the stages, as a video",
        f"./mario eval --checkpoint {DEFAULT_FOLDER}/{release.agents[0].path.name} --mode all --episodes 100",
        f"./mario report {DEFAULT_FOLDER}                                # all stages, all modes, as a page",
        "```",
        "",
        "| file | kind | plays | network | actions | steps | trained for | MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    commands = [
        "",
        "How each was trained. What `--init-from` names is a file of its day, told of in [experiments].",
        "",
        "```bash",
    ]
    for agent in release.agents:
        metadata = read_metadata(agent.path)
        config = config_in(agent.path, metadata)
        lines.append(_row(agent, metadata, config))
        note = f", {metadata['note']}" if "note" in metadata else ""  # what no flag says
        heading = f"# {agent.path.name}, commit {metadata.get('code_revision')}{note}"
        commands += [heading, training_command(metadata, config)]
    return "\n".join([*lines, *commands, "```", "", "[experiments]: ../docs/experiments.md", ""])


def training_command(metadata: Mapping[str, Any], config: TrainingConfig) -> str:
    """What trained an agent, as far as its file says it: flags beside the preset's."""
    base = preset_config(config.preset) if config.preset != "auto" else TrainingConfig()
    words = as_flags(config, base, without=("run", "cache", "rom", "metrics", "monitoring", "display", "engine"))
    preset = [] if config.preset == "auto" else ["--preset", config.preset]
    return " ".join(["mario train", *preset, *words, *_beginning(metadata.get("initial_weights"))])


def _beginning(origin: Mapping[str, Any] | None) -> list[str]:
    if origin is None:
        return []
    temperature = origin.get("temperature", 1.0)
    softened = [] if temperature == 1.0 else ["--init-temperature", str(temperature)]
    return ["--init-from", str(origin["file"]), *softened]


def _row(agent: PublishedAgent, metadata: Mapping[str, Any], config: TrainingConfig) -> str:
    memory = "" if config.model.recurrent_type == "none" else f", {config.model.recurrent_type}"
    seconds = metadata.get("seconds")
    cells = [
        f"`{agent.path.name}`",
        kind_of(config),
        "all stages" if len(agent.stages) == _NUM_STAGES else ", ".join(map(str, agent.stages)),
        config.model.backbone + memory,
        config.vector_env.env.action_set,
        f"{metadata.get('global_step') or 0:,}",
        duration(seconds) if isinstance(seconds, int | float) else "",
        f"{agent.path.stat().st_size / 1e6:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"
