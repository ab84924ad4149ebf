"""Clear rate over steps and over seconds: the median of several seeds, and the range that they span."""

from collections.abc import Sequence
from html import escape
from statistics import median
from typing import NamedTuple

from mario_a3c.bench.clearing import Clearing

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 460, 300, 52, 52, 44
_GAP = 30
_COLOUR = "#2f6fde"
_NUM_PLACES = 200
_MARKS = (0.0, 0.5, 0.95, 1.0)


class Line(NamedTuple):
    """The clear rate of one seed, over whatever the axis is."""

    places: Sequence[float]
    rates: Sequence[float]

    def at(self, place: float) -> float:
        """What the latest record before it says; after the end the last one: a run that has ended is not worse."""
        rate = 0.0
        for each, rate_there in zip(self.places, self.rates, strict=True):
            if each > place:
                break
            rate = rate_there
        return rate


def make_plot(clearings: Sequence[Clearing], title: str) -> str:
    """SVG, two panels."""
    over_steps = [Line([p.steps / 1e6 for p in each.curve], [p.clear_rate for p in each.curve]) for each in clearings]
    over_seconds = [Line([p.seconds for p in each.curve], [p.clear_rate for p in each.curve]) for each in clearings]
    parts = [f'<text x="{_LEFT}" y="22" font-size="16">{escape(title)}</text>']
    parts += _panel(0, over_steps, "million steps", [each.end.steps / 1e6 for each in clearings])
    parts += _panel(
        _WIDTH + _GAP, over_seconds, "seconds from the first step", [each.end.seconds for each in clearings]
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH + _GAP}" height="{_HEIGHT}" font-size="12">'
    style = '<style>text { font-family: sans-serif }</style><rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, style, *parts, "</svg>"]) + "\n"


def _panel(left: float, lines: Sequence[Line], unit: str, ends: Sequence[float]) -> list[str]:
    last = max([*ends, *(line.places[-1] for line in lines)])

    def x(place: float) -> float:
        return left + _LEFT + place / last * (_WIDTH - _LEFT - 12)

    def y(rate: float) -> float:
        return _HEIGHT - _BOTTOM - rate * (_HEIGHT - _BOTTOM - _TOP)

    places = [last * number / _NUM_PLACES for number in range(_NUM_PLACES + 1)]
    rates = [[line.at(place) for line in lines] for place in places]
    upper = [f"{x(place):.1f},{y(max(each)):.1f}" for place, each in zip(places, rates, strict=True)]
    lower = [f"{x(place):.1f},{y(min(each)):.1f}" for place, each in zip(places, rates, strict=True)]
    middle = [f"{x(place):.1f},{y(median(each)):.1f}" for place, each in zip(places, rates, strict=True)]
    return [
        *(f'<path d="M{x(0):.1f} {y(mark):.1f}H{x(last):.1f}" stroke="#ddd"/>' for mark in _MARKS),
        *(
            f'<text x="{x(0) - 6:.1f}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:.0%}</text>'
            for mark in _MARKS[:-1]
        ),
        f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{_COLOUR}" fill-opacity="0.2"/>',
        f'<polyline points="{" ".join(middle)}" fill="none" stroke="{_COLOUR}" stroke-width="2"/>',
        *(f'<path d="M{x(end):.1f} {y(0):.1f}v-8" stroke="#222" stroke-width="2"/>' for end in ends),
        f'<path d="M{x(0):.1f} {y(1):.1f}V{y(0):.1f}H{x(last):.1f}" fill="none" stroke="#888"/>',
        f'<text x="{x(0):.1f}" y="{y(0) + 18:.1f}">0</text>',
        f'<text x="{x(last):.1f}" y="{y(0) + 18:.1f}" text-anchor="end">{_number(last)} {unit}</text>',
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
