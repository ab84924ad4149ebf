"""Plots as SVG text: heat maps, histograms, curves. They are drawn by every browser and need no library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_FONT = 'font-family="system-ui, sans-serif"'
COLOURS = {"greedy": "#888888", "sampled": "#2f6fde", "noop": "#e08a1e", "sticky": "#a53fb8"}
_OTHERS = ("#2f6fde", "#e08a1e", "#3a9a4c", "#a53fb8", "#888888")
_WORLDS, _STAGES = 8, 4
_CELL_WIDTH, _CELL_HEIGHT = 56, 26
_LONGEST_SUBTITLE = 40


def heat_map(title: str, subtitle: str, rates: Mapping[str, float]) -> str:
    """Clear rates, one row for each world. Stages that were not played are empty."""
    left, top = 28, 60
    width, height = left + _STAGES * _CELL_WIDTH + 8, top + _WORLDS * _CELL_HEIGHT + 8
    parts = [_text(left, 16, title, size=14, weight="bold"), _text(left, 31, subtitle[:_LONGEST_SUBTITLE], size=10)]
    parts += [_text(left + (n + 0.5) * _CELL_WIDTH, 52, f"-{n + 1}", anchor="middle") for n in range(_STAGES)]
    for world in range(_WORLDS):
        y = top + world * _CELL_HEIGHT
        parts.append(_text(left - 8, y + 17, str(world + 1), anchor="end"))
        for number in range(_STAGES):
            parts.append(_heat_cell(left + number * _CELL_WIDTH, y, rates.get(f"{world + 1}-{number + 1}")))
    return _svg(width, height, parts)


def _heat_cell(x: float, y: float, rate: float | None) -> str:
    colour = "#f0f0f0" if rate is None else f"hsl({round(8 + 122 * rate)}, 62%, {round(78 - 30 * rate)}%)"
    box = _box(x + 1, y + 1, _CELL_WIDTH - 2, _CELL_HEIGHT - 2, colour, "cell")
    text = "" if rate is None else f"{rate:.0%}"
    return box + _text(x + _CELL_WIDTH / 2, y + 17, text, anchor="middle", colour="#222")


def histogram(title: str, series: Mapping[str, Sequence[float]], *, unit: str, num_bins: int = 24) -> str:
    """How often values fall into equal parts of their range, the series stacked on each other."""
    width, height, left, bottom = 520, 190, 40, 34
    most = max((value for values in series.values() for value in values), default=0.0) or 1.0
    counts = {name: _counts(values, most, num_bins) for name, values in series.items()}
    tallest = max(max((sum(column) for column in zip(*counts.values(), strict=True)), default=0), 1)
    step, room = (width - left - 10) / num_bins, height - bottom - 30
    parts = [_text(left, 16, title, size=13, weight="bold"), *_legend(series, 300, 16)]
    for place in range(num_bins):
        y = float(height - bottom)
        for name, bins in counts.items():
            tall = room * bins[place] / tallest
            y -= tall
            if bins[place]:
                parts.append(_box(left + place * step, y, step - 1, tall, _colour(name, series), "bar"))
    parts += _axes(left, width - 10, height - bottom, 30, "0", f"{most:,.0f} {unit}", str(tallest))
    return _svg(width, height, parts)


def _counts(values: Sequence[float], most: float, num_bins: int) -> list[int]:
    bins = [0] * num_bins
    for value in values:
        bins[min(num_bins - 1, max(0, int(value / most * num_bins)))] += 1
    return bins


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    points: Sequence[tuple[float, float]]


def curves(title: str, lines: Sequence[Curve], *, x_unit: str = "steps", most: float | None = None) -> str:
    """Lines over a common axis."""
    width, height, left, bottom = 520, 220, 48, 34
    points = [point for line in lines for point in line.points]
    right_end = max((x for x, _ in points), default=1.0) or 1.0
    low = min(0.0, min((y for _, y in points), default=0.0))
    high = max(most or 0.0, max((y for _, y in points), default=1.0)) or 1.0
    names = {line.name: () for line in lines}
    parts = [_text(left, 16, title, size=13, weight="bold"), *_legend(names, 300, 16)]
    for line in lines:
        places = [
            f"{left + x / right_end * (width - left - 10):.1f},"
            f"{height - bottom - (y - low) / (high - low) * (height - bottom - 30):.1f}"
            for x, y in line.points
        ]
        colour = _colour(line.name, names)
        parts.append(
            f'<polyline class="curve" fill="none" stroke="{colour}" stroke-width="1.6" points="{" ".join(places)}"/>'
        )
    parts += _axes(left, width - 10, height - bottom, 30, "0", f"{right_end:,.0f} {x_unit}", f"{high:,.2f}")
    return _svg(width, height, parts)


def _axes(left: float, right: float, bottom: float, top: float, first: str, last: str, highest: str) -> list[str]:
    return [
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#555"/>',
        _text(left, bottom + 16, first),
        _text(right, bottom + 16, last, anchor="end"),
        _text(left - 4, top + 8, highest, anchor="end"),
    ]


def _legend(names: Mapping[str, object], x: float, y: float) -> list[str]:
    parts = []
    for name in names:
        parts.append(_box(x, y - 9, 9, 9, _colour(name, names), "key"))
        parts.append(_text(x + 12, y, name))
        x += 20 + 7 * len(name)
    return parts


def _colour(name: str, names: Mapping[str, object]) -> str:
    return COLOURS.get(name) or _OTHERS[list(names).index(name) % len(_OTHERS)]


def _box(x: float, y: float, width: float, height: float, colour: str, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 11,
    anchor: str = "start",
    weight: str = "normal",
    colour: str = "#333",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{colour}" {_FONT}>{escape(text)}</text>'
    )


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    return head + '<rect width="100%" height="100%" fill="#fff"/>' + "".join(parts) + "</svg>\n"
