"""Writes the pages of docs/ that are made from the code. `--dry-run` only says which would change."""

import argparse
import sys
from pathlib import Path

from mario_a3c.cli.main import COMMANDS
from mario_a3c.cli.scripts import run_script
from mario_a3c.config.reference import configuration_page
from mario_a3c.metrics.schema_page import schema_page

DOCS = Path(__file__).resolve().parents[1] / "docs"


def generated_pages() -> dict[Path, str]:
    return {
        DOCS / "configuration.md": configuration_page([(each.name, each.module.Arguments) for each in COMMANDS]),
        DOCS / "metrics_schema.md": schema_page(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="write nothing; exit with 1 if a page would change")
    arguments = parser.parse_args()
    stale = [page for page, text in generated_pages().items() if not page.exists() or page.read_text() != text]
    for page in stale:
        print(f"{'would write' if arguments.dry_run else 'wrote'} {page.relative_to(DOCS.parent)}")
        if not arguments.dry_run:
            page.write_text(generated_pages()[page])
    return 1 if stale and arguments.dry_run else 0


if __name__ == "__main__":
    sys.exit(run_script("generate_docs", main))
