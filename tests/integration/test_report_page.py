"""The report of an agent on the real game, in a real browser: nothing fails, plots are drawn, the video plays."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.cli.main import main
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.actions import SIMPLE
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.errors import ExitCode
from mario_a3c.models.config import ModelConfig
from tests.support.arenas import write_agent

pytestmark = pytest.mark.slow

CHROMIUM = Path("/usr/bin/chromium")
_QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync")  # fmt: skip


@pytest.fixture(scope="module")
def report(game_rom: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    env = MarioEnvConfig(action_set="custom", actions=SIMPLE, max_episode_steps=60)
    config = TrainingConfig(
        vector_env=MarioVectorEnvConfig(env=env), model=ModelConfig(backbone="nature", hidden_size=32)
    )
    agent = write_agent(folder / "agent.pt", config)
    words = ["report", agent, "--stages", "1-1,1-2", "--episodes", "3", "--out", folder / "out", "--rom", game_rom]
    words += ["--cache-dir", folder / "cache", "--engine", "interpreter", "--device", "cpu"]
    assert main([str(word) for word in words]) == ExitCode.DONE
    return folder / "out"


@pytest.fixture
def page(report: Path) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser's tests need playwright")
    if not CHROMIUM.exists() and "CI" not in os.environ:
        pytest.skip(f"there is no {CHROMIUM}")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=str(CHROMIUM), args=list(_QUIET))
        page = browser.new_page(viewport={"width": 1250, "height": 900})
        page.failures = []
        page.on("pageerror", lambda error: page.failures.append(str(error)))
        page.on("console", lambda message: page.failures.append(message.text) if message.type == "error" else None)
        page.on("requestfailed", lambda request: page.failures.append(request.url))
        page.goto((report / "report.html").as_uri())
        page.wait_for_load_state("networkidle")
        yield page
        browser.close()


def test_the_page_opens_without_errors_and_shows_every_plot_and_picture(page: Any) -> None:
    assert page.failures == []
    assert page.title() == "Stage report"
    assert page.evaluate("document.querySelectorAll('svg rect.cell').length") == 4 * 32
    boxes = page.evaluate("[...document.querySelectorAll('svg')].map(each => each.getBoundingClientRect().width)")
    assert len(boxes) == 4 + 2
    assert min(boxes) > 200
    widths = page.evaluate("[...document.images].map(image => image.complete ? image.naturalWidth : 0)")
    assert len(widths) == 2
    assert min(widths) > 3000  # whole levels


def test_the_videos_play(page: Any) -> None:
    played = page.evaluate(
        """async () => {
            const video = document.querySelector('video');
            await video.play();
            await new Promise(done => { video.ontimeupdate = () => video.currentTime > 0.2 && done(); });
            const count = document.querySelectorAll('video').length;
            return [video.videoWidth, video.videoHeight, video.error === null, count];
        }"""
    )
    assert played == [712, 480, True, 2]
