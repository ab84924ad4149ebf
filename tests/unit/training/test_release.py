"""Published agents: which file plays which stage, who is chosen, and what is said of each."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mario_a3c.config.as_flags import as_flags
from mario_a3c.config.presets import preset_config
from mario_a3c.config.training import TrainingConfig
from mario_a3c.errors import CheckpointError
from mario_a3c.evaluation.config import MODES
from mario_a3c.native.start_states import Stage
from mario_a3c.training import release as release_module
from mario_a3c.training.release import (
    MANIFEST,
    choose_agents,
    describe_release,
    find_release,
    kind_of,
    read_release,
    training_command,
)
from tests.support.arenas import tiny_agent_config, write_agent


def write_manifest(folder: Path, agents: Any, **more: Any) -> None:
    plain = {"format": "mario-a3c agents 1", "agents": agents, **more}
    (folder / MANIFEST).write_text(json.dumps(plain))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_agent(tmp_path / "all.pt", tiny_agent_config(stages="all"))
    write_agent(tmp_path / "4-4.pt", tiny_agent_config(world=4, stage=4))
    return tmp_path


def test_a_manifest_says_which_file_plays_which_stage(folder: Path) -> None:
    write_manifest(folder, [{"file": "all.pt", "stages": ["1-2", "1-1"]}, {"file": "4-4.pt", "stages": ["4-4"]}])
    release = find_release(folder)
    assert release.stages == [Stage(1, 1), Stage(1, 2), Stage(4, 4)]
    assert release.agents[1].path == folder / "4-4.pt"
    release.save()
    assert read_release(folder) == release


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ([{"file": "none.pt", "stages": ["1-1"]}], "no file 'none.pt'"),
        ([{"file": "../all.pt", "stages": ["1-1"]}], "no file"),
        ([{"file": "all.pt", "stages": ["9-9"]}], "9-9"),
        ([{"file": "all.pt", "stages": ["1-1"]}, {"file": "4-4.pt", "stages": ["1-1"]}], "two agents for 1-1"),
        ([], "names no agent"),
        ([{"file": "all.pt"}], "stages"),
        (3, "int"),
    ],
)
def test_a_manifest_that_does_not_fit_its_folder_is_refused(folder: Path, agents: Any, message: str) -> None:
    write_manifest(folder, agents)
    with pytest.raises(CheckpointError, match=message):
        read_release(folder)


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckpointError, match=r"agents\.json is missing"):
        find_release(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(release_module, "_REPOSITORY", tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match=r"no published agents in pretrained"):
        find_release()
    (tmp_path / MANIFEST).write_text('{"format": "something else"}')
    with pytest.raises(CheckpointError, match="its format is"):
        read_release(tmp_path)


def contender(file: str, kind: str, rates: dict[str, tuple[float, float, float]], **more: Any) -> dict[str, Any]:
    """Clear rates of the sampled, noop and sticky episodes of each stage."""
    summaries = [
        {"stage": stage, "mode": mode, "clear_rate": rate, "mean_progress": 1000.0}
        for stage, three in rates.items()
        for mode, rate in zip(MODES, (1.0, *three), strict=True)
    ]
    cleared = {stage: min(three) >= 0.95 for stage, three in rates.items()}
    return {"file": file, "kind": kind, "is_baseline": False, "summaries": summaries, "cleared": cleared, **more}


def test_the_best_by_the_worst_mode_plays_and_a_generalist_that_clears_goes_first(folder: Path) -> None:
    report = {
        "seed": 7,
        "contenders": [
            contender("all.pt", "generalist", {"1-1": (0.95, 0.95, 0.95), "4-4": (1.0, 1.0, 0.1), "8-4": (0, 0, 0)}),
            contender("4-4.pt", "specialist", {"1-1": (1.0, 1.0, 1.0), "4-4": (0.5, 0.5, 0.5), "8-4": (0, 0, 0)}),
            contender("elsewhere.pt", "specialist", {"8-4": (1.0, 1.0, 1.0)}),
            contender("", "", {"8-4": (1.0, 1.0, 1.0)}, is_baseline=True),
        ],
    }
    release = choose_agents(folder, [report])
    assert {each.path.name: list(map(str, each.stages)) for each in release.agents} == {
        "all.pt": ["1-1", "8-4"],
        "4-4.pt": ["4-4"],
    }
    assert release.chosen_with_seed == 7
    with pytest.raises(CheckpointError, match="not about agents in"):
        choose_agents(folder, [{"seed": 0, "contenders": report["contenders"][2:]}])  # type: ignore[index]


def test_a_kind_is_what_it_was_trained_on() -> None:
    assert kind_of(tiny_agent_config(stages="all")) == kind_of(tiny_agent_config(stage_span=2)) == "generalist"
    assert kind_of(tiny_agent_config(world=4)) == kind_of(tiny_agent_config(stages="4-4")) == "specialist"


def test_the_page_tells_how_each_agent_was_made(folder: Path) -> None:
    write_manifest(folder, [{"file": "all.pt", "stages": ["1-1", "1-2"]}, {"file": "4-4.pt", "stages": ["4-4"]}])
    page = describe_release(read_release(folder))
    assert "| `all.pt` | generalist | 1-1, 1-2 | nature, gru | custom | 99 |" in page
    assert "mario train --world 4 --stage 4 --action-set custom --actions noop right" in page
    assert "# 4-4.pt, commit None\n" in page


def test_the_page_tells_what_no_flag_says(folder: Path) -> None:
    write_agent(folder / "4-4.pt", tiny_agent_config(world=4, stage=4), metadata={"note": "by hand"})
    write_manifest(folder, [{"file": "4-4.pt", "stages": ["4-4"]}])
    assert "# 4-4.pt, commit None, by hand\nmario train" in describe_release(read_release(folder))


def test_flags_lead_from_a_preset_to_a_config() -> None:
    from mario_a3c.cli.train import parse_args

    base = preset_config("gpu")
    env = replace(base.vector_env.env, stages="all", sticky=0.25, skip_idle=False)
    config = replace(
        base,
        vector_env=replace(base.vector_env, env=env),
        model=replace(base.model, backbone="impala", impala_channels=(8, 16)),
        run=replace(base.run, run_name="secret"),
    )
    flags = as_flags(config, base, without=("run",))
    assert flags == [
        "--stages", "all", "--no-skip-idle", "--sticky", "0.25", "--backbone", "impala", "--impala-channels", "8", "16",
    ]  # fmt: skip
    again = parse_args(["--preset", "gpu", *flags, "--device", "cpu"]).training
    assert (again.vector_env, again.model) == (config.vector_env, config.model)
    assert as_flags(TrainingConfig(), TrainingConfig()) == []
    assert training_command({"initial_weights": {"file": "a.pt"}}, config).endswith("--init-from a.pt")
    softened = {"initial_weights": {"file": "a.pt", "temperature": 3.0}}
    assert training_command(softened, config).endswith("--init-from a.pt --init-temperature 3.0")
