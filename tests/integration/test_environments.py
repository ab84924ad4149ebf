"""Environments on the real game: all 32 stages begin and end as they should, and no pipe, vine or maze misleads."""

import functools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mario_a3c.bench.run_through import run_through
from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import AugmentationConfig, MarioEnvConfig, MarioVectorEnvConfig, RewardConfig
from mario_a3c.envs.env_batch import EndReason
from mario_a3c.envs.gym_env import MarioEnv
from mario_a3c.envs.mario_batch import MarioBatch, stage_of_level
from mario_a3c.native import Console, Stage
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import start_states
from tests.support.places import areas_of, scrolled_states, stand, state_before_end

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ALL_STAGES = [Stage(world, number) for world in range(1, 9) for number in range(1, 5)]
COMPLEX_NOOP, COMPLEX_RIGHT, COMPLEX_RUN, COMPLEX_DOWN, COMPLEX_UP = 0, 1, 3, 10, 11
ARRAYS = ("observations", "rewards", "terminated", "truncated", "games", "episodes", "final_episodes", "final_games")
MakeBatch = Callable[..., MarioBatch]


@pytest.fixture(scope="module")
def make_batch(game_rom: Path, session_cache: CacheDir, engine_path: Path) -> MakeBatch:
    def make(num_envs: int = 1, *, num_threads: int = 1, engine: Any = "recompiled", **options: Any) -> MarioBatch:
        return MarioBatch(
            MarioVectorEnvConfig(num_envs=num_envs, num_threads=num_threads, env=MarioEnvConfig(**options)),
            rom=RomConfig(rom=game_rom),
            engine=EngineConfig(engine=engine),
            cache=session_cache,
        )

    return make


@pytest.fixture(scope="module")
def console(game_rom: Path, session_cache: CacheDir, engine_path: Path) -> Console:
    return Console(game_rom, engine="recompiled", cache=session_cache)


@pytest.fixture(scope="module")
def stage_states(game_rom: Path, session_cache: CacheDir) -> dict[Stage, bytes]:
    return start_states(open_rom(game_rom), session_cache)


def test_every_stage_begins_as_itself_under_the_player_s_control(make_batch: MakeBatch) -> None:
    batch = make_batch(32, stage_span=32)
    assert [stage_of_level(level) for level in batch.episodes["level"]] == ALL_STAGES
    assert batch.games["has_control"].all()
    assert len({row.tobytes() for row in batch.observations}) == 32, "a picture of its own"
    before = batch.games["x"].astype(int)
    for _ in range(5):
        batch.step(np.full(32, COMPLEX_RIGHT))
    assert (batch.games["x"] > before).all()
    assert (batch.rewards > 0).all()


def test_a_death_ends_the_episode_in_every_stage(make_batch: MakeBatch) -> None:
    batch = make_batch(32, stage_span=32)
    for env in range(32):
        batch.ram(env)[0x07F8:0x07FB] = (0, 0, 1)  # the clock runs out, and the game does the rest
    reasons: dict[int, str] = {}
    for _ in range(60):
        batch.step(np.zeros(32, np.int64))
        for env in np.flatnonzero(batch.terminated).tolist():
            reasons.setdefault(env, str(EndReason(batch.final_episodes["end_reason"][env])))
            assert not batch.final_games["is_stage_clear"][env]
            assert batch.rewards[env] == pytest.approx(-0.252)
    assert reasons == dict.fromkeys(range(32), "death")


def test_flag_or_axe_ends_the_episode_in_every_stage(
    make_batch: MakeBatch, console: Console, stage_states: dict[Stage, bytes]
) -> None:
    batch = make_batch(stage_span=32)
    for stage, start in stage_states.items():
        batch.reset(state=state_before_end(console, start))
        for _ in range(10):
            assert not batch.terminated.any(), stage
            batch.step(np.zeros(1, np.int64))
            if batch.terminated[0]:
                break
        assert EndReason(batch.final_episodes["end_reason"][0]) == EndReason.FLAG, stage
        assert stage_of_level(batch.final_episodes["level"][0]) == stage
        assert batch.rewards[0] == pytest.approx(0.498, abs=0.2), stage


def test_a_run_through_1_1_pays_its_length_once(make_batch: MakeBatch) -> None:
    names = {0: "noop", 1: "A", 128: "right", 129: "right+A", 130: "right+B", 131: "right+A+B"}
    batch = make_batch(action_set="custom", actions=tuple(names.values()))
    for buttons in run_through():
        batch.step(np.array([list(names).index(buttons)]))
        assert -0.01 < batch.rewards[0] < 0.13 or batch.terminated[0]
        if batch.terminated[0]:
            break
    ended = batch.final_episodes[0]
    assert EndReason(ended["end_reason"]) == EndReason.FLAG
    assert batch.final_games["has_flag"][0]
    assert 3000 < ended["progress"] < 3200, "the flag of 1-1 stands at pixel 3,175"
    assert ended["total_reward"] == pytest.approx(0.01 * ended["progress"] - 0.002 * ended["num_steps"] + 0.5, rel=1e-4)


