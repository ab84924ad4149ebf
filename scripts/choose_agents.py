"""Says which agent of a folder plays which stage, by reports about them: writes `agents.json` and `README.md` there.

    mario report pretrained/*.pt --seed 1 --no-videos --no-pictures
    python scripts/choose_agents.py output/report/report.json

A report of the published agents then takes another seed: the best of several is a little lucky.
"""

import argparse
import sys
from pathlib import Path

from mario_a3c.cli.scripts import run_script

_MOST_BYTES = 60_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="*", help="report.json of one or more reports")
    parser.add_argument("--folder", type=Path, default=Path("pretrained"), help="where the agents' files are")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be chosen")
    arguments = parser.parse_args()

    from mario_a3c.durable_file import write_durably
    from mario_a3c.evaluation.report_files import read_report
    from mario_a3c.training.release import choose_agents, describe_release

    if not arguments.reports:
        print("name a report.json: `mario report pretrained/*.pt --seed 1` writes one", file=sys.stderr)
        return 0 if arguments.dry_run else 2
    release = choose_agents(arguments.folder, [read_report(path, "report") for path in arguments.reports])
    for agent in release.agents:
        print(f"{agent.path.name}: {', '.join(map(str, agent.stages))}")
    teachers = (arguments.folder / "teachers").glob("*.pt")
    size = sum(path.stat().st_size for path in [*(agent.path for agent in release.agents), *teachers])
    if size > _MOST_BYTES:
        limit = f"{_MOST_BYTES / 1e6:.0f}, what a repository may hold; scripts/trim_agent.py makes them smaller"
        print(f"with teachers they take {size / 1e6:.0f} MB, more than {limit}", file=sys.stderr)
        return 2
    if not arguments.dry_run:
        page = describe_release(release)
        release.save()
        write_durably(arguments.folder / "README.md", page.encode())
    return 0


if __name__ == "__main__":
    sys.exit(run_script("choose_agents", main))
