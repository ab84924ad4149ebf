"""What a report shows of an agent beside its numbers: pictures, videos, and the curves of its training."""

import logging
from collections.abc import Sequence
from pathlib import Path

from mario_a3c.envs.png import write_png
from mario_a3c.errors import RomError
from mario_a3c.evaluation.ends_picture import draw_ends
from mario_a3c.evaluation.episodes import EpisodeResult
from mario_a3c.evaluation.plots import Curve
from mario_a3c.evaluation.videos import Studio, best_of, write_episode_video
from mario_a3c.metrics.reader import LineReader

LOG = logging.getLogger("mario.report")

_MOST_POINTS = 400  # of a curve


def draw_pictures(studio: Studio, results: Sequence[EpisodeResult], out: Path, slug: str) -> dict[str, str]:
    """Where the episodes of each stage ended; names of files by stage."""
    names: dict[str, str] = {}
    for stage in dict.fromkeys(each.spec.stage for each in results):
        # Greedy play is one trajectory, which a hundred discs in one place would make too much of.
        played = [each for each in results if each.spec.stage == stage and each.spec.mode != "greedy"]
        try:
            picture = draw_ends(played, studio.console(), studio.starts[stage])
        except RomError as error:
            LOG.warning("no picture of %s: %s", stage, error)
            continue
        names[str(stage)] = f"{slug}_{stage}_ends.png"
        write_png(out / names[str(stage)], picture)
    return names


def film_stages(studio: Studio, results: Sequence[EpisodeResult], out: Path, slug: str) -> dict[str, str]:
    """The best episode of each stage; names of files by stage."""
    names: dict[str, str] = {}
    for stage in dict.fromkeys(each.spec.stage for each in results):
        best = best_of([each for each in results if each.spec.stage == stage])
        names[str(stage)] = f"{slug}_{stage}.mp4"
        LOG.info("wrote %s", write_episode_video(studio, best, out / names[str(stage)]))
    return names


def training_curves(folder: Path) -> list[Curve]:
    """From what a run wrote about itself, where the checkpoint still lies in its folder."""
    sources = {"training": "metrics.jsonl", "evaluation": "evaluations.jsonl"}
    found = []
    for name, file in sources.items():
        records = [record for record in LineReader(folder / file) if record.get("clear_rate") is not None]
        points = [(float(each["global_step"]), float(each["clear_rate"])) for each in records if "global_step" in each]
        if points:
            found.append(Curve(name, sorted(points)[:: -(-len(points) // _MOST_POINTS)]))
    return found
