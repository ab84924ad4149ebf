"""A picture of a run's curves."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from mario_a3c.errors import ConfigError, SetupError, StorageError
from mario_a3c.metrics.reader import column, read_records
from mario_a3c.metrics.schema import Record

# Title, and the fields in it with their labels.
PANELS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("clear rate", (("clear_rate", ""),)),
    ("return", (("recent_return_p50", "median"), ("recent_return_p90", "p90"), ("recent_return_p99", "p99"))),
    ("progress, pixels", (("furthest_progress", "furthest"), ("progress_mean", "mean"))),
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
    records = read_records(run)
    if not records:
        raise ConfigError(f"{run} has no metrics yet")
    if importlib.util.find_spec("matplotlib") is None:
        raise SetupError("drawing needs the package matplotlib: `pip install 'mario-a3c[plot]'`")
    from matplotlib.figure import Figure

    rows = -(-len(PANELS) // _COLUMNS)
    figure: Any = Figure(figsize=(4.2 * _COLUMNS, 2.6 * rows), layout="constrained")
    figure.suptitle(run.name)
    for axes, (title, curves) in zip(figure.subplots(rows, _COLUMNS).flat, PANELS, strict=False):
        draw_panel(axes, title, curves, records)
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
