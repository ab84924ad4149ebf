"""A curve for each variant of a small task: the mean over its seeds, up to the best possible return."""

import statistics
from collections.abc import Sequence
from math import isfinite

from mario_a3c.bench.ablation import Curve, smoothed
from mario_a3c.bench.chart import Line, Panel, Stroke, draw_legend, make_picture, marks_between

_WIDTH, _HEIGHT, _LEGEND_WIDTH = 650, 480, 250


def make_plot(curves: Sequence[Curve], title: str, best_return: float) -> str:
    """SVG: one panel with the best return as a dashed line, and a legend."""
    names = dict.fromkeys(curve.variant for curve in curves)
    means = {name: _mean_line([curve for curve in curves if curve.variant == name]) for name in names}
    strokes = {name: Stroke.of(number) for number, name in enumerate(names)}
    every = [value for line in means.values() for value in line.values] or [0.0]
    marks = marks_between(min(every), max(*every, best_return))
    last = max((line.places[-1] for line in means.values() if line.places), default=1.0)
    panel = Panel(0, 0, _WIDTH, _HEIGHT, last, marks[-1], marks[0])
    parts = [
        *panel.draw_grid([(mark, f"{mark:.3g}") for mark in marks]),
        panel.draw_level(best_return),
        *(panel.draw_line(line, strokes[name]) for name, line in means.items()),
        *panel.draw_axes("updates"),
        *draw_legend(_WIDTH + 10, strokes),
    ]
    return make_picture(_WIDTH + _LEGEND_WIDTH, _HEIGHT, title, parts)


def _mean_line(curves: Sequence[Curve]) -> Line:
    """From the update on by which an episode of every seed has ended."""
    means = map(statistics.mean, zip(*(smoothed(curve.returns) for curve in curves), strict=True))
    known = [(float(update), value) for update, value in enumerate(means, 1) if isfinite(value)]
    return Line([update for update, _ in known], [value for _, value in known])
