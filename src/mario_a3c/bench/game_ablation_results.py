"""Numbers, table and picture of an ablation on the game."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from mario_a3c.bench.game_ablation_plot import make_plot
from mario_a3c.bench.game_runs import WINDOW, GameRun, by_variant
from mario_a3c.durable_file import write_durably


def write_results(runs: Sequence[GameRun], stem: Path, title: str) -> None:
    """Beside each other: numbers, table and picture. Each is whole at any moment."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    numbers = "[\n" + ",\n".join(json.dumps(asdict(each)) for each in runs) + "\n]\n"
    texts = {".json": numbers, ".md": make_table(runs, title), ".svg": make_plot(runs, title)}
    for suffix, text in texts.items():
        write_durably(stem.with_suffix(suffix), text.encode())


def read_results(paths: Sequence[Path]) -> list[GameRun]:
    return [GameRun.from_json(each) for path in paths for each in json.loads(path.read_text())]


def make_table(runs: Sequence[GameRun], title: str) -> str:
    """Markdown: where each variant was at the end of its time; of several seeds the median and the range."""
    seeds = ", ".join(map(str, sorted({each.seed for each in runs})))
    base = "; ".join(f"`mario train {each}`" for each in dict.fromkeys(shlex.join(each.base) for each in runs))
    most = max(each.at_once for each in runs)
    sharing = f" Up to {most} runs at once shared the machine." if most > 1 else ""
    titles = "variant | flags | steps/s | million steps | clear rates | progress | entropy | KL of an update | "
    about = (
        f"{base}, seed {seeds}. Clear rates and progress (shares of the way) are means of the last {WINDOW} training "
        f"episodes from a stage's own start, summed over the stages.{sharing}"
    )
    lines = [title, "", about, "", f"| {titles} |", f"|{' --- |' * len(titles.split('|'))}"]
    for name, mine in by_variant(runs).items():
        ends = [each.curve[-1] for each in mine if each.curve]
        cells = [
            _cell([end.steps / end.seconds for end in ends], "{:,.0f}"),
            _cell([end.steps / 1e6 for end in ends], "{:.2f}"),
            _cell([end.clear_rates for end in ends], "{:.2f}"),
            _cell([end.progress for end in ends], "{:.2f}"),
            _cell([end.entropy for end in ends], "{:.2f}"),
            _cell([end.kl for end in ends], "{:.4f}"),
        ]
        failures = "; ".join(f"seed {each.seed}: {_short(each.failure)}" for each in mine if each.failure)
        flags = f"`{shlex.join(mine[0].flags)}`" if mine[0].flags else ""
        lines.append(f"| {name} | {flags} | {' | '.join(cells)} | {failures} |")
    return "\n".join(lines) + "\n"


def _cell(numbers: Sequence[float | None], text: str) -> str:
    known = [each for each in numbers if each is not None]
    if not known:
        return "-"
    middle = text.format(median(known))
    return middle if len(known) == 1 else f"{middle} ({text.format(min(known))} to {text.format(max(known))})"


def _short(text: str) -> str:
    """For a cell of a table."""
    plain = text.replace("|", "/")
    return plain if len(plain) <= 160 else plain[:159] + "…"
