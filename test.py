"""Evaluates a checkpoint: the same program as `mario eval`. The test suite is `./mario test`."""

import sys

from mario_a3c.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["eval", *sys.argv[1:]]))
