"""How a run begins: anew, or where another start of it ended. Every decision is said; none is silent."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mario_a3c.checkpoint.choice import (
    AUTO,
    Choice,
    Wanted,
    candidates,
    choose,
    find_matching_checkpoint_recursive,
    wanted_by,
)
from mario_a3c.checkpoint.names import OWN_FILES, CheckpointNames, all_latest, all_numbered, names_in, update_in
from mario_a3c.checkpoint.sidecar import sidecar_of
from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import to_json
from mario_a3c.durable_file import link_to, remove_leftovers
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.errors import CheckpointError, ConfigError, SaveStateError
from mario_a3c.run_dir import RunDir, check_run_name, default_run_name
from mario_a3c.training.build import Training

LOG = logging.getLogger("mario.resume")

# By the names in a config file; `vector_env.env.` stands for everything below it.
FREE_SETTINGS = (
    "preset", "run.", "cache.", "engine.", "rom.", "vector_env.num_threads", "budget.max_steps", "budget.max_seconds",
    "metrics.", "monitoring.", "display.", "evaluation.",
)  # fmt: skip
"""Where and how long a run runs and what is seen of it, not what it is."""
FIXED_SETTINGS = (
    "model.", "vector_env.num_envs", "vector_env.seed", "vector_env.vectorization", "vector_env.backend",
    "vector_env.env.", "starts.", "curriculum.curriculum", "collector.overlap_collect", "collector.env_groups",
    "learner.ema_decay", "replay.per", "replay.per_capacity", "replay.per_memory_gb",
)  # fmt: skip
"""What the saved state has its shape and meaning from."""
_SEQUENCE_LENGTH = "collector.rollout_steps"  # fixed, too, where sequences of it are replayed
_LINKS_ARE_STALE_AFTER_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a run is kept, and where it goes on from; `wanted` is None for a run that begins anew."""

    run_dir: RunDir
    wanted: Wanted | None = None


def open_run(config: TrainingConfig, names: CheckpointNames) -> Beginning:
    """Which folder, and what in it. A run is never silently continued or begun anew."""
    run = config.run
    if run.resume is None:
        return _open_by_name(config)
    wanted = _search(config) if run.resume == AUTO else wanted_by(run.resume, names, run.save_dir, run.run_name)
    if RunDir(wanted.folder).record.exists() or wanted.file is None:
        return Beginning(RunDir(wanted.folder), wanted)
    LOG.info("%s is a file on its own: what follows is a run of its own", wanted.file)
    return Beginning(_new_folder(config), wanted)


def choose_checkpoint(beginning: Beginning, config: TrainingConfig) -> Choice | None:
    """What to restore, said with everything that was skipped. The run's lock is held from here on."""
    run_dir, wanted = beginning.run_dir, beginning.wanted
    _sweep(run_dir)
    if wanted is None:
        return None
    is_own = wanted.folder.resolve() == run_dir.path.resolve()
    choice = choose(wanted, run_dir.run_id if is_own else None)
    for reason in choice.skipped:
        LOG.warning("skipped: %s", reason)
    _compare_settings(choice, config)
    return choice


def restore(training: Training, choice: Choice, run_dir: RunDir) -> None:
    """Gives every part its state, and moves what came after it in the run's folder out of the way."""
    metadata = choice.checkpoint.metadata
    envs = training.envs[0]
    saved_rom = metadata.get("rom_sha1")
    if isinstance(envs, MarioBatch) and saved_rom not in (None, envs.rom.cartridge.sha1):
        raise CheckpointError(
            f"{choice.path} was saved in another game: {metadata.get('rom')} ({saved_rom}), and this is "
            f"{envs.rom.title} ({envs.rom.cartridge.sha1}); give its file with --rom"
        )
    try:
        training.trainer.parts.restore(choice.checkpoint.state)
    except SaveStateError as error:
        raise CheckpointError(
            f"{choice.path} cannot go on here: {error}, or by another version of this program. A new run can begin "
            f"with its weights: --init-from {choice.path}"
        ) from error
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise CheckpointError(f"{choice.path} does not fit this run: {error!r}; choose another one") from error
    if metadata["config"].get("collector", {}).get("overlap_collect"):
        LOG.info("the rollout that was being collected when this was saved is not part of it: it is collected anew")
    if choice.path.parent.resolve() == run_dir.path.resolve():
        _set_aside_after(choice, run_dir)
    LOG.info("goes on from update %s, %s", f"{choice.update:,}", choice.path)


