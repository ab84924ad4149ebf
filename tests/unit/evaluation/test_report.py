"""The report says what was measured, beside what others published, in tables and plots."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from mario_a3c.errors import StorageError
from mario_a3c.evaluation.config import MODES
from mario_a3c.evaluation.episodes import EpisodeSpec
from mario_a3c.evaluation.plots import Curve, curves, heat_map, histogram
from mario_a3c.evaluation.published import PUBLISHED
from mario_a3c.evaluation.report import (
    AgentFile,
    Contender,
    Report,
    as_html,
    as_summary,
    plots_of,
    tables_of,
    where_failures_end,
)
from mario_a3c.evaluation.report_files import load_report, read_report, write_pages, write_report
from mario_a3c.native.start_states import Stage
from tests.support.episode_results import result_of, series

SVG = "{http://www.w3.org/2000/svg}"


def rects(svg: str, kind: str) -> list[ET.Element]:
    return [each for each in ET.fromstring(svg).iter(f"{SVG}rect") if each.get("class") == kind]


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_heat_map_has_a_cell_for_each_stage_and_a_rate_where_one_is_known() -> None:
    svg = heat_map("sampled", "an <agent>", {"1-1": 0.95, "8-4": 0.0})
    assert len(rects(svg, "cell")) == 32
    assert [text for text in texts(svg) if text.endswith("%")] == ["95%", "0%"]
    assert "an <agent>" in texts(svg)
    colours = [each.get("fill") for each in rects(svg, "cell")]
    assert colours.count("#f0f0f0") == 30
    assert colours[0] != colours[-1]


def test_bars_of_a_histogram_are_as_tall_as_what_they_count() -> None:
    svg = histogram("progress", {"sampled": [0, 0, 0, 100], "noop": [100]}, unit="pixels", num_bins=4)
    heights = sorted(float(each.get("height", 0)) for each in rects(svg, "bar"))
    assert len(heights) == 3
    assert heights[2] == pytest.approx(3 * heights[0], rel=0.01)
    assert "100 pixels" in texts(svg)
    assert rects(histogram("nothing", {"sampled": []}, unit="pixels"), "bar") == []


def test_curves_go_through_their_points() -> None:
    svg = curves("clear rate", [Curve("training", [(0, 0.0), (50, 0.5), (100, 1.0)])], most=1.0)
    (line,) = ET.fromstring(svg).iter(f"{SVG}polyline")
    points = [tuple(map(float, pair.split(","))) for pair in line.get("points", "").split()]
    assert points[1] == pytest.approx([(points[0][0] + points[2][0]) / 2, (points[0][1] + points[2][1]) / 2], abs=0.11)
    assert points[0][1] > points[2][1]  # up is up


def agent(name: str = "agent", clears: int = 96, **more: object) -> Contender:
    results = [each for mode in MODES for each in series(mode, 100 if mode == "greedy" else clears, 100)]
    other = [
        replace(each, spec=EpisodeSpec(Stage(8, 4), each.spec.mode, each.spec.number)) for each in results[150:250]
    ]
    return Contender(name, "last weights", [*results, *other], **more)  # type: ignore[arg-type]


def report_of(*contenders: Contender, **more: object) -> Report:
    return Report(contenders, ["1-1", "8-4"], 100, 0, **more)  # type: ignore[arg-type]


def test_tables_show_rates_intervals_verdicts_and_others() -> None:
    random = Contender("random", "a simple player", series("sampled", 0, 100), is_baseline=True)
    (title, own), (_, beside) = tables_of(report_of(agent(), random))
    assert title == "agent: last weights"
    assert own[0] == ["stage", "greedy", "sampled", "noop", "sticky", "cleared", "failures end mostly at"]
    assert own[1] == ["1-1", "clears", *["96 of 100 (90% to 98%)"] * 3, "yes", "x 0 to 63: 12 of 12"]
    assert own[2][-2] == "not judged"
    assert beside[0] == ["stage", "agent", "random", *(each.name for each in PUBLISHED)]
    assert beside[1] == ["1-1", "96%, 100 pixels", "0%, 100 pixels", "greedy", "1 of 10, greedy", "96 of 100"]


def test_failures_are_counted_by_the_places_where_most_of_them_end() -> None:
    places = [700, 640, 703, 64, 127, 1000]
    failures = [replace(result_of("sticky", n, is_clear=False), x=x) for n, x in enumerate(places)]
    others = [result_of("sampled", 7), replace(result_of("greedy", 8, is_clear=False), x=700)]
    assert where_failures_end([*failures, *others], "1-1") == "x 640 to 703: 3, x 64 to 127: 2 of 6"
    assert where_failures_end(others, "1-1") == ""
    assert where_failures_end(failures, "1-2") == ""


def test_an_earlier_report_is_shown_beside_this_one(tmp_path: Path) -> None:
    write_report(report_of(agent("old", 50)), tmp_path / "old")
    earlier = read_report(tmp_path / "old" / "report.json")
    assert earlier["contenders"][0]["cleared"]["1-1"] is False
    beside = tables_of(report_of(agent("new"), earlier=earlier))[-1][1]
    assert beside[0][:3] == ["stage", "new", "old (earlier)"]
    assert beside[1][:3] == ["1-1", "96%, 100 pixels", "50%"]
    for wrong in ("missing.json", "old/report.md"):
        with pytest.raises(StorageError, match="--compare"):
            read_report(tmp_path / wrong)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(StorageError, match=r"not the report\.json"):
        read_report(tmp_path / "other.json")


def test_pages_are_written_whole_with_every_plot(tmp_path: Path) -> None:
    curve = Curve("training", [(0, 0.1), (10, 0.9)])
    contender = agent(training=[curve], pictures={"1-1": "ends.png"}, videos={"1-1": "video.mp4"})
    report = report_of(contender, Contender("random", "", [result_of()], is_baseline=True))
    paths = write_report(report, tmp_path)
    assert [path.name for path in paths] == ["report.json", "report.md", "summary.md", "report.html"]
    plots = plots_of(report)
    assert set(plots) == {
        *(f"agent0_{mode}.svg" for mode in MODES), "agent0_1-1_progress.svg", "agent0_8-4_progress.svg",
        "agent0_training.svg",
    }  # fmt: skip
    markdown = (tmp_path / "report.md").read_text()
    for target in re.findall(r"\]\(([^)]+)\)", markdown):
        assert target in ("ends.png", "video.mp4") or (tmp_path / target).exists()
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == len(plots)
    assert '<td class="yes">yes</td>' in page
    assert '<img src="ends.png"' in page
    assert 'src="video.mp4"' in page
    assert json.loads((tmp_path / "report.json").read_text())["contenders"][0]["cleared"]["1-1"] is True


def test_agents_that_share_the_stages_are_named_with_their_kind() -> None:
    files = {"1-1": AgentFile("all.pt", "generalist"), "8-4": AgentFile("last.pt", "specialist")}
    report = report_of(agent("published", agents=files))
    own = tables_of(report)[0][1]
    assert own[0][:3] == ["stage", "agent", "greedy"]
    assert [row[1] for row in own[1:]] == ["generalist all", "specialist last"]
    plain = report.as_dict()["contenders"][0]
    assert plain["agents"]["8-4"] == {"file": "last.pt", "kind": "specialist"}
    assert plain["file"] is None
    summary = as_summary(report)
    assert summary.startswith("published: 1 of 2 stages cleared (1 by a generalist).\n\n| stage | agent | greedy |")
    assert "| 1-1 | generalist all | clears | 96 of 100 (90% to 98%) |" in summary


def test_pages_can_be_drawn_elsewhere_from_the_results_alone(tmp_path: Path) -> None:
    files = dict.fromkeys(("1-1", "8-4"), AgentFile("all.pt", "generalist"))
    made_with = {"command": "mario report all.pt", "code_revision": "abc", "device": "cuda"}
    curve = Curve("training", [(0.0, 0.1), (10.0, 0.9)])
    report = report_of(agent(agents=files, training=[curve]), made_with=made_with)
    write_report(report, tmp_path / "there")
    (tmp_path / "here").mkdir()
    for name in ("report.json", "episodes.csv"):
        (tmp_path / "here" / name).write_bytes((tmp_path / "there" / name).read_bytes())
    write_pages(load_report(tmp_path / "here" / "report.json"), tmp_path / "here")
    for path in (tmp_path / "there").iterdir():
        assert (tmp_path / "here" / path.name).read_bytes() == path.read_bytes(), path.name
    assert "`mario report all.pt`, commit abc, on cuda." in (tmp_path / "here" / "report.md").read_text()


def test_results_that_are_torn_apart_are_noticed(tmp_path: Path) -> None:
    path = write_report(report_of(agent()), tmp_path)[0]
    episodes = tmp_path / "episodes.csv"
    lines = episodes.read_text().splitlines(keepends=True)
    episodes.write_text("".join(lines[:-1]))
    with pytest.raises(StorageError, match="of another report"):
        load_report(path)
    episodes.write_text("".join(lines[:1]) + "0,1-1,dancing")
    with pytest.raises(StorageError, match="damaged"):
        load_report(path)
    episodes.unlink()
    with pytest.raises(StorageError, match=r"--from .*episodes\.csv cannot be read"):
        load_report(path)


def test_names_cannot_put_markup_into_the_page() -> None:
    page = as_html(report_of(agent("<script>alert(1)</script>")), {})
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_published_numbers_are_those_of_the_sources() -> None:
    a3c, ppo, other = PUBLISHED
    assert (len(a3c.greedy), len(ppo.greedy)) == (19, 31)
    assert "8-4" not in ppo.greedy
    assert sum(clears for clears, _ in ppo.sampled.values()) / 40 < 0.1
    assert len(other.sampled) == 7
    assert all(each.source.startswith("https://") for each in PUBLISHED)
