"""A run at a glance, for terminals: text with colours, made from its records alone."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mario_a3c.metrics.progress_unit import ProgressUnit
from mario_a3c.metrics.schema import Record
from mario_a3c.metrics.stage_grid import stage_grid
from mario_a3c.metrics.terminal_text import BLOCKS, block, colour, plain

_LABEL_WIDTH = 10
_LEAST_WIDTH, _MOST_WIDTH = 60, 110


@dataclass(frozen=True, slots=True)
class View:
    """What the panel shows."""

    title: str
    subtitle: str
    records: Sequence[Record]  # the newest last
    phase: str = ""
    update: int = 0
    num_updates: int = 1
    is_eta_a_limit: bool = False  # it ends earlier when it clears
    ends: Sequence[float] = ()  # progress of the last episodes
    stage_length: float | None = None  # progress of a cleared one
    progress_unit: ProgressUnit = ProgressUnit.PIXELS
    num_actions: int = 0


def render(view: View, columns: int) -> list[str]:
    """Lines no wider than the terminal."""
    width = min(max(columns, _LEAST_WIDTH), _MOST_WIDTH)
    inner = width - 4
    body = [_progress_line(view, inner)]
    if view.records:
        last = view.records[-1]
        body += ["", *_achievements(view, last, inner), "", *_costs(view, last, inner)]
        body += [colour(f"! {name}", "yellow") for name in last.get("alerts") or ()]
    else:
        body.append(colour("the first record comes with the first update", "dim"))
    return [_top(view, width), *(_framed(line, inner) for line in body), colour("╰" + "─" * (width - 2) + "╯", "dim")]


def _achievements(view: View, last: Record, inner: int) -> list[str]:
    curve_width = max(10, inner - 62)
    rate = last.get("clear_rate")
    rates = [each.get("clear_rate") for each in view.records]
    lines = [
        _row("clears", f"{_percent(rate)}  {last.get('episodes_total') or 0:,} episodes{_evaluated(last)}", 50)
        + colour(spark(rates, curve_width, 0.0, 1.0), "green"),
        _row("return", _percentiles(last), 50)
        + colour(spark([each.get("recent_return_p50") for each in view.records], curve_width), "cyan"),
        _row("progress", level_line(view, last, inner - _LABEL_WIDTH)),
    ]
    grid = stage_grid(last, inner - _LABEL_WIDTH)
    return lines + [_row("stages" if index == 0 else "", text) for index, text in enumerate(grid)]


def _costs(view: View, last: Record, inner: int) -> list[str]:
    curve_width = max(10, inner - 62)
    speeds = [each.get("env_steps_per_sec") for each in view.records]
    speed = f"{_count(last.get('env_steps_per_sec'))} steps/s  {_count(last.get('env_fps'))} frames/s"
    most = f" of {math.log(view.num_actions):.2f}" if view.num_actions > 1 else ""
    learning = (
        f"entropy {_number(last.get('entropy'))}{most}  lag {_number(last.get('policy_lag'))}  "
        f"loss {_number(last.get('loss_total'))}  gradient {_number(last.get('grad_norm'))}  "
        f"rate {_number(last.get('learning_rate'))}"
    )
    lines = [
        _row("speed", speed, 50) + colour(spark(speeds, curve_width, 0.0), "blue"),
        _row("time", shares_bar(last, inner - _LABEL_WIDTH)),
        _row("learning", learning),
        _row("machine", _machine(last)),
    ]
    if last.get("replay_fill_rate") is not None:
        replay = f"{_percent(last['replay_fill_rate'])} full  {_percent(last.get('replay_avg_unique_ratio'))} unique"
        lines.append(_row("replay", replay))
    return lines


def spark(values: Sequence[float | None], width: int, low: float | None = None, high: float | None = None) -> str:
    """A curve in one line, the newest at the right."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    points = [sum(part) / len(part) for part in _parts(known, width)]
    low, high = min(points) if low is None else low, max(points) if high is None else high
    height = high - low if high > low else math.inf
    return "".join(block((point - low) / height) for point in points)


