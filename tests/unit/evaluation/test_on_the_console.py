"""Episodes on a real console, with a home-made game: modes, engines, and recordings that lead to the same end."""

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import AugmentationConfig, MarioEnvConfig
from mario_a3c.envs.env_batch import EndReason
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.play import replay
from mario_a3c.envs.recording import Recording
from mario_a3c.errors import SaveStateError
from mario_a3c.evaluation.arena import MarioArenas, env_of_mode
from mario_a3c.evaluation.config import MODES, Mode
from mario_a3c.evaluation.episodes import EpisodeResult, list_episodes
from mario_a3c.evaluation.players import ConstantPlayer, RandomPlayer
from mario_a3c.evaluation.replays import held_actions, presses_of, record_episode
from mario_a3c.evaluation.runner import play_episodes
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.console import Console
from mario_a3c.native.rom import open_rom
from mario_a3c.native.start_states import Stage, start_states
from tests.support.arenas import tiny_agent_config
from tests.support.tiny_batches import ACTIONS

RIGHT, DIE = ACTIONS.index("right"), ACTIONS.index("down")


@pytest.fixture
def arenas(tiny_game: Path, tiny_cache: CacheDir) -> MarioArenas:
    env = tiny_agent_config().vector_env.env
    rom = RomConfig(rom=tiny_game, allow_unknown_rom=True)
    return MarioArenas(env, rom, EngineConfig(engine="interpreter"), tiny_cache)


def play(
    arenas: MarioArenas, modes: tuple[Mode, ...] = MODES, num_episodes: int = 12, **options: Any
) -> list[EpisodeResult]:
    stages = [Stage(1, 1), Stage(8, 4)]
    player = RandomPlayer(len(ACTIONS))
    return play_episodes(player, arenas, list_episodes(stages, modes, num_episodes), seed=3, **options)


def test_an_episode_says_how_it_went(arenas: MarioArenas) -> None:
    specs = list_episodes([Stage(2, 3)], ["sampled"], 1)
    (walk,) = play_episodes(ConstantPlayer(RIGHT), arenas, specs, seed=0)
    assert walk.end_reason is EndReason.TIME_LIMIT
    assert walk.num_steps == len(walk.actions) == 60
    assert walk.num_frames == walk.frames.sum() == 240
    assert walk.progress == walk.x - 40 == 4 * 240
    (death,) = play_episodes(ConstantPlayer(DIE), arenas, specs, seed=0)
    assert (death.end_reason, death.num_steps, death.is_clear) == (EndReason.DEATH, 1, False)
    row = death.as_row()
    assert (row["stage"], row["mode"], row["flag"], row["end_reason"]) == ("2-3", "sampled", False, "death")


def test_modes_differ_in_what_they_promise_and_in_nothing_else() -> None:
    env = MarioEnvConfig(
        random_stage=True, stages="1-1..2-4", held_out_stages="1-2", noop_max=7, sticky=0.5,
        one_life=False, progress="map", augmentation=AugmentationConfig(augment_shift=4), frame_skip=3,
        action_set="complex",
    )  # fmt: skip
    kinds = {mode: env_of_mode(env, mode) for mode in MODES}
    assert {mode: (each.noop_max, each.sticky) for mode, each in kinds.items()} == {
        "greedy": (0, 0.0), "sampled": (0, 0.0), "noop": (30, 0.0), "sticky": (0, 0.25),
    }  # fmt: skip
    for each in kinds.values():
        assert replace(each, noop_max=0, sticky=0.0) == kinds["greedy"]
        assert (each.frame_skip, each.action_set) == (3, "complex")
        assert (each.stages, each.held_out_stages) == ("", "")
        assert (each.augmentation, each.one_life, each.progress) == (AugmentationConfig(), True, "position")


