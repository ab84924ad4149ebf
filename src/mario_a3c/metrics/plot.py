"""Pictures of a run's curves."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from mario_a3c.errors import ConfigError, SetupError, StorageError
from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.metrics.reader import column, read_records
from mario_a3c.metrics.schema import Record
from mario_a3c.metrics.stage_grid import stages_of

# Title, with the unit of the run's progress, and the fields in it with their labels.
PANELS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("clear rate", (("clear_rate", ""),)),
    ("return", (("recent_return_p50", "median"), ("recent_return_p90", "p90"), ("recent_return_p99", "p99"))),
    ("progress, {unit}", (("furthest_progress", "furthest"), ("progress_mean", "mean"))),
    ("entropy, nat", (("entropy", ""),)),
    ("value explained", (("explained_variance", ""),)),
    ("gradient", (("grad_norm", ""),)),
    ("steps per second", (("env_steps_per_sec", ""),)),
    ("shares of time", (("share_consoles", "consoles"), ("share_acting", "acting"), ("share_learn", "learning"))),
    ("memory, MB", (("memory_mb", "process"), ("gpu_mem_used_mb", "GPU"))),
)
_COLUMNS = 3


def plot_run(run: Path, target: Path) -> Path:
    """Draws the metrics of a run's folder, or of a file of records, to a PNG file."""
    records = _records_to_draw(run)
    rows = -(-len(PANELS) // _COLUMNS)
    figure = new_figure(run.name, (4.2 * _COLUMNS, 2.6 * rows))
    unit = ProgressUnit.of_run(run).value
    for axes, (title, curves) in zip(figure.subplots(rows, _COLUMNS).flat, PANELS, strict=False):
        draw_panel(axes, title.format(unit=unit), curves, records)
    return save_figure(figure, target)


def plot_stages(run: Path, target: Path) -> Path | None:
    """Draws what became of every stage, worlds from left to right; None for a run of one stage."""
    records = _records_to_draw(run)
    stages = sorted({stage for record in records for stage in stages_of(record)})
    if len(stages) < 2:
        return None
    worlds, numbers = (sorted({name.split("-")[part] for name in stages}) for part in (0, 1))
    figure = new_figure(run.name, (max(4.0, 1.9 * len(worlds)), 1.0 + 1.5 * len(numbers)))
    grid = figure.subplots(len(numbers), len(worlds), sharex=True, sharey=True, squeeze=False)
    for row, number in zip(grid, numbers, strict=True):
        for axes, world in zip(row, worlds, strict=True):
            draw_stage(axes, f"{world}-{number}", records, is_played=f"{world}-{number}" in stages)
    handles = {label: line for axes in grid.flat for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return save_figure(figure, target)


def draw_stage(axes: Any, stage: str, records: list[Record], *, is_played: bool) -> None:
    from matplotlib.ticker import EngFormatter, PercentFormatter

    if not is_played:
        axes.set_axis_off()
        return
    steps = column(records, "global_step")
    shown = (
        ("clear_rate_by_stage", "cleared from its own start", {"color": "tab:green", "linewidth": 1.6}),
        ("power_up_rate_by_stage", "with a mushroom", {"color": "tab:red", "linewidth": 1.0}),
        ("stage_starts", "of its way behind the first start", {"color": "tab:cyan", "linewidth": 1.0}),
        ("stage_weights", "of all episodes", {"color": "tab:blue", "linewidth": 1.0, "linestyle": ":"}),
    )
    for name, label, style in shown:
        values = np.array([(record.get(name) or {}).get(stage, np.nan) for record in records], np.float64)
        if (values > 0).any() or name == "clear_rate_by_stage":  # of the others, what was never there is no news
            axes.plot(steps, values, label=label, **style)
    axes.set_title(stage, loc="left", fontsize=9, pad=3)
    axes.set_ylim(-0.03, 1.03)
    axes.grid(alpha=0.3)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.tick_params(labelsize=7)
    axes.margins(x=0)


def _records_to_draw(run: Path) -> list[Record]:
    records = read_records(run)
    if not records:
        raise ConfigError(f"{run} has no metrics yet")
    return records


def new_figure(title: str, size: tuple[float, float]) -> Any:
    """Of so many inches. SetupError where matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise SetupError("drawing needs the package matplotlib: `pip install 'mario-a3c[plot]'`")
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=size, layout="constrained")
    figure.suptitle(title)
    return figure


def save_figure(figure: Any, target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, dpi=110)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def draw_panel(axes: Any, title: str, curves: tuple[tuple[str, str], ...], records: list[Record]) -> None:
    from matplotlib.ticker import EngFormatter

    steps = column(records, "global_step")
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(alpha=0.3)
    has_labels = False
    for name, label in curves:
        values = column(records, name)
        if np.isfinite(values).any():
            axes.plot(steps, values, label=label or None, linewidth=1.4)
            has_labels = has_labels or bool(label)
    if has_labels:
        axes.legend(fontsize=8, frameon=False)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("steps", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.margins(x=0)
