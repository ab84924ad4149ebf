"""What all the curves share: axes, marks and legends."""

from xml.etree import ElementTree as ET

import pytest

from mario_a3c.bench.chart import Line, Panel, Stroke, draw_legend, legend_height, make_picture, marks_between

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("lowest", "highest", "marks"),
    [
        (-0.42, 1.0, [-0.5, 0.0, 0.5, 1.0]),
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (3.0, 37.0, [0.0, 10.0, 20.0, 30.0, 40.0]),
        (0.0, 0.3, [0.0, 0.1, 0.2, 0.3]),
        (0.0, 0.0, [0.0, 0.2]),
        (2.0, 2.0, [2.0, 2.5]),
    ],
)
def test_marks_are_round_and_span_the_values(lowest: float, highest: float, marks: list[float]) -> None:
    assert marks_between(lowest, highest) == pytest.approx(marks)


def test_a_panel_can_begin_below_zero() -> None:
    panel = Panel(0, 0, 200, 200, last=10.0, highest=1.0, lowest=-1.0)
    assert panel.y(-1.0) > panel.y(0.0) > panel.y(1.0)
    assert panel.y(0.0) == pytest.approx((panel.y(-1.0) + panel.y(1.0)) / 2)
    assert f"V{panel.y(-1.0):.1f}H" in panel.draw_axes("updates")[0]


def test_a_line_has_a_point_for_each_value() -> None:
    panel = Panel(0, 0, 200, 200, last=2.0)
    line = ET.fromstring(panel.draw_line(Line([0.0, 1.0, 2.0], [0.0, 1.0, 0.5]), Stroke("#123456")))
    assert line.get("stroke") == "#123456"
    assert line.get("points", "").split() == [
        f"{panel.x(x):.1f},{panel.y(y):.1f}" for x, y in ((0, 0), (1, 1), (2, 0.5))
    ]


def test_a_legend_fits_into_the_height_it_asks_for_and_says_what_failed() -> None:
    strokes = {f"number {number} & more": Stroke.of(number) for number in range(25)}
    picture = ET.fromstring(make_picture(100, 100, "a title", draw_legend(0, strokes, failed={"number 3 & more"})))
    rows = [each for each in picture.iter(f"{SVG}text") if each.text != "a title"]
    assert [each.text for each in rows][2:5] == ["number 2 & more", "number 3 & more (failed)", "number 4 & more"]
    assert float(rows[-1].get("y", "0")) < legend_height(25)
    assert len({str(stroke) for stroke in strokes.values()}) == 25  # none looks like another
