import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mario_a3c.config import TrainingConfig
from mario_a3c.config.json_file import from_json, read_config, to_json, write_config
from mario_a3c.config.presets import preset_config
from mario_a3c.errors import ConfigError
from mario_a3c.options import option, section


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """A network."""

    memory: Literal["none", "gru"] = option("none", "kind of memory")
    widths: tuple[int, ...] = option((16, 32), "channels")
    is_noisy: bool = option(False, "noise")


@dataclass(frozen=True, kw_only=True, slots=True)
class ToyConfig:
    """One of each type that options have."""

    num_envs: int = option(8, "environments")
    lr: float = option(1e-3, "learning rate")
    name: str | None = option(None, "name")
    folder: Path = option(Path("out"), "folder")
    model: ModelConfig = section(ModelConfig)

    def __post_init__(self) -> None:
        if self.num_envs < 1:
            raise ConfigError(f"--num-envs must be at least 1, got {self.num_envs}")


models = st.builds(
    ModelConfig,
    memory=st.sampled_from(["none", "gru"]),
    widths=st.lists(st.integers(1, 512), max_size=4).map(tuple),
    is_noisy=st.booleans(),
)
toys = st.builds(
    ToyConfig,
    num_envs=st.integers(1, 2**40),
    lr=st.floats(allow_nan=False, allow_infinity=False),
    name=st.none() | st.text(),
    folder=st.text(alphabet="abc/.", min_size=1).map(Path),
    model=models,
)


@given(toys)
def test_a_config_survives_the_round_trip(config: ToyConfig) -> None:
    assert from_json(ToyConfig, to_json(config)) == config


def test_options_left_out_keep_their_defaults() -> None:
    config = from_json(ToyConfig, '{"model": {"memory": "gru"}}')
    assert config == ToyConfig(model=ModelConfig(memory="gru"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[" * 200_000, "not valid JSON"),
        ('{"num_envs": ' + "9" * 6000 + "}", "not valid JSON"),
        ('{"lr": 1, "lr": 2}', "key given twice: 'lr'"),
        ('{"folder": ""}', "a path must not be empty"),
        ('{"folder": "a\\u0000b"}', "not a path"),
        ('{"folder": "\\ud800"}', "not a path"),
        ('{"folder": "~nosuchuser/x"}', "home directory"),
        ("[]", "Expected `object`, got `array`"),
        ('{"num_env": 4}', "unknown key 'num_env', perhaps 'num_envs' is meant"),
        ('{"model": {"wdths": [1]}}', "unknown key 'model.wdths', perhaps 'model.widths' is meant"),
        ('{"model": {"zzz": 1}}', "unknown key 'model.zzz', known here: memory, widths, is_noisy"),
        ('{"num_envs": "four"}', "Expected `int`, got `str` - at `num_envs`"),
        ('{"num_envs": 4.5}', "Expected `int`, got `float` - at `num_envs`"),
        ('{"folder": 3}', "Expected a path, got 3 - at `folder`"),
        ('{"model": {"memory": "lstm"}}', "Invalid enum value 'lstm' - at `model.memory`"),
        ('{"model": []}', "at `model`"),
        ('{"num_envs": 0}', "--num-envs must be at least 1, got 0"),
    ],
)
def test_a_wrong_file_is_refused_by_the_name_of_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_json(ToyConfig, text)
    assert message in str(caught.value)


def test_the_file_is_named_when_it_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(ConfigError, match=r"--config .*run\.json cannot be read"):
        read_config(ToyConfig, path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"--config .*run\.json cannot be read"):
        read_config(ToyConfig, path)
    path.write_text(" " * 2_000_000)
    with pytest.raises(ConfigError, match="too many for a config"):
        read_config(ToyConfig, path)
    path.write_text('{"a": 1}')
    with pytest.raises(ConfigError, match=r"--config .*run\.json: unknown key 'a'.*--config-out"):
        read_config(ToyConfig, path)


def test_the_training_config_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "configs" / "run.json"
    write_config(TrainingConfig(), path)
    assert read_config(TrainingConfig, path) == TrainingConfig()
    assert set(json.loads(path.read_text())) == {field.name for field in dataclasses.fields(TrainingConfig)}


def test_options_left_out_are_those_of_the_base() -> None:
    base = preset_config("gpu")
    config = from_json(TrainingConfig, '{"learner": {"epochs": 7}}', base)
    assert config == dataclasses.replace(base, learner=dataclasses.replace(base.learner, epochs=7))
    with pytest.raises(ConfigError, match=r"unknown key 'learner\.epoch'"):
        from_json(TrainingConfig, '{"learner": {"epoch": 7}}', base)
