"""A curve for each variant: clear rates and progress, over seconds and over steps."""

from collections.abc import Callable, Sequence
from math import ceil

from mario_a3c.bench.chart import Line, Panel, Stroke, draw_legend, legend_height, make_picture
from mario_a3c.bench.game_runs import GamePoint, GameRun, by_variant

_WIDTH, _HEIGHT, _GAP = 480, 330, 10
_LEGEND_WIDTH = 190
_NUM_MARKS = 4

Number = Callable[[GamePoint], float | None]


def make_plot(runs: Sequence[GameRun], title: str) -> str:
    """SVG: four panels and a legend. A curve ends where its runs did."""
    drawn = {name: [each for each in mine if each.curve] for name, mine in by_variant(runs).items()}
    strokes = {name: Stroke.of(number) for number, name in enumerate(drawn)}
    values: dict[str, Number] = {
        "clear rates, summed over the stages": lambda point: point.clear_rates,
        "progress, shares of the way, summed over the stages": lambda point: point.progress,
    }
    axes: dict[str, Number] = {
        "seconds from the first step": lambda point: point.seconds,
        "million steps": lambda point: point.steps / 1e6,
    }
    parts: list[str] = []
    for row, (name, value) in enumerate(values.items()):
        for column, (unit, place) in enumerate(axes.items()):
            lines = {
                variant: [line for each in mine if (line := _line(each, place, value)).places]
                for variant, mine in drawn.items()
            }
            parts += _draw(column * (_WIDTH + _GAP), row * _HEIGHT, name, unit, lines, strokes)
    parts += draw_legend(2 * _WIDTH + 2 * _GAP, strokes, failed={name for name, mine in drawn.items() if not mine})
    height = max(2 * _HEIGHT, legend_height(len(strokes)))
    return make_picture(2 * (_WIDTH + _GAP) + _LEGEND_WIDTH, height, title, parts)


def _line(run: GameRun, place: Number, value: Number) -> Line:
    points = [(place(point) or 0.0, number) for point in run.curve if (number := value(point)) is not None]
    return Line([each for each, _ in points], [number for _, number in points])


def _draw(
    left: float, top: float, title: str, unit: str, lines: dict[str, list[Line]], strokes: dict[str, Stroke]
) -> list[str]:
    every = [line for mine in lines.values() for line in mine]
    highest = _round_up(max((number for line in every for number in line.values), default=1.0))
    last = max((line.places[-1] for line in every), default=1.0)
    panel = Panel(left, top, _WIDTH, _HEIGHT, last, highest)
    marks = [highest * number / _NUM_MARKS for number in range(_NUM_MARKS + 1)]
    return [
        panel.draw_title(title),
        *panel.draw_grid([(mark, f"{mark:.3g}") for mark in marks]),
        *(
            part
            for variant, mine in lines.items()
            if mine
            for part in panel.draw_range(mine, strokes[variant], end=max(line.places[-1] for line in mine))
        ),
        *panel.draw_axes(unit),
    ]


def _round_up(value: float) -> float:
    """To a number whose quarters are short: 0.4, 2, 4, 8, 12, ..."""
    if value <= 0:
        return 1.0
    return next((step for step in (0.1, 0.2, 0.4, 1.0, 2.0) if value <= step), 4.0 * ceil(value / 4))
