import logging

import pytest

from mario_a3c.cli.console_log import PrefixFormatter


@pytest.mark.parametrize(
    ("level", "line"),
    [(logging.INFO, "[rom] x"), (logging.WARNING, "[rom][warn] x"), (logging.ERROR, "[rom][error] x")],
)
def test_a_line_begins_with_its_part_of_the_program(level: int, line: str) -> None:
    record = logging.LogRecord("mario.rom", level, "", 0, "%s", ("x",), None)
    assert PrefixFormatter().format(record) == line


def test_a_prefix_that_is_there_already_is_not_repeated() -> None:
    record = logging.LogRecord("mario.env", logging.INFO, "", 0, "[env] constructing env %d/%d ...", (1, 2), None)
    assert PrefixFormatter().format(record) == "[env] constructing env 1/2 ..."