def placed(console: Console, state: bytes, *, ys: tuple[int, ...], step: int) -> Iterator[bytes]:
    """States all along an area, the player at several heights of several columns of each screen."""
    for left, scrolled in scrolled_states(console, state, step=128):
        for x in range(left + 64, left + 192, step):
            for y in ys:
                console.load(scrolled)
                stand(console, x, y)
                yield console.save()


@pytest.mark.parametrize("stage", ["1-2", "4-2", "5-2", "8-4"])
def test_a_pipe_neither_jumps_nor_pays(
    make_batch: MakeBatch, console: Console, stage_states: dict[Stage, bytes], stage: str
) -> None:
    """Down is pressed everywhere: where there is a pipe, it leads elsewhere within one step."""
    start = stage_states[Stage.parse(stage)]
    states = list(placed(console, start, ys=(0x60, 0x70, 0x90), step=8))
    batch = make_batch(len(states), action_set="complex", stage_span=32, stall_steps=0)
    batch.reset(state=states)
    before, num_pipes = batch.games.copy(), 0
    for step in range(25):
        batch.step(np.full(len(states), COMPLEX_DOWN if step % 2 else COMPLEX_NOOP))
        ended = batch.terminated
        x = batch.games["x"].astype(np.int16).astype(int)
        leaps = (batch.games["room"] != before["room"]) | (abs(x - before["x"].astype(np.int16)) > 200)
        through = leaps & ~ended
        num_pipes += int(through.sum())
        assert np.allclose(batch.rewards[through], -0.002), "a pipe pays nothing"
        assert (batch.rewards[~ended] < 0.2).all()
        assert batch.games["has_control"][through].all(), "and takes one step"
        before = batch.games.copy()
    assert num_pipes >= 2


@pytest.mark.parametrize("stage", ["4-4", "7-4", "8-4"])
def test_a_maze_that_leads_back_pays_nothing_twice(
    make_batch: MakeBatch, console: Console, stage_states: dict[Stage, bytes], stage: str
) -> None:
    start = stage_states[Stage.parse(stage)]
    states = list(placed(console, start, ys=(0x40, 0x50, 0x70, 0x90, 0xA0), step=64))
    batch = make_batch(len(states), action_set="complex", stage_span=32, stall_steps=0)
    batch.reset(state=states)
    heights = batch.games["y_on_screen"].copy()
    before = batch.games["x"].astype(np.int16).astype(int)
    furthest, num_loops = before.copy(), 0
    for _ in range(100):
        for env in range(len(states)):
            # Flies, and nothing hurts.
            batch.ram(env)[[0x079F, 0x9F, 0xCE, 0xB5]] = (0x20, 0, heights[env], 1)
        batch.step(np.full(len(states), COMPLEX_RUN))
        x = batch.games["x"].astype(np.int16).astype(int)
        is_loop = (x - before < -900) & (x - before > -1100) & ~batch.terminated
        num_loops += int(is_loop.sum())
        assert np.allclose(batch.rewards[is_loop], -0.002)
        pays = (batch.rewards > 0) & ~batch.terminated
        assert (x[pays] >= furthest[pays]).all(), "only ground that was never reached"
        furthest = np.where(batch.terminated, x, np.maximum(furthest, x))
        before = x
    assert num_loops >= 5


def test_climbing_a_vine_is_no_end_and_no_leap(
    make_batch: MakeBatch, console: Console, stage_states: dict[Stage, bytes]
) -> None:
    start = stage_states[Stage(2, 1)]
    states = []
    for state in placed(console, start, ys=(0x70,), step=8):
        console.load(state)
        console.run_frame(0, 15)
        console.run_frame(1, 40)  # jumps: where a block holds a vine, it grows
        if console.ram[0x1B] == 0x2F:  # the sixth object is a vine
            console.run_frame(0, 150)
            vine_x = int(console.ram[0x73]) * 256 + int(console.ram[0x8C])
            grown = console.save()
            for dx in range(-16, 17, 4):
                console.load(grown)
                stand(console, vine_x + dx, 0x30)  # it grows upward from its block
                states.append(console.save())
    assert states, "2-1 has a vine"
    batch = make_batch(len(states), action_set="complex", stage_span=32, stall_steps=0)
    batch.reset(state=states)
    rooms = batch.games["room"].copy()
    climbed = arrived = 0
    for _ in range(120):
        batch.step(np.full(len(states), COMPLEX_UP))
        climbed += int(batch.games["is_climbing"].sum())
        arrived += int(((batch.games["room"] != rooms) & ~batch.terminated).sum())
        reasons = batch.final_episodes["end_reason"][batch.terminated]
        assert not (reasons == EndReason.FLAG).any()
        assert (batch.rewards < 0.2).all()
    assert climbed > 0
    assert arrived > 0, "the vine leads to another room"


