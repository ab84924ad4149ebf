"""The demo on the real game: stages, captions, and a video that plays."""

import json
from pathlib import Path

import pytest

from mario_a3c.cli.main import main
from mario_a3c.config import TrainingConfig
from mario_a3c.envs.actions import SIMPLE
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.errors import ExitCode
from mario_a3c.models.config import ModelConfig
from tests.support.arenas import write_agent

pytestmark = pytest.mark.slow


def test_six_stages_become_one_video(game_rom: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    av = pytest.importorskip("av")
    env = MarioEnvConfig(action_set="custom", actions=SIMPLE, max_episode_steps=60)
    model = ModelConfig(backbone="nature", hidden_size=32)
    write_agent(tmp_path / "all.pt", TrainingConfig(vector_env=MarioVectorEnvConfig(env=env), model=model))
    stages = ["1-1", "1-2", "2-2", "4-4", "7-4", "8-4"]
    manifest = {"format": "mario-a3c agents 1", "agents": [{"file": "all.pt", "stages": stages}]}
    (tmp_path / "agents.json").write_text(json.dumps(manifest))
    video = tmp_path / "demo.mp4"
    words = ["demo", "--agents", tmp_path, "--output", video, "--tries", "1", "--rom", game_rom, "--device", "cpu"]
    words += ["--cache-dir", tmp_path / "cache", "--engine", "interpreter"]
    assert main([str(word) for word in words]) == ExitCode.DONE
    told = capsys.readouterr().out
    assert [line.split()[0] for line in told.splitlines()[:6]] == stages
    with av.open(str(video)) as container:
        first, *_ = pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert first.shape == (528, 512, 3)
    assert len(pictures) > 60
    quarters = [first[:240, :256], first[:240, 256:], first[264:504, :256], first[264:504, 256:]]
    assert len({int(quarter.astype("int64").sum()) for quarter in quarters}) == 4  # four different stages at once