def settings_of(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values of a config as JSON."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from settings_of(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def changes(saved: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Settings that matter to what a run is, where both say something different."""
    before, after = dict(settings_of(saved)), dict(settings_of(now))
    return {
        name: (before[name], after[name])
        for name in before
        if name in after and before[name] != after[name] and not _is_among(name, FREE_SETTINGS)
    }


def fixed_changes(saved: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Those with which the saved state cannot go on."""
    fixed = (*FIXED_SETTINGS, _SEQUENCE_LENGTH) if saved.get("replay", {}).get("per") else FIXED_SETTINGS
    return {name: pair for name, pair in changes(saved, now).items() if _is_among(name, fixed)}


def plain_config(config: TrainingConfig) -> dict[str, Any]:
    """As a checkpoint records it: with the network that this machine would get."""
    plain: dict[str, Any] = json.loads(to_json(config))
    return plain


def _open_by_name(config: TrainingConfig) -> Beginning:
    run = config.run
    if run.run_name is None:
        _mention_match(config)
        return Beginning(_new_folder(config))
    run_dir = RunDir.open(run.save_dir, run.run_name)
    record = run_dir.read_record()
    has_checkpoints = bool(candidates(run_dir.path))
    if record is None and not has_checkpoints:
        return Beginning(run_dir)
    if run.fresh:
        return Beginning(_set_run_aside(run_dir))
    reason = _reason_against(record or {}, config)
    if reason is not None:
        raise ConfigError(
            f"{run_dir.path} holds a run already, {reason}; go on with --resume latest --run-name {run.run_name}, "
            "choose another --run-name, or begin anew with --fresh, which moves the old one aside"
        )
    if not has_checkpoints:
        LOG.warning("%s holds this run, which ended before its first checkpoint: it begins anew", run_dir.path)
        return Beginning(run_dir)
    LOG.info("%s holds this run, which has not finished: it goes on", run_dir.path)
    if run.init_from is not None:
        LOG.info("--init-from %s was taken when it began, and is not taken again", run.init_from)
    return Beginning(run_dir, Wanted(run_dir.path))


def _reason_against(record: Mapping[str, Any], config: TrainingConfig) -> str | None:
    """Why a run that is found is not simply continued: only the same one is, and only if it has something to do."""
    if not isinstance(record.get("config"), Mapping):
        return "of which nothing is known"
    if record.get("status") == "finished":
        return "which has finished"
    began_with, asked_for = record["config"].get("run", {}).get("init_from"), config.run.init_from
    if began_with != (None if asked_for is None else str(asked_for)):
        return f"which began with {began_with or 'weights drawn by its seed'}, not with {asked_for or 'those'}"
    changed = changes(record["config"], plain_config(config))
    # A network of --backbone auto is recorded as what it became.
    changed = {name: pair for name, pair in changed.items() if not (name == "model.backbone" and pair[1] == "auto")}
    return f"with other settings: {_say(changed)}" if changed else None


def _new_folder(config: TrainingConfig) -> RunDir:
    env, run = config.vector_env.env, config.run
    name = run.run_name or default_run_name(datetime.now(), *env.first_stage)  # noqa: DTZ005 -- of the user's wall
    run_dir = RunDir.open(run.save_dir, name)
    if run_dir.record.exists():
        if not run.fresh:
            raise ConfigError(
                f"{run_dir.path} holds a run already; choose another --run-name, or begin anew with --fresh, which "
                "moves the old one aside"
            )
        return _set_run_aside(run_dir)
    return run_dir


def _set_run_aside(run_dir: RunDir) -> RunDir:
    with run_dir.locked():
        aside = _unused(run_dir.path.with_name(f"{run_dir.path.name}.{datetime.now():%Y%m%d-%H%M%S}"))  # noqa: DTZ005
        run_dir.path.rename(aside)
    LOG.info("the run that was in %s is in %s now", run_dir.path, aside)
    return RunDir.open(run_dir.path.parent, run_dir.path.name)


def _search(config: TrainingConfig) -> Wanted:
    """`--resume auto`: the folder of --run-name, else whatever run of these settings is found below --save-dir."""
    run = config.run
    if run.run_name is not None:
        folder = run.save_dir / check_run_name(run.run_name)
        if candidates(folder):
            return Wanted(folder)
    found = find_matching_checkpoint_recursive(run.save_dir, _matcher(config))
    if found is None:
        raise CheckpointError(f"--resume auto: no checkpoint below {run.save_dir} has the settings of this run")
    LOG.info("found a run of these settings: %s", found.parent)
    return Wanted(found.parent)


def _mention_match(config: TrainingConfig) -> None:
    found = find_matching_checkpoint_recursive(config.run.save_dir, _matcher(config))
    if found is None:
        return
    record = RunDir(found.parent).read_record() or {}
    if record.get("status") != "finished":
        LOG.info(
            "begins anew; %s holds a run of the same settings that has not finished: --resume %s goes on with it",
            found.parent, found.parent,
        )  # fmt: skip


def _matcher(config: TrainingConfig) -> Callable[[Mapping[str, Any]], bool]:
    now = plain_config(config)

    def matches(described: Mapping[str, Any]) -> bool:
        saved = described.get("config")
        if not isinstance(saved, Mapping) or described.get("kind", "run") != "run":
            return False
        return not set(changes(saved, now)) - {"model.backbone"} and _same_backbone(saved, now)

    return matches


def _same_backbone(saved: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return now["model"]["backbone"] in ("auto", saved.get("model", {}).get("backbone"))


def _compare_settings(choice: Choice, config: TrainingConfig) -> None:
    """Changed settings that the state depends on end the start; the others are applied, and said."""
    saved, now = choice.checkpoint.metadata["config"], plain_config(config)
    auto = {name for name, pair in changes(saved, now).items() if name == "model.backbone" and pair[1] == "auto"}
    fixed = {name: pair for name, pair in fixed_changes(saved, now).items() if name not in auto}
    if fixed:
        raise ConfigError(
            f"{choice.path} was saved with other settings, which cannot change within a run: {_say(fixed)}; leave them "
            "as they were, or begin a new run"
        )
    changed = {name: pair for name, pair in changes(saved, now).items() if name not in auto}
    if changed:
        LOG.info("settings that change from here on: %s", _say(changed))


def _say(changed: Mapping[str, tuple[Any, Any]]) -> str:
    return ", ".join(f"{name} was {before}, is {after}" for name, (before, after) in sorted(changed.items()))


def _is_among(name: str, settings: tuple[str, ...]) -> bool:
    return any(name == each or (each.endswith(".") and name.startswith(each)) for each in settings)


def _sweep(run_dir: RunDir) -> None:
    """What a killed writer left in the run's folder; beside it, where other runs write, only what is old."""
    stale = remove_leftovers(run_dir.path, OWN_FILES)
    stale += remove_leftovers(run_dir.path.parent, OWN_FILES, older_than_seconds=_LINKS_ARE_STALE_AFTER_SECONDS)
    if stale:
        LOG.info("removed %d unfinished files of a process that was killed", len(stale))


def _set_aside_after(choice: Choice, run_dir: RunDir) -> None:
    """Checkpoints of higher updates are damaged, or of a future that does not happen now."""
    later = [path for path in all_numbered(run_dir.path) if (update_in(path) or 0) > choice.update]
    later += [path for path in all_latest(run_dir.path) if not path.is_symlink() and path != choice.path]
    if not later:
        return
    aside = _unused(run_dir.path / "superseded")
    aside.mkdir()
    for path in later:
        for each in (sidecar_of(path), path):
            if each.exists() or each.is_symlink():
                each.rename(aside / each.name)
    LOG.warning("%d checkpoints after update %s are in %s now", len(later), f"{choice.update:,}", aside)
    for link in run_dir.path.glob("a3c_*"):
        if link.is_symlink() and not link.exists():
            link.unlink()
    names = names_in(choice.path)
    if names is not None and update_in(choice.path) is not None:
        link_to(sidecar_of(names.latest(run_dir.path)), sidecar_of(choice.path))
        link_to(names.latest(run_dir.path), choice.path)


def _unused(path: Path) -> Path:
    names = (path, *(path.with_name(f"{path.name}.{number}") for number in range(1, 10_000)))
    return next(each for each in names if not each.exists())
