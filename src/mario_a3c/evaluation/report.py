"""The stage report: agents, baselines and what others published, as a Markdown and an HTML page with plots."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from mario_a3c.evaluation.config import JUDGED_MODES, MODES, PROGRESS_UNIT, Mode
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.plots import Curve, curves, heat_map, histogram
from mario_a3c.evaluation.published import PUBLISHED
from mario_a3c.evaluation.summary import Summary, cleared_stages, summarize

FORMAT = "mario-a3c report 1"
_PLACE_PIXELS, _NUM_PLACES = 64, 2


@dataclass(frozen=True, slots=True)
class AgentFile:
    """Whose weights played."""

    file: str
    kind: str  # generalist or specialist

    def __str__(self) -> str:
        return f"{self.kind} {self.file.removesuffix('.pt')}"


@dataclass(frozen=True, slots=True)
class Contender:
    """Somebody who was evaluated: an agent, several that share the stages out among them, or a simple player."""

    name: str
    about: str
    results: Sequence[EpisodeResult]
    training: Sequence[Curve] = ()  # clear rate and evaluations over steps
    pictures: Mapping[str, str] = field(default_factory=dict)  # of where episodes ended, by stage: file names
    videos: Mapping[str, str] = field(default_factory=dict)
    is_baseline: bool = False
    agents: Mapping[str, AgentFile] = field(default_factory=dict)  # by stage

    @property
    def agent(self) -> AgentFile | None:
        """The one that plays everything, if it is one."""
        different = set(self.agents.values())
        return different.pop() if len(different) == 1 else None

    @property
    def summaries(self) -> list[Summary]:
        return summarize(self.results)


@dataclass(frozen=True, slots=True)
class Report:
    contenders: Sequence[Contender]
    stages: Sequence[str]
    num_episodes: int
    seed: int
    earlier: Mapping[str, Any] | None = None  # an earlier report's JSON
    made_with: Mapping[str, Any] = field(default_factory=dict)  # the command, versions, the cartridge, the device

    def as_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "stages": list(self.stages),
            "episodes": self.num_episodes,
            "seed": self.seed,
            "made_with": dict(self.made_with),
            "contenders": [_contender_as_dict(each) for each in self.contenders],
        }


def _contender_as_dict(contender: Contender) -> dict[str, Any]:
    agent = contender.agent
    return {
        "name": contender.name,
        "about": contender.about,
        "is_baseline": contender.is_baseline,
        "file": None if agent is None else agent.file,
        "kind": None if agent is None else agent.kind,
        "agents": {stage: {"file": each.file, "kind": each.kind} for stage, each in contender.agents.items()},
        "training": [{"name": curve.name, "points": list(curve.points)} for curve in contender.training],
        "cleared": cleared_stages(contender.summaries),
        "summaries": [summary.as_dict() for summary in contender.summaries],
    }


def plots_of(report: Report) -> dict[str, str]:
    """File names to SVG."""
    plots: dict[str, str] = {}
    for number, each in enumerate(report.contenders):
        if each.is_baseline:
            continue
        for mode in MODES:
            rates = {summary.stage: summary.clear_rate for summary in each.summaries if summary.mode == mode}
            if rates:
                plots[f"agent{number}_{mode}.svg"] = heat_map(mode, each.name, rates)
        for stage in report.stages:
            series: dict[str, list[float]] = {
                mode: [result.progress for result in each.results if _is(result, stage, mode)]
                for mode in MODES
                if mode != "greedy"
            }
            if any(series.values()):
                plots[f"agent{number}_{stage}_progress.svg"] = histogram(
                    f"{stage}: progress", series, unit=PROGRESS_UNIT.value
                )
        if each.training:
            plots[f"agent{number}_training.svg"] = curves(
                f"{each.name}: clear rate in training", each.training, most=1.0
            )
    return plots


def _is(result: EpisodeResult, stage: str, mode: Mode) -> bool:
    return str(result.spec.stage) == stage and result.spec.mode == mode


def tables_of(report: Report) -> list[tuple[str, list[list[str]]]]:
    """Titles and rows, the first row a head: what both pages show."""
    tables = [(f"{each.name}: {each.about}", _own_table(each)) for each in report.contenders if not each.is_baseline]
    return [*tables, ("Beside others", _comparison(report))]


def _own_table(contender: Contender) -> list[list[str]]:
    has_several = bool(contender.agents) and contender.agent is None
    rows = [["stage", *(["agent"] if has_several else []), *MODES, "cleared", "failures end mostly at"]]
    verdicts = cleared_stages(contender.summaries)
    by_stage: dict[str, dict[str, Summary]] = {}
    for each in contender.summaries:
        by_stage.setdefault(each.stage, {})[each.mode] = each
    for stage, modes in by_stage.items():
        words = {True: "yes", False: "no", None: "not judged"}[verdicts[stage]]
        agent = [str(contender.agents[stage])] if has_several else []
        rates = (_rate(modes.get(mode)) for mode in MODES)
        rows.append([stage, *agent, *rates, words, where_failures_end(contender.results, stage)])
    return rows


def where_failures_end(results: Iterable[EpisodeResult], stage: str) -> str:
    """Of the judged episodes: the places, in pixels from the left of their room, where most of those end that fail."""
    failures = [
        each for each in results
        if str(each.spec.stage) == stage and each.spec.mode in JUDGED_MODES and not each.is_clear
    ]  # fmt: skip
    places = Counter(each.x // _PLACE_PIXELS * _PLACE_PIXELS for each in failures)
    most = [f"x {x} to {x + _PLACE_PIXELS - 1}: {number}" for x, number in places.most_common(_NUM_PLACES)]
    return f"{', '.join(most)} of {len(failures)}" if most else ""


def headline_of(contender: Contender) -> str:
    """How many stages are cleared, and by whom."""
    verdicts = cleared_stages(contender.summaries)
    cleared = [stage for stage, is_cleared in verdicts.items() if is_cleared]
    kinds = [contender.agents[stage].kind for stage in cleared if stage in contender.agents]
    shares = [f"{kinds.count(kind)} by a {kind}" for kind in sorted(set(kinds))]
    words = f"{len(cleared)} of {len(verdicts)} stages cleared"
    return words + (f" ({', '.join(shares)})" if shares else "")


def as_summary(report: Report) -> str:
    """The rates of the first contender alone, for a README: every stage and mode, with intervals."""
    first = report.contenders[0]
    return "\n".join([f"{first.name}: {headline_of(first)}.", "", *_markdown_table(_own_table(first)), ""])


def _rate(summary: Summary | None) -> str:
    if summary is None:
        return ""
    if summary.mode == "greedy":
        return "clears" if summary.num_clears else "fails"
    low, high = summary.clear_rate_low, summary.clear_rate_high
    return f"{summary.num_clears} of {summary.num_episodes} ({low:.0%} to {high:.0%})"


def _comparison(report: Report) -> list[list[str]]:
    """Drawn actions, stage by stage; `greedy` where only one trajectory was published."""
    names = [each.name for each in report.contenders]
    earlier = [each for each in (report.earlier or {}).get("contenders", []) if not each["is_baseline"]]
    head = ["stage", *names, *(f"{each['name']} (earlier)" for each in earlier), *(each.name for each in PUBLISHED)]
    rows = [head]
    for stage in report.stages:
        row = [stage]
        for each in report.contenders:
            sampled = next((s for s in each.summaries if s.stage == stage and s.mode == "sampled"), None)
            row.append(
                "" if sampled is None else f"{sampled.clear_rate:.0%}, {PROGRESS_UNIT.full_text(sampled.mean_progress)}"
            )
        for old in earlier:
            rates = [s["clear_rate"] for s in old["summaries"] if s["stage"] == stage and s["mode"] == "sampled"]
            row.append(f"{rates[0]:.0%}" if rates else "")
        for published in PUBLISHED:
            clears, episodes = published.sampled.get(stage, (0, 0))
            greedy = "greedy" if stage in published.greedy else ""
            row.append(", ".join(filter(None, [f"{clears} of {episodes}" if episodes else "", greedy])))
        rows.append(row)
    return rows


def notes_of(report: Report) -> list[str]:
    made = report.made_with
    return [
        *(f"{each.name}: {headline_of(each)}." for each in report.contenders if not each.is_baseline),
        *([f"`{made['command']}`, commit {made['code_revision']}, on {made['device']}."] if made else []),
        f"{report.num_episodes} episodes of each stage and mode, seed {report.seed}; intervals are Wilson's, at 95 %.",
        "A stage is cleared when sampled, noop and sticky each reach 95 of 100. Greedy play is one trajectory.",
        *(f"{each.name}: {each.note} ({each.source})." for each in PUBLISHED),
    ]


def as_markdown(report: Report, plots: Sequence[str]) -> str:
    lines = ["# Stage report", "", *(f"- {note}" for note in notes_of(report)), ""]
    for title, rows in tables_of(report):
        lines += [f"## {title}", "", *_markdown_table(rows), ""]
    lines += ["## Plots", "", *(f"![{name.removesuffix('.svg')}]({name})" for name in plots), ""]
    for each in report.contenders:
        for stage, picture in each.pictures.items():
            lines += [f"### {stage}: where {each.name} ended", "", f"![{stage}]({picture})", ""]
        for stage, video in each.videos.items():
            lines += [f"[{stage}: video of {each.name}]({video})", ""]
    return "\n".join(lines)


def _markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [head, "| --- " * len(rows[0]) + "|", *body]


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { border: 1px solid #ccc; padding: .25rem .6rem; }
th { background: #f3f3f3; text-align: left; } .yes { background: #d6f2da; } .no { background: #f9dcd8; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; } .level { overflow-x: auto; border: 1px solid #ccc; }
.wide { overflow-x: auto; } video { max-width: 100%; border: 1px solid #ccc; }
"""


