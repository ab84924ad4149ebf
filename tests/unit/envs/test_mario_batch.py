"""The environments of the home-made game as arrays: observations, states, and what cannot be done."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.envs.actions import parse_action
from mario_a3c.envs.config import AugmentationConfig
from mario_a3c.envs.env_batch import EnvBatch, Pixels
from mario_a3c.errors import ConfigError, SaveStateError
from mario_a3c.native.game_record import GAME_DTYPE, read_game
from mario_a3c.native.start_states import Stage
from tests.support import tiny_game
from tests.support.tiny_batches import (
    ACTIONS,
    DIE,
    LEFT,
    NOOP,
    PIPE,
    RIGHT,
    SCORE,
    MakeBatch,
    play,
    random_actions,
)

ARRAYS = ("observations", "rewards", "terminated", "truncated", "games", "episodes")


def is_batch(batch: EnvBatch) -> bool:  # the argument's type is checked by mypy
    return batch.num_envs > 0


def test_the_first_observation_is_the_start_in_every_frame(make_batch: MakeBatch) -> None:
    batch = make_batch(frame_stack=4)
    assert is_batch(batch)
    assert batch.observations.shape == (2, 4, 84, 84)
    assert (batch.observations == batch.observations[:, :1]).all()
    assert batch.games["has_control"].all()
    assert batch.games["x"].tolist() == [tiny_game.START_X] * 2


def test_frames_are_stacked_oldest_first(make_batch: MakeBatch) -> None:
    stacked, single = make_batch(frame_stack=3), make_batch(frame_stack=1)
    frames = [single.observations.copy()]
    for action in (RIGHT, RIGHT, LEFT, RIGHT, SCORE, RIGHT):
        play(stacked, action)
        play(single, action)
        frames.append(single.observations.copy())
        expected = np.concatenate([frames[0]] * 3 + frames, axis=1)[:, -3:] if len(frames) < 3 else None
        if expected is None:
            expected = np.concatenate(frames[-3:], axis=1)
        assert (stacked.observations == expected).all()
    assert len({frame.tobytes() for frame in frames}) > 3, "the picture shows where one stands"


CHANGED: dict[str, Any] = {
    "augmentation": AugmentationConfig(augment_shift=3, augment_brightness=20, augment_noise=5),
    "show_buttons": True,
}


@pytest.mark.parametrize("shown", [CHANGED, {"observe": "both", **CHANGED}, {"observe": "ram"}], ids=str)
def test_single_frames_are_the_newest_of_stacked_ones_whatever_happens(
    make_batch: MakeBatch, shown: dict[str, Any]
) -> None:
    """They are drawn straight into the caller's array, and again when they are asked for a second time."""
    options: dict[str, Any] = {"noop_max": 9, "max_episode_steps": 25, **shown}
    single, stacked = make_batch(num_envs=3, frame_stack=1, **options), make_batch(num_envs=3, frame_stack=3, **options)
    mask = np.array([False, True, False])
    for step, actions in enumerate(random_actions(single, 80)):
        row = np.zeros((3, *single.observations.shape[2:]), np.uint8)
        single.step(actions, row)
        stacked.step(actions)
        assert (row == stacked.observations[:, -1]).all(), step
        ended = single.terminated | single.truncated
        assert (single.final_observations[ended, 0] == stacked.final_observations[ended, -1]).all(), step
        if step % 20 == 10:
            single.reset(mask=mask)
            stacked.reset(mask=mask)
            assert (single.observations[:, 0] == stacked.observations[:, -1]).all(), step
        if step % 20 == 15:
            single.restore(single.state())
            assert (single.observations[:, 0] == stacked.observations[:, -1]).all(), step


def game_in(memory: npt.NDArray[np.uint8]) -> Any:
    return np.frombuffer(bytes(read_game(memory[:2048])), GAME_DTYPE)[0]


@pytest.mark.parametrize("observe", ["both", "ram"])
def test_the_memory_is_shown_beneath_the_picture_or_alone(make_batch: MakeBatch, observe: str) -> None:
    batch, plain = (make_batch(num_envs=2, frame_stack=2, observe=each) for each in (observe, "picture"))
    games = []
    for actions in random_actions(batch, 30):
        games.append(batch.games.copy())
        batch.step(actions)
        plain.step(actions)
        picture, memory = np.split(batch.observations, [84 if observe == "both" else 0], axis=2)
        memory = memory.reshape(2, 2, -1)
        for env, beginning in enumerate(batch.episodes["num_steps"] == 0):
            assert game_in(memory[env, -1]) == batch.games[env]
            before = batch.games if beginning else games[-1]
            assert game_in(memory[env, 0]) == before[env]
        assert not memory[..., 2048:].any()
        assert observe == "ram" or (picture == plain.observations).all()
    assert len({game.tobytes() for game in games}) > 10, "something happens"


def held_in(frame: Pixels) -> int:
    """The buttons that a frame shows."""
    squares = frame[:8, :64].reshape(8, 8, 8).swapaxes(0, 1).reshape(8, 64)
    assert ((squares == 0) | (squares == 255)).all()
    assert (squares == squares[:, :1]).all(), "squares of one colour"
    return int(sum(1 << bit for bit, square in enumerate(squares) if square[0]))


