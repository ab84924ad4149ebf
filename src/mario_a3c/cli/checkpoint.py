"""`mario checkpoint list|show|verify|prune|export`: what runs have saved."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from mario_a3c.config.command_line import parse_command
from mario_a3c.config.run import RunConfig
from mario_a3c.errors import CheckpointError, ConfigError, ExitCode
from mario_a3c.options import option
from mario_a3c.run_dir import RunDir


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """List checkpoints, look into one, check them, remove old ones, or take the weights out of one."""

    action: Literal["list", "show", "verify", "prune", "export"] = option("list", "what to do", positional=True)
    path: Path | None = option(
        None, "a checkpoint, a run's folder, or the folder of all runs, which is the default", positional=True
    )
    output: Path | None = option(None, "export: the file to write", positional=True)
    weights: Literal["auto", "averaged", "last", "both"] = option(
        "auto",
        "export: which weights; auto: those that `mario eval` would take; both take twice the space",
    )
    keep: int = option(3, "prune: checkpoints that are kept in each run, beside the latest and the best")
    dry_run: bool = option(False, "prune: only say what would be removed")
    json: bool = option(False, "list, show: as JSON")


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario checkpoint")
    if arguments.keep < 1:
        raise ConfigError(f"--keep must be at least 1, got {arguments.keep}")
    if arguments.output is not None and arguments.action != "export":
        raise ConfigError(f"mario checkpoint {arguments.action} takes one path, got also {arguments.output}")
    actions: dict[str, Callable[[Arguments], int]] = {
        "list": list_checkpoints,
        "show": show,
        "verify": verify,
        "prune": prune,
        "export": export,
    }
    return actions[arguments.action](arguments)


def list_checkpoints(arguments: Arguments) -> int:
    """From the `.json` files alone, which is quick and no proof; `verify` reads everything."""
    rows = [_row(path) for path in _checkpoints(_place(arguments))]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return ExitCode.DONE
    if not rows:
        print(f"no checkpoints in {_place(arguments)}")
        return ExitCode.DONE
    print(f"{'update':>9} {'step':>13} {'clears':>7} {'MB':>8}  {'saved':<16}  {'':<12}  file")
    for row in rows:
        counts = f"{_or_question(row['update'], ','):>9} {_or_question(row['global_step'], ','):>13}"
        size, links = f"{row['size_bytes'] / 1e6:>8.1f}", " ".join(row["links"])
        rate, when = _or_question(row["clear_rate"], ".0%"), _when(row["saved_at"])
        print(f"{counts} {rate:>7} {size}  {when:<16}  {links:<12}  {row['file']}")
    return ExitCode.DONE


def show(arguments: Arguments) -> int:
    """What a checkpoint says about itself, and what it holds. Every byte of it is checked first."""
    from mario_a3c.checkpoint.inspection import describe_checkpoint

    description = describe_checkpoint(_one_file(arguments))
    if arguments.json:
        print(json.dumps(description.as_json(), indent=2))
    else:
        print(description)
    return ExitCode.DONE


def verify(arguments: Arguments) -> int:
    """Reads every byte. Exit code 4 where one checkpoint, or its `.json`, is not as it was written."""
    from mario_a3c.checkpoint.inspection import find_fault

    paths = list(_checkpoints(_place(arguments)))
    if not paths:
        raise CheckpointError(f"there are no checkpoints in {_place(arguments)}")
    num_bad = 0
    for path in paths:
        fault = find_fault(path)
        num_bad += fault is not None
        print(f"{'good' if fault is None else 'BAD'}  {path}" + (f": {fault}" if fault else ""))
    print(f"{len(paths) - num_bad} of {len(paths)} are good")
    return ExitCode.CHECKPOINT if num_bad else ExitCode.DONE


def prune(arguments: Arguments) -> int:
    """Of every run: all but the last, the latest and the best. Nothing is removed while the newest is damaged."""
    from mario_a3c.checkpoint.choice import Wanted, choose
    from mario_a3c.checkpoint.retention import remove, runs_names, superfluous

    for folder in sorted({path.parent for path in _checkpoints(_place(arguments))}):
        names = runs_names(folder)
        old = [] if names is None else superfluous(folder, names, arguments.keep)
        if not old:
            continue
        if choose(Wanted(folder)).skipped:
            raise CheckpointError(f"{folder}: the newest checkpoint is damaged; nothing is removed before it is gone")
        for path in old:
            print(f"{'would remove' if arguments.dry_run else 'removed'} {path}")
        if not arguments.dry_run:
            with RunDir(folder).locked():
                remove(old)
    return ExitCode.DONE


def export(arguments: Arguments) -> int:
    """Weights only, in half precision: no consoles, no optimizer."""
    from mario_a3c.checkpoint.export import export_weights
    from mario_a3c.training.agent import export_agent

    source, target = _one_file(arguments), arguments.output
    if target is None:
        raise ConfigError(f"mario checkpoint export {arguments.path} needs a second path: the file to write")
    if target.suffix != ".pt":
        raise ConfigError(f"an exported checkpoint is called *.pt, its description *.json; got {target}")
    if arguments.weights == "both":
        export_weights(source, target)
        taken = "last and averaged"
    else:
        taken = export_agent(source, target, arguments.weights)
    sizes = target.stat().st_size / 1e6, source.stat().st_size / 1e6
    print(f"wrote {target}: the {taken} weights, {sizes[0]:.1f} MB (the checkpoint has {sizes[1]:.1f})")
    return ExitCode.DONE


def _place(arguments: Arguments) -> Path:
    place = RunConfig().save_dir if arguments.path is None else arguments.path
    if arguments.path is not None and not place.exists():
        raise CheckpointError(f"there is no {place}")
    return place


def _one_file(arguments: Arguments) -> Path:
    """A run's folder means its newest good checkpoint."""
    from mario_a3c.checkpoint.choice import Wanted, choose

    if arguments.path is None:
        raise ConfigError(f"mario checkpoint {arguments.action} needs a checkpoint or a run's folder")
    return choose(Wanted(arguments.path)).path if arguments.path.is_dir() else arguments.path


def _checkpoints(place: Path) -> Iterator[Path]:
    """The file itself; or the numbered ones of a run, or of all runs, oldest first."""
    from mario_a3c.checkpoint.names import all_numbered

    if place.is_file():
        yield place
        return
    folders = sorted(path for path in place.glob("*") if path.is_dir()) if place.is_dir() else []
    for folder in (place, *folders):
        yield from all_numbered(folder)


def _row(path: Path) -> dict[str, Any]:
    from mario_a3c.checkpoint.names import all_links
    from mario_a3c.checkpoint.sidecar import read_sidecar

    described = read_sidecar(path) or {}
    return {
        "file": str(path),
        "size_bytes": path.stat().st_size,
        **{name: described.get(name) for name in ("run", "update", "global_step", "clear_rate", "saved_at")},
        "links": [name for name, link in all_links(path.parent) if link.resolve() == path.resolve()],
    }


def _or_question(value: Any, form: str) -> str:
    return format(value, form) if isinstance(value, int | float) else "?"


def _when(seconds: Any) -> str:
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}" if isinstance(seconds, int | float) else "?"  # noqa: DTZ006
