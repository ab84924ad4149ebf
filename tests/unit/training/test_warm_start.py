"""A new run begins with the weights of another, and with nothing else of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mario_a3c.checkpoint.export import export_weights
from mario_a3c.checkpoint.store import load_checkpoint
from mario_a3c.cli.main import main
from mario_a3c.cli.train import parse_args
from mario_a3c.collectors.config import CollectorConfig
from mario_a3c.config import TrainingConfig
from mario_a3c.config.run import RunConfig
from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.envs.picture import draw_buttons
from mario_a3c.errors import CheckpointError, ConfigError
from mario_a3c.learning.config import LearnerConfig
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.training.run import TrainingResult, run_training
from mario_a3c.training.warm_start import InitialWeights, misfits
from tests.support.checkpoints import NAMES
from tests.support.runs import ROLLOUT, SHORT, corridor_config, play_the_corridor

pytestmark = pytest.mark.usefixtures("corridor_saved_often")


def first_run(folder: Path) -> Path:
    """The checkpoint of a run of three updates."""
    run_training(corridor_config(folder, collector=SHORT, total_updates=20, max_steps=3 * ROLLOUT))
    return NAMES.numbered(folder / "runs" / "corridor", 3)


def second_config(folder: Path, init_from: Path, **run: Any) -> TrainingConfig:
    """One update with a learning rate of almost nothing: what is left are the weights it began with."""
    config = corridor_config(folder, collector=SHORT, total_updates=20, max_steps=ROLLOUT)
    return replace(
        config,
        run=replace(config.run, run_name="second", init_from=init_from, **run),
        vector_env=replace(config.vector_env, seed=5),
        learner=LearnerConfig(lr=1e-12, weight_decay=0.0),
    )


def weights_of(result: TrainingResult, kind: str = "model") -> dict[str, torch.Tensor]:
    assert result.checkpoint is not None
    learner = load_checkpoint(result.checkpoint).state["learner"]
    return dict(learner["model"] if kind == "model" else learner["averaged"]["weights"])


def is_close(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return all(torch.allclose(each.float(), right[name].float(), atol=1e-5) for name, each in left.items())


def test_weights_are_taken_and_everything_else_begins_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = first_run(tmp_path)
    theirs = load_checkpoint(source).state["learner"]["model"]
    result = run_training(second_config(tmp_path, source))
    assert is_close(weights_of(result), theirs)
    assert is_close(weights_of(result, "averaged"), theirs)  # the average begins with them
    assert result.num_updates == 1
    assert f"begins with the last weights of {source} (update 3)" in caplog.text
    assert result.checkpoint is not None
    for described in (result.run_dir / "run.json", result.checkpoint.with_suffix(".json")):
        origin = json.loads(described.read_text())["initial_weights"]
        assert (origin["file"], origin["weights"], origin["update"], origin["run"]) == (
            str(source), "last", 3, "corridor",
        )  # fmt: skip
        assert len(origin["sha256"]) == 64


def test_a_temperature_divides_the_logits_and_nothing_else(tmp_path: Path) -> None:
    source = first_run(tmp_path)
    theirs = load_checkpoint(source).state["learner"]["model"]
    ours = weights_of(run_training(second_config(tmp_path, source, init_temperature=4.0)))
    softened = {name: each / 4 if name.startswith("actor.") else each for name, each in theirs.items()}
    assert is_close(ours, softened)
    assert not is_close(ours, theirs)
    with pytest.raises(ConfigError, match=r"--init-temperature must be above 0, got 0"):
        RunConfig(init_temperature=0.0)


def test_actors_with_weights_of_their_own_begin_with_them_too(tmp_path: Path) -> None:
    config = second_config(tmp_path, first_run(tmp_path))
    overlapped = replace(config, collector=CollectorConfig(rollout_steps=4, overlap_collect=True))
    result = run_training(replace(overlapped, budget=replace(config.budget, max_steps=3 * ROLLOUT)))
    lines = (result.run_dir / "metrics.jsonl").read_text().splitlines()
    ratios = [json.loads(line)["first_log_rho_max"] for line in lines]
    assert len(ratios) == 3
    assert max(ratios) < 1e-4  # who acted and who learns agree


def test_without_it_the_seed_decides(tmp_path: Path) -> None:
    source = first_run(tmp_path)
    config = second_config(tmp_path, source)
    result = run_training(replace(config, run=replace(config.run, init_from=None)))
    assert not is_close(weights_of(result), load_checkpoint(source).state["learner"]["model"])
    assert "initial_weights" not in json.loads((result.run_dir / "run.json").read_text())


def test_exported_weights_and_a_run_folder_will_do(tmp_path: Path) -> None:
    source = first_run(tmp_path)
    small = export_weights(source, tmp_path / "small.pt")
    half = load_checkpoint(small).state["learner"]["model"]
    assert {each.dtype for each in half.values()} == {torch.float16}
    result = run_training(second_config(tmp_path, small))
    assert is_close(weights_of(result), half)
    assert {each.dtype for each in weights_of(result).values()} == {torch.float32}
    whole = load_checkpoint(source).state["learner"]["model"]
    assert not is_close(half, whole)
    assert is_close(weights_of(run_training(second_config(tmp_path, source.parent, fresh=True))), whole)


def test_averaged_weights_are_taken_where_they_are_asked_for(tmp_path: Path) -> None:
    source = first_run(tmp_path)
    averaged = load_checkpoint(source).state["learner"]["averaged"]["weights"]
    result = run_training(second_config(tmp_path, source, init_weights="averaged"))
    assert is_close(weights_of(result), averaged)
    assert json.loads((result.run_dir / "run.json").read_text())["initial_weights"]["weights"] == "averaged"


def test_a_run_that_goes_on_remembers_where_it_came_from(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = first_run(tmp_path)
    config = second_config(tmp_path, source)
    run_training(config)
    longer = replace(config, budget=replace(config.budget, max_steps=3 * ROLLOUT))
    result = run_training(longer)
    assert result.num_updates == 3
    assert "was taken when it began, and is not taken again" in caplog.text
    assert json.loads((result.run_dir / "run.json").read_text())["initial_weights"]["update"] == 3
    without = replace(longer, run=replace(longer.run, init_from=None))
    with pytest.raises(ConfigError, match=rf"which began with {source}, not with those; go on with --resume latest"):
        run_training(without)
    longest = replace(without, budget=replace(config.budget, max_steps=4 * ROLLOUT))
    result = run_training(replace(longest, run=replace(longest.run, resume="latest")))
    assert (result.num_updates, "initial_weights" in json.loads((result.run_dir / "run.json").read_text())) == (4, True)


def test_resuming_takes_no_other_weights(tmp_path: Path) -> None:
    source = first_run(tmp_path)
    with pytest.raises(ConfigError, match=r"--resume continues .* --init-from begins"):
        RunConfig(resume="latest", init_from=source)
    second = run_training(second_config(tmp_path, source))
    assert parse_args(["--resume", str(second.run_dir)]).training.run.init_from is None


def test_what_does_not_fit_is_named_with_the_flags_that_make_it_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = first_run(tmp_path)
    flags = ["--init-from", str(source), "--save-dir", str(tmp_path / "runs"), "--run-name", "third", "--device", "cpu"]
    others = ["--backbone", "impala", "--action-set", "complex", "--recurrent-type", "lstm", "--layer-norm"]
    others += ["--preset", "gpu"]  # the network of the first run, but for these
    assert main(["train", *flags, *others]) == 4
    said = capsys.readouterr().err
    assert "--backbone nature there, impala here" in said
    assert "--action-set simple there, complex here" in said
    assert "--frame-stack 2 there, 4 here" in said
    remedy = "--backbone nature --no-layer-norm --recurrent-type none --action-set simple --frame-stack 2"
    assert f"Train with {remedy}, or begin without --init-from" in said.replace("--impala-channels 16 32 32 ", "")


def test_only_options_that_the_weights_depend_on_have_to_fit() -> None:
    theirs = replace(TrainingConfig(), model=ModelConfig(backbone="nature", memory_length=3, impala_channels=(1,)))
    env = MarioEnvConfig(sticky=0.25, stages="all", frame_skip=2)
    assert list(misfits(theirs, ModelConfig(backbone="nature", parameter_noise=0.1), env)) == []
    custom = MarioEnvConfig(action_set="custom", actions=("noop", "right"))
    (difference,) = misfits(theirs, ModelConfig(backbone="nature"), custom)
    assert difference.remedy == "--action-set simple"


def test_weights_fit_a_network_with_more_blocks_and_none_with_fewer() -> None:
    small, large = (ModelConfig(backbone="nature", nature_blocks=(0, count, 1)) for count in (0, 1))
    env = MarioEnvConfig()
    assert list(misfits(replace(TrainingConfig(), model=small), large, env)) == []
    (difference,) = misfits(replace(TrainingConfig(), model=large), small, env)
    assert difference.remedy == "--nature-blocks 0 1 1"

    before, after = MarioActorCritic(small, num_actions=3), MarioActorCritic(large, num_actions=3)
    theirs = {name: each.detach() for name, each in before.named_parameters()}
    InitialWeights(theirs, {"file": "small.pt"}).put_into(after)
    observations = torch.randint(256, (5, *before.observation_shape), dtype=torch.uint8)
    starts = torch.ones(5, dtype=torch.bool)
    first, second = (net.step(observations, starts, net.initial_state(5)) for net in (before, after))
    assert torch.equal(first.logits, second.logits)

    del theirs["backbone.convolutions.8.conv1.weight"]
    with torch.no_grad():  # a block that is something has to come from somewhere
        dict(after.named_parameters())["backbone.convolutions.8.conv2.weight"].add_(1.0)
    with pytest.raises(CheckpointError, match=r"does not fit this run: 1 tensors differ, .*convolutions\.8\.conv1"):
        InitialWeights(theirs, {"file": "small.pt"}).put_into(after)


def test_a_network_that_never_saw_buttons_does_not_take_them_for_something_else() -> None:
    model = MarioActorCritic(ModelConfig(backbone="nature", hidden_size=32), 4)
    theirs = {name: each.detach().clone() for name, each in model.named_parameters()}
    pictures = torch.randint(0, 256, (3, 4, 84, 84), dtype=torch.uint8)
    with_squares = pictures.clone()
    for frame in with_squares.flatten(0, 1).numpy():
        draw_buttons(frame, 0b10000001)
    assert not torch.equal(model(pictures).features, model(with_squares).features)
    InitialWeights(theirs, {"file": "old.pt"}, forgets_uppermost=True).put_into(model)
    output = model(pictures)
    assert torch.equal(output.features, model(with_squares).features)
    pictures[:, :, 40:] = 0
    assert not torch.equal(output.features, model(pictures).features), "the rest it sees as before"
    output.value.sum().backward()
    gradient = model.backbone.fc.weight.grad
    assert gradient is not None
    assert gradient.view(-1, 64, 7, 7)[:, :, 0].any(), "and it can learn"


def test_a_network_of_other_shapes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = first_run(tmp_path)
    play_the_corridor(monkeypatch, recurrent_type="lstm")
    with pytest.raises(CheckpointError, match=r"network of .*0000003\.pt does not fit this run"):
        run_training(second_config(tmp_path, source))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    first_run(tmp_path)
    with pytest.raises(CheckpointError, match=r"no checkpoint .*nothing\.pt; runs in .*: corridor"):
        run_training(second_config(tmp_path, tmp_path / "nothing.pt"))
