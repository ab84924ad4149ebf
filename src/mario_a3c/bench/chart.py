"""Curves as SVG, drawn without a library: one as it is, or of several runs the median and the range that they span."""

from collections.abc import Container, Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from statistics import median
from typing import NamedTuple

COLOURS = (
    "#1b6ca8",
    "#d1495b",
    "#3a7d44",
    "#8d6a9f",
    "#e07a1f",
    "#444444",
    "#00a6a6",
    "#a0781e",
    "#c03fa0",
    "#7fb069",
)
_DASHES = ("none", "7 3", "2 3")  # one for each time that the colours begin anew
_LEVEL = 'stroke="#888" stroke-dasharray="4 4"'
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 52, 44  # around the axes: labels and titles
_NUM_PLACES = 200
_ROUNDING = 1e-9  # 0.3 / 0.1 is a little less than 3
_LEGEND_ROW = 20


class Line(NamedTuple):
    """The values of one run, over whatever the axis is."""

    places: Sequence[float]
    values: Sequence[float]

    def at(self, place: float) -> float:
        """What the latest record before it says; after the end the last one: a run that has ended is not worse."""
        value = 0.0
        for each, value_there in zip(self.places, self.values, strict=True):
            if each > place:
                break
            value = value_there
        return value


class Stroke(NamedTuple):
    """How the curve of one of many is drawn."""

    colour: str
    dashes: str = "none"

    @classmethod
    def of(cls, number: int) -> "Stroke":
        return cls(COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS) % len(_DASHES)])

    def __str__(self) -> str:
        return f'stroke="{self.colour}" stroke-dasharray="{self.dashes}"'


class Panel(NamedTuple):
    """A pair of axes, with its labels so large, that begins there in the picture."""

    left: float
    top: float
    width: float
    height: float
    last: float  # place at the right end
    highest: float = 1.0
    lowest: float = 0.0

    def x(self, place: float) -> float:
        return self.left + _LEFT + place / (self.last or 1.0) * (self.width - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.lowest) / ((self.highest - self.lowest) or 1.0)
        return self.top + self.height - _BOTTOM - share * (self.height - _BOTTOM - _TOP)

    def draw_grid(self, marks: Sequence[tuple[float, str]]) -> list[str]:
        """A line across at each of these values, and its text."""
        return [
            part
            for value, text in marks
            for part in (
                f'<path d="M{self.x(0):.1f} {self.y(value):.1f}H{self.x(self.last):.1f}" stroke="#ddd"/>',
                f'<text x="{self.x(0) - 6:.1f}" y="{self.y(value) + 4:.1f}" text-anchor="end">{text}</text>',
            )
        ]

    def draw_level(self, value: float) -> str:
        """A dashed line across: a value to be reached."""
        return f'<path d="M{self.x(0):.1f} {self.y(value):.1f}H{self.x(self.last):.1f}" {_LEVEL}/>'

    def draw_line(self, line: Line, stroke: Stroke) -> str:
        points = [f"{self.x(place):.1f},{self.y(value):.1f}" for place, value in zip(*line, strict=True)]
        return f'<polyline points="{" ".join(points)}" fill="none" {stroke} stroke-width="2"/>'

    def draw_range(self, lines: Sequence[Line], stroke: Stroke, *, end: float) -> list[str]:
        """The median of the lines up to there, and what lies between the lowest and the highest of them."""
        places = [end * number / _NUM_PLACES for number in range(_NUM_PLACES + 1)]
        values = [[line.at(place) for line in lines] for place in places]
        middle = self.draw_line(Line(places, [median(each) for each in values]), stroke)
        if len(lines) == 1:
            return [middle]
        upper, lower = (
            [f"{self.x(place):.1f},{self.y(of(each)):.1f}" for place, each in zip(places, values, strict=True)]
            for of in (max, min)
        )
        area = " ".join(upper + lower[::-1])
        return [f'<polygon points="{area}" fill="{stroke.colour}" fill-opacity="0.2"/>', middle]

    def draw_axes(self, unit: str) -> list[str]:
        left, right, bottom = f"{self.x(0):.1f}", f"{self.x(self.last):.1f}", self.y(self.lowest)
        end = f"{_number(self.last)} {escape(unit)}"
        return [
            f'<path d="M{left} {self.y(self.highest):.1f}V{bottom:.1f}H{right}" fill="none" stroke="#888"/>',
            f'<text x="{left}" y="{bottom + 18:.1f}">0</text>',
            f'<text x="{right}" y="{bottom + 18:.1f}" text-anchor="end">{end}</text>',
        ]

    def draw_title(self, title: str) -> str:
        return f'<text x="{self.x(0):.1f}" y="{self.y(self.highest) - 12:.1f}">{escape(title)}</text>'


def draw_legend(left: float, strokes: Mapping[str, Stroke], *, failed: Container[str] = ()) -> list[str]:
    """A row for each name, downward from the top of the axes."""
    parts = []
    for number, (name, stroke) in enumerate(strokes.items()):
        y = _TOP + _LEGEND_ROW * number
        parts.append(f'<path d="M{left} {y - 4}h26" {stroke} stroke-width="3"/>')
        parts.append(f'<text x="{left + 34}" y="{y}">{escape(name)}{" (failed)" if name in failed else ""}</text>')
    return parts


def legend_height(num_names: int) -> float:
    return _TOP + 8 + _LEGEND_ROW * num_names


def marks_between(lowest: float, highest: float) -> list[float]:
    """Round numbers at equal distances, about five; the first is not above the lowest, the last not below the
    highest."""
    rough = ((highest - lowest) or abs(highest) or 1.0) / 5
    power = 10.0 ** floor(log10(rough))
    step = next(each * power for each in (1.0, 2.0, 5.0, 10.0) if each * power >= rough * (1 - _ROUNDING))
    first, last = floor(lowest / step + _ROUNDING), ceil(highest / step - _ROUNDING)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def make_picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-size="12">'
    style = '<style>text { font-family: sans-serif }</style><rect width="100%" height="100%" fill="white"/>'
    heading = f'<text x="{_LEFT}" y="22" font-size="16">{escape(title)}</text>'
    return "\n".join([head, style, heading, *parts, "</svg>"]) + "\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