def level_line(view: View, last: Record, width: int) -> str:
    """The stage from its start to its flag: how many of the last episodes ended where, and the furthest ever."""
    furthest = float(last.get("furthest_progress") or 0.0)
    length = max(view.stage_length or view.progress_unit.usual_length, furthest, 1.0)
    note = f"  furthest {view.progress_unit.text(furthest)}"
    cells = max(10, width - len(note) - 2)
    counts = [0] * cells
    for end in view.ends:
        counts[min(cells - 1, max(0, int(end / length * cells)))] += 1
    most, reached = max(counts) or 1, min(cells - 1, int(furthest / length * cells))
    # Where a few of many ended must still be seen.
    heights = [BLOCKS[math.ceil(math.sqrt(count / most) * 7)] for count in counts]
    drawn = []
    for index, count in enumerate(counts):
        if index == reached:
            drawn.append(colour("▲" if count == 0 else heights[index], "yellow"))
        elif count:
            drawn.append(colour(heights[index], "magenta"))
        else:
            drawn.append(colour("─" if index < reached else "·", "dim"))
    return "".join(drawn) + colour("⚑", "green") + " " + note.lstrip().rjust(len(note) - 1)


def shares_bar(last: Record, width: int) -> str:
    """Of the time: consoles, acting, learning, waiting."""
    parts = (("consoles", "magenta"), ("acting", "cyan"), ("learn", "blue"), ("wait", "dim"))
    shares = [(name, tint, float(last.get(f"share_{name}") or 0.0)) for name, tint in parts]
    total = max(1.0, sum(share for _, _, share in shares))
    note = "  ".join(f"{colour(name, tint)}{_percent(share)}" for name, tint, share in shares if share >= 0.005)
    cells = max(8, width - len(plain(note)) - 2)
    bar, begin = "", 0.0
    for _, tint, share in shares:
        first, end = round(begin / total * cells), round((begin + share) / total * cells)
        bar, begin = bar + colour("█" * (end - first), tint), begin + share
    return bar + " " * max(0, cells - len(plain(bar))) + "  " + note


def _top(view: View, width: int) -> str:
    title, subtitle = f" {view.title} ", f" {view.subtitle} " if view.subtitle else ""
    room = width - 4 - len(title)
    subtitle = subtitle if len(subtitle) <= room else ""
    line = "─" * (room - len(subtitle))
    return colour("╭─", "dim") + colour(title, "bold") + colour(line + subtitle + "─╮", "dim")


def _progress_line(view: View, inner: int) -> str:
    share = min(1.0, view.update / max(1, view.num_updates))
    eta = view.records[-1].get("eta_seconds") if view.records else None
    left = "" if eta is None else f"  {_clock(eta)} left" + (" at most" if view.is_eta_a_limit else "")
    note = f" {share:4.0%}  update {view.update:,} of {view.num_updates:,}{left}"
    note += f"  {view.phase}" if view.phase else ""
    cells = max(8, inner - len(note))
    filled = round(share * cells)
    return colour("█" * filled, "green") + colour("░" * (cells - filled), "dim") + note


def _framed(line: str, inner: int) -> str:
    padding = inner - len(plain(line))
    text = line + " " * padding if padding >= 0 else plain(line)[: inner - 1] + "…"
    return f"{colour('│', 'dim')} {text} {colour('│', 'dim')}"


def _row(label: str, text: str, width: int = 0) -> str:
    return colour(f"{label:<{_LABEL_WIDTH}}", "dim") + text + " " * max(0, width - len(plain(text)))


def _evaluated(last: Record) -> str:
    rate = last.get("eval_clear_rate")
    return "" if rate is None else f"  evaluated{_percent(rate)}"


def _percentiles(last: Record) -> str:
    names = (("median", "recent_return_p50"), ("p90", "recent_return_p90"), ("p99", "recent_return_p99"))
    return "  ".join(f"{title} {_number(last.get(name))}" for title, name in names)


def _machine(last: Record) -> str:
    text = f"CPU {_number(last.get('cpu_percent'), 0)} %  memory {_gigabytes(last.get('memory_mb'))}"
    if last.get("gpu_util_last") is not None:
        text += (
            f"  GPU {last['gpu_util_last']:.0f} % (mean {_number(last.get('gpu_util_mean_window'), 0)}, "
            f"peak {_number(last.get('gpu_util_peak_window'), 0)})  {_gigabytes(last.get('gpu_mem_used_mb'))}"
        )
    return text


def _parts(values: Sequence[float], width: int) -> list[Sequence[float]]:
    """At most so many, each of equally many neighbours."""
    count = min(width, len(values))
    bounds = [index * len(values) // count for index in range(count + 1)]
    return [values[first:end] for first, end in itertools.pairwise(bounds)]


def _percent(value: Any) -> str:
    return "  - " if value is None else f"{value:4.0%}"


def _number(value: Any, digits: int = 3) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if digits == 0 or float(value).is_integer() else f"{value:.{digits}g}"


def _count(value: Any) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _gigabytes(megabytes: Any) -> str:
    return "-" if megabytes is None else f"{megabytes / 1024:.1f} GB"


def _clock(seconds: float) -> str:
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