def test_pictures_show_which_buttons_are_held(make_batch: MakeBatch) -> None:
    buttons = [parse_action(name) for name in ACTIONS]
    batch = make_batch(num_envs=1, frame_stack=4, show_buttons=True)
    plain = make_batch(num_envs=1, frame_stack=4)
    shown = batch.observations[0]
    assert [held_in(frame) for frame in shown] == [0] * 4, "nothing at first"
    for action in (RIGHT, LEFT, SCORE):
        play(batch, action)
        play(plain, action)
    assert [held_in(frame) for frame in shown] == [0, *(buttons[action] for action in (RIGHT, LEFT, SCORE))]
    assert (shown[:, 8:] == plain.observations[0][:, 8:]).all()
    assert (shown[:, :, 64:] == plain.observations[0][:, :, 64:]).all(), "the rest is the game's"
    play(batch, DIE)
    assert held_in(batch.final_observations[0, -1]) == buttons[DIE]
    assert [held_in(frame) for frame in shown] == [0] * 4, "and at the start of the next"


def test_what_is_shown_was_held_whatever_was_chosen(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=1, frame_stack=1, show_buttons=True, sticky=0.5, stall_steps=0)
    buttons = [parse_action(name) for name in ACTIONS]
    rng = np.random.default_rng(0)
    held, num_stuck = 0, 0
    for _ in range(60):
        action = int(rng.choice([NOOP, RIGHT, LEFT, SCORE]))
        play(batch, action)
        held = held if batch.stuck[0] else buttons[action]
        num_stuck += bool(batch.stuck[0])
        assert batch.terminated[0] or held_in(batch.observations[0, 0]) == held
    assert 10 < num_stuck < 50


def test_while_the_game_runs_on_alone_nothing_is_held(make_batch: MakeBatch) -> None:
    batch = make_batch(num_envs=1, frame_stack=1, show_buttons=True)
    play(batch, PIPE)
    assert batch.episodes["num_frames"][0] > 4, "the agent has no control inside"
    assert held_in(batch.observations[0, 0]) == 0
    play(batch, PIPE)
    own = make_batch(num_envs=1, frame_stack=1, show_buttons=True, skip_idle=False)
    play(own, PIPE)
    assert held_in(own.observations[0, 0]) == parse_action(ACTIONS[PIPE])


def test_observations_go_where_they_are_wanted(make_batch: MakeBatch) -> None:
    batch, same = make_batch(frame_stack=1), make_batch(frame_stack=1)
    rollout = np.zeros((5, 2, 84, 84), np.uint8)
    for row in rollout:
        batch.step(np.array([RIGHT, LEFT]), row)
        same.step(np.array([RIGHT, LEFT]))
        assert (row == same.observations[:, 0]).all()


def test_a_state_continues_in_the_middle_of_an_episode(make_batch: MakeBatch) -> None:
    options: dict[str, Any] = {"noop_max": 30, "sticky": 0.25, "random_stage": True}
    one, other = make_batch(num_envs=3, seed=1, **options), make_batch(num_envs=3, seed=2, **options)
    for actions in random_actions(one, 20):
        one.step(actions)
    other.restore(one.state())
    for step, actions in enumerate(random_actions(one, 100, seed=1)):
        assert (one.observations == other.observations).all(), step
        one.step(actions)
        other.step(actions)
        for name in ARRAYS:
            assert (getattr(one, name) == getattr(other, name)).all(), (step, name)


def test_states_that_do_not_fit_leave_everything_as_it_was(make_batch: MakeBatch) -> None:
    batch, other = make_batch(), make_batch(frame_stack=4)
    play(batch, RIGHT)
    before = batch.get_state(0)
    for wrong in (other.get_state(0), before[:-1], b"", before[:100] + b"x" + before[101:]):
        with pytest.raises(SaveStateError):
            batch.set_state(0, wrong)
        assert batch.get_state(0) == before
    with pytest.raises(ConfigError, match="--num-envs"):
        make_batch(num_envs=3).restore(batch.state())


def test_what_cannot_be_done_is_said(make_batch: MakeBatch) -> None:
    batch = make_batch()
    for wrong in (np.zeros(3, np.int64), np.zeros(2), np.zeros((2, 1), np.int64), [0.5, 0.5]):
        with pytest.raises(ValueError, match="actions must be 2 integers"):
            batch.step(np.asarray(wrong))
    before = batch.get_state(0)
    for far in (batch.num_actions, -1, 2**40):
        with pytest.raises(ValueError, match=f"action {far} of environment 1"):
            batch.step(np.array([0, far]))
    assert batch.get_state(0) == before
    with pytest.raises(ValueError, match="writable, contiguous uint8"):
        batch.step(np.zeros(2, np.int64), np.zeros((2, 1, 84, 84), np.uint8))
    with pytest.raises(ValueError, match="mask must be 2 bools"):
        batch.reset(mask=np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="seed must be"):
        batch.reset(seed=[1, 2, 3])
    with pytest.raises(ConfigError, match="has no stage 9-1"):
        batch.reset(stage=Stage(9, 1))
    with pytest.raises(ValueError, match="not at both"):
        batch.reset(stage=Stage(1, 1), state=b"")
    with pytest.raises(ValueError, match="above 0"):
        batch.set_weights([0.0])
    with pytest.raises(ValueError, match="each start has a weight"):
        batch.set_weights([1.0, 1.0])
    with pytest.raises(ConfigError, match="--stage-span 3 from 8-3 leads beyond 8-4"):
        make_batch(world=8, stage=3, stage_span=3)
    batch.close()
    for call in (lambda: play(batch, NOOP), batch.reset, batch.state, batch.render):
        with pytest.raises(RuntimeError, match="closed"):
            call()
