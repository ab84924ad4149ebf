"""Fixtures that several rooms share."""

import importlib.util
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.errors import RomError
from mario_a3c.native.config import RomConfig
from mario_a3c.native.rom import locate_rom
from tests.support.signals import signals_heard
from tests.support.torch_threads import one_torch_thread

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where pytest-timeout is missing, as on machines that only run the tests marked `gpu`, nothing is timed out."""
    if importlib.util.find_spec("pytest_timeout") is None:
        parser.addoption("--timeout")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests measured: the table that documents quote."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    rows = [value for report in reports for name, value in report.user_properties if name == "measured"]
    if rows:
        terminalreporter.section("measured")
    for what, number, bound in rows:
        terminalreporter.write_line(f"{what:<72} {number:8.1e}   bound {bound:.0e}")


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Callable[[str, float, float], None]:
    """`measured(what, number, bound)`: the number is below the bound, and both are printed after the last test."""

    def check(what: str, number: float, bound: float) -> None:
        record_property("measured", (what, float(number), bound))
        assert number < bound, what

    return check


@pytest.fixture
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def game_rom() -> Path:
    """The game itself, from the user's cache, where it is fetched into the first time. For slow tests alone."""
    try:
        return locate_rom(RomConfig(), CacheDir.open(CacheConfig())).path
    except RomError as error:
        pytest.skip(str(error))


@pytest.fixture
def cache(tmp_path: Path) -> CacheDir:
    return CacheDir.open(CacheConfig(cache_dir=tmp_path / "cache"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """For a single test of tiny networks, which several threads only slow down."""
    with one_torch_thread():
        yield


@pytest.fixture
def heard_signals() -> Iterator[None]:
    """For a test that sends Ctrl-C and the like to itself, or to a process that it starts."""
    with signals_heard():
        yield


@pytest.fixture(autouse=True)
def _no_user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the cache of the person who runs it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


@pytest.fixture(autouse=True)
def _log_as_it_was() -> Iterator[None]:
    """A command that a test runs sets up the log; the next test finds it as it was."""
    logger = logging.getLogger("mario")
    level, handlers = logger.level, list(logger.handlers)
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers
