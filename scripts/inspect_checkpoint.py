"""Shows what is in a checkpoint, without running any of it: `python scripts/inspect_checkpoint.py FILE [--json]`."""

import argparse
import json
import sys
from pathlib import Path

from mario_a3c.cli.scripts import run_script


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="a checkpoint")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--dry-run", action="store_true", help="only check it")
    arguments = parser.parse_args()

    from mario_a3c.checkpoint.inspection import describe_checkpoint

    description = describe_checkpoint(arguments.path)
    if arguments.dry_run:
        print(f"{arguments.path} is whole")
        return 0
    print(json.dumps(description.as_json(), indent=2) if arguments.json else description)
    return 0


if __name__ == "__main__":
    sys.exit(run_script("inspect", main))
