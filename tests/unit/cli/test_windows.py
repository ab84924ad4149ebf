"""Commands that show something say at once where nothing can be shown."""

import sys
from collections.abc import Callable, Sequence

import pytest

from mario_a3c.cli import eval as eval_command
from mario_a3c.cli import watch
from mario_a3c.errors import SetupError


@pytest.mark.parametrize(
    ("main", "flags"),
    [(eval_command.main, ["--checkpoint", "not-there", "--render"]), (watch.main, ["not-there"])],
    ids=["eval", "watch"],
)
def test_without_pygame_nothing_is_played(
    main: Callable[[Sequence[str]], int], flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(SetupError, match=r"mario-a3c\[window\]"):
        main(flags)
