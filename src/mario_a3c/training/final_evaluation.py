"""What an agent can do, at the end of a run that cleared its stage."""

import logging

from mario_a3c.evaluation.config import MODES
from mario_a3c.evaluation.files import write_json
from mario_a3c.evaluation.summary import summarize
from mario_a3c.evaluation.videos import best_of
from mario_a3c.training.episode_videos import can_film, film
from mario_a3c.training.evaluator import Evaluator

LOG = logging.getLogger("mario.eval")

_NUM_EPISODES = 25
_MOST_STAGES = 4


def evaluate_finally(evaluator: Evaluator) -> None:
    """The four modes, a few episodes each, and a video of each stage."""
    stages = evaluator.place.stages[:_MOST_STAGES]
    LOG.info(
        "what it can do: %d episodes each of %s, in %d modes (--no-final-evaluation leaves this out)",
        _NUM_EPISODES, ", ".join(map(str, stages)), len(MODES),
    )  # fmt: skip
    results = evaluator.play(MODES, _NUM_EPISODES, with_traces=True, stages=stages)
    if not results:
        return
    moment = evaluator.moment
    evaluator.note([each.as_dict() for each in summarize(results)], moment, "final")
    described = {"run": evaluator.folder.name, "update": moment.update}
    write_json(evaluator.folder / "evaluation.json", results, described)
    if can_film(evaluator.place):
        for stage in dict.fromkeys(each.spec.stage for each in results):  # all, but where it was interrupted
            film(evaluator, best_of([each for each in results if each.spec.stage == stage]), f"{stage}_final")
