"""`python -m mario_a3c` is the `mario` command."""

import sys

from mario_a3c.cli.main import main

sys.exit(main(sys.argv[1:]))