def as_html(report: Report, plots: Mapping[str, str]) -> str:
    parts = ["<h1>Stage report</h1>", "<ul>", *(f"<li>{escape(note)}</li>" for note in notes_of(report)), "</ul>"]
    for title, rows in tables_of(report):
        parts += [f"<h2>{escape(title)}</h2>", '<div class="wide">', _html_table(rows), "</div>"]
    parts += ["<h2>Plots</h2>", '<div class="plots">', *plots.values(), "</div>"]
    for each in report.contenders:
        for stage, picture in each.pictures.items():
            title = escape(f"{stage}: where {each.name} ended (red: deaths, green: flags, orange: cut short)")
            parts += [f"<h3>{title}</h3>", f'<div class="level"><img src="{escape(picture)}" alt="{title}"></div>']
        for stage, video in each.videos.items():
            title = escape(f"{stage}: {each.name} plays")
            parts += [f"<h3>{title}</h3>", f'<video controls muted preload="auto" src="{escape(video)}"></video>']
    head = f'<meta charset="utf-8"><title>Stage report</title><link rel="icon" href="data:,"><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    for row in body:
        cells = [f'<td class="{cell}">' if cell in ("yes", "no") else "<td>" for cell in row]
        lines.append(
            "<tr>" + "".join(f"{tag}{escape(cell)}</td>" for tag, cell in zip(cells, row, strict=True)) + "</tr>"
        )
    return "<table>" + "\n".join(lines) + "</table>"
