"""Clear rate over steps and over seconds: the median of several seeds, and the range that they span."""

from collections.abc import Sequence

from mario_a3c.bench.chart import Line, Panel, Stroke, make_picture
from mario_a3c.bench.clearing import Clearing

_WIDTH, _HEIGHT, _GAP = 460, 300, 30
_STROKE = Stroke("#2f6fde")
_MARKS = ((0.0, "0%"), (0.5, "50%"), (0.95, "95%"), (1.0, ""))


def make_plot(clearings: Sequence[Clearing], title: str) -> str:
    """SVG, two panels."""
    over_steps = [Line([p.steps / 1e6 for p in each.curve], [p.clear_rate for p in each.curve]) for each in clearings]
    over_seconds = [Line([p.seconds for p in each.curve], [p.clear_rate for p in each.curve]) for each in clearings]
    parts = _draw(0, over_steps, "million steps", [each.end.steps / 1e6 for each in clearings])
    parts += _draw(_WIDTH + _GAP, over_seconds, "seconds from the first step", [each.end.seconds for each in clearings])
    return make_picture(2 * _WIDTH + _GAP, _HEIGHT, title, parts)


def _draw(left: float, lines: Sequence[Line], unit: str, ends: Sequence[float]) -> list[str]:
    panel = Panel(left, 0, _WIDTH, _HEIGHT, last=max([*ends, *(line.places[-1] for line in lines)]))
    return [
        *panel.draw_grid(_MARKS),
        *panel.draw_range(lines, _STROKE, end=panel.last),
        *(f'<path d="M{panel.x(end):.1f} {panel.y(0):.1f}v-8" stroke="#222" stroke-width="2"/>' for end in ends),
        *panel.draw_axes(unit),
    ]
