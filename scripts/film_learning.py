"""Makes a film of learning: at several moments of a run, several sampled episodes side by side, as MP4 and GIF.

    mario train --run-name film --save-interval 2 --keep-checkpoints 1000
    python scripts/film_learning.py trained_models/film

The moments are checkpoints of the run at equal distances in time, and its beginning, whose weights the seed decides.
"""

import argparse
import sys
from pathlib import Path

from mario_a3c.cli.scripts import run_script


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", help="the run's folder, with numbered checkpoints")
    parser.add_argument("--output", type=Path, help="the MP4; the GIF lies beside it (RUN/videos/learning.mp4)")
    parser.add_argument("--stage", help="which stage, like 1-1 (the first that it is trained on)")
    parser.add_argument("--moments", type=int, default=6, help="how many moments, the beginning among them")
    parser.add_argument("--episodes", type=int, default=8, help="episodes of each moment")
    parser.add_argument("--columns", type=int, default=4, help="of the grid")
    parser.add_argument("--speed", type=int, default=4, help="times as fast as the game")
    parser.add_argument(
        "--clip-seconds", type=float, default=3.0, help="of each moment but the last, which ends itself"
    )
    parser.add_argument(
        "--gif-megabytes", type=float, default=5.0, help="the GIF has fewer pictures rather than more bytes"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="best")
    parser.add_argument("--dry-run", action="store_true", help="only say which moments would be filmed")
    arguments = parser.parse_args()
    if arguments.run is None:
        parser.error("name the folder of a run")

    from mario_a3c.cli.console_log import log_to_stderr
    from mario_a3c.training.filming import FilmConfig, film_run

    log_to_stderr()
    config = FilmConfig(
        stage=arguments.stage, num_moments=arguments.moments, num_episodes=arguments.episodes,
        columns=arguments.columns, speed=arguments.speed, clip_seconds=arguments.clip_seconds,
        most_gif_bytes=round(arguments.gif_megabytes * 1e6), seed=arguments.seed, device=arguments.device,
    )  # fmt: skip
    film_run(arguments.run, config, arguments.output, is_rehearsal=arguments.dry_run)
    return 0


if __name__ == "__main__":
    sys.exit(run_script("film_learning", main))