def test_idle_frames_and_sticky_actions_are_drawn_as_promised(arenas: MarioArenas) -> None:
    results = play(arenas, ("noop", "sticky"), 60)
    idle = [each.num_frames - int(each.frames.sum()) for each in results if each.spec.mode == "noop"]
    assert min(idle) <= 3
    assert 25 <= max(idle) <= 30
    assert 11 < np.mean(idle) < 19
    stuck: Counter[bool] = Counter()
    for each in results:
        held = np.array(list(held_actions(each, arenas.env)))
        if each.spec.mode == "sticky":
            could_tell = each.actions[1:] != held[:-1]
            stuck.update((held[1:] != each.actions[1:])[could_tell].tolist())
        else:
            assert (held == each.actions).all()
    assert 0.21 < stuck[True] / stuck.total() < 0.29


def test_on_consoles_that_were_played_on_before_episodes_are_the_same(
    arenas: MarioArenas, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[MarioBatch] = []
    make_batch = MarioArenas._make_batch

    def make(*of_what: Any) -> MarioBatch:
        made.append(make_batch(*of_what))
        return made[-1]

    monkeypatch.setattr(MarioArenas, "_make_batch", make)
    fresh = [each.as_row() for each in play(arenas)]
    kept, steps = replace(arenas, keeps_consoles=True), itertools.count()
    play(kept, should_stop=lambda: next(steps) > 40)  # in the middle of episodes
    num_made = len(made)
    assert [each.as_row() for each in play(kept)] == fresh
    assert len(made) == num_made


def test_every_episode_is_a_recording_that_leads_to_the_same_end(
    arenas: MarioArenas, tiny_game: Path, tiny_cache: CacheDir, tmp_path: Path
) -> None:
    console = Console(tiny_game, allow_unknown_rom=True)
    starts = start_states(open_rom(tiny_game, allow_unknown=True), tiny_cache)
    results = play(arenas)
    ends = Counter(str(each.end_reason) for each in results)
    assert set(ends) >= {"death", "warp"}
    for each in results:
        recording = record_episode(each, arenas.env, console, starts[each.spec.stage], "test")
        recording.save(tmp_path / "one.json")
        loaded = Recording.load(tmp_path / "one.json")
        assert replay(console, loaded, starts[each.spec.stage])
        assert (loaded.num_frames, console.game().score) == (each.num_frames, each.score)
        assert loaded.steps is not None
        assert sum(count for _, count in loaded.steps.choices) == each.num_steps


def test_an_episode_that_leads_elsewhere_is_noticed(arenas: MarioArenas, tiny_game: Path, tiny_cache: CacheDir) -> None:
    console = Console(tiny_game, allow_unknown_rom=True)
    start = start_states(open_rom(tiny_game, allow_unknown=True), tiny_cache)[Stage(1, 1)]
    (result,) = play_episodes(
        ConstantPlayer(ACTIONS.index("B")), arenas, list_episodes([Stage(1, 1)], ["sampled"], 1), seed=0
    )
    record_episode(result, arenas.env, console, start, "test")
    changed = replace(result, actions=np.zeros_like(result.actions))
    with pytest.raises(SaveStateError, match="does not lead to the same end"):
        record_episode(changed, arenas.env, console, start, "test")


def test_presses_are_those_of_the_agent_then_none_while_it_has_no_control(arenas: MarioArenas) -> None:
    pipe = ACTIONS.index("up")
    (result,) = play_episodes(ConstantPlayer(pipe), arenas, list_episodes([Stage(1, 1)], ["sampled"], 1), seed=0)
    idle, first, *_ = presses_of(result, arenas.env)
    assert idle == []
    assert first[:4] == [16] * 4
    assert len(first) > 4
    assert set(first[4:]) == {0}


def test_threads_and_company_change_nothing_on_the_console(arenas: MarioArenas) -> None:
    one, many = (play(arenas, num_episodes=20, num_threads=threads) for threads in (1, 3))
    assert [(each.as_row(), each.actions.tobytes()) for each in one] == [
        (each.as_row(), each.actions.tobytes()) for each in many
    ]