def test_every_engine_thread_count_and_batch_gives_the_same_bytes(make_batch: MakeBatch) -> None:
    """10,000 steps of environments in batches of 8 and 1, with 1 and 8 threads, compiled and interpreted."""
    options: dict[str, Any] = {
        "stage_span": 32,
        "random_stage": True,
        "action_set": "complex",
        "noop_max": 30,
        "sticky": 0.25,
        "augmentation": AugmentationConfig(augment_shift=2, augment_brightness=10, augment_noise=3),
    }
    batches = {
        "1 thread": make_batch(8, num_threads=1, **options),
        "8 threads": make_batch(8, num_threads=8, **options),
        "interpreter": make_batch(8, num_threads=2, engine="interpreter", **options),
    }
    singles = [make_batch(1, **options) for _ in range(8)]
    for batch in batches.values():
        batch.reset(seed=11)
    for env, single in enumerate(singles):
        single.reset(seed=11 + env)
    rng = np.random.default_rng(0)
    num_episodes = 0
    for step in range(1250):
        actions = np.where(rng.random(8) < 0.7, COMPLEX_RUN, rng.integers(0, 12, 8))
        for batch in batches.values():
            batch.step(actions)
        for env, single in enumerate(singles):
            single.step(actions[env : env + 1])
        expected = batches["1 thread"]
        num_episodes += int((expected.terminated | expected.truncated).sum())
        for name in ARRAYS:
            rows = getattr(expected, name)
            for other, batch in batches.items():
                assert (getattr(batch, name) == rows).all(), (step, other, name)
            assert all((getattr(single, name)[0] == rows[env]).all() for env, single in enumerate(singles)), (
                step,
                name,
            )
    assert num_episodes > 50


def test_classic_rewards_are_those_of_the_frames(make_batch: MakeBatch, console: Console) -> None:
    """Computed again, frame by frame, from the memory that the game leaves."""
    batch = make_batch(reward=RewardConfig(reward="classic"), action_set="complex", skip_idle=False, stall_steps=0)
    buttons = [0, 128, 129, 130, 131, 1, 64, 65, 66, 67, 32, 16]
    rng = np.random.default_rng(3)
    console.load(batch.console_state(0))
    last = console.game()
    num_ends = 0
    for _ in range(600):
        action = int(rng.choice([3] * 9 + [4]))
        expected, is_over = 0.0, False
        for _ in range(4):
            console.run_frame(buttons[action])
            game = console.game()
            walk = game.x - last.x
            ticks = min(0, game.clock - last.clock)
            is_over = game.is_dying or game.is_dead or game.has_flag
            reward = (walk if abs(walk) <= 5 else 0) + ticks - (25 if game.is_dying or game.is_dead else 0)
            expected += max(-15, min(15, reward))
            last = game
            if is_over:
                break
        batch.step(np.array([action]))
        assert batch.rewards[0] == expected
        assert batch.terminated[0] == is_over
        if is_over:
            num_ends += 1
            console.load(batch.console_state(0))
            last = console.game()
    assert num_ends >= 2


def test_areas_of_a_stage_are_told_apart(console: Console, stage_states: dict[Stage, bytes]) -> None:
    rooms = []
    for state in areas_of(console, stage_states[Stage(1, 1)]):
        console.load(state)
        rooms.append(console.game().room)
    assert len(set(rooms)) >= 2


def make_single(game_rom: Path, cache: CacheDir) -> MarioEnv:
    return MarioEnv(rom=RomConfig(rom=game_rom), engine=EngineConfig(engine="interpreter"), cache=cache)


@pytest.mark.filterwarnings("ignore:.*close. while waiting:UserWarning")
def test_gymnasium_s_own_processes_work_and_never_hang(game_rom: Path, session_cache: CacheDir) -> None:
    maker = functools.partial(make_single, game_rom, session_cache)
    env = gymnasium.vector.AsyncVectorEnv([maker, maker], context="spawn")
    try:
        observations, _ = env.reset(seed=0)
        assert observations.shape == (2, 4, 84, 84)
        observations, rewards, *_ = env.step(np.full(2, COMPLEX_RUN))
        assert rewards.shape == (2,)
        process_id = env.processes[1].pid
        assert process_id is not None
        os.kill(process_id, signal.SIGKILL)
        env.processes[1].join()
        with pytest.raises((EOFError, OSError)):
            env.step(np.full(2, COMPLEX_RUN))
    finally:
        env.close(terminate=True)
