"""Plays the episodes of an evaluation, many at once.

What happens in an episode depends on its stage, mode, number and seed, and on the weights; on nothing else. The last
bits of what a network computes depend on the number of its rows and on the number of threads that compute. So decisions
are made about groups of a fixed number of lanes, each group by one thread; an episode is always played in the same
lane, whichever group it is in; and empty lanes are computed like others. More cores play more groups.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import torch

from mario_a3c.envs.env_batch import EndReason
from mario_a3c.evaluation.arena import Arena, MakeArena
from mario_a3c.evaluation.config import Mode
from mario_a3c.evaluation.episodes import EpisodeResult, EpisodeSpec, Trace, env_seeds_of
from mario_a3c.evaluation.players import LanePlayer, Moves, Player
from mario_a3c.native.cores import num_cores

OnEpisode = Callable[[EpisodeResult], None]


def play_episodes(
    player: Player,
    make_arena: MakeArena,
    specs: Sequence[EpisodeSpec],
    *,
    seed: int,
    num_threads: int = 0,
    with_traces: bool = False,
    on_episode: OnEpisode | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[EpisodeResult]:
    """The results in the order of `specs`. `on_episode` hears of each when it ends, from whichever thread played it.

    Greedy episodes of a stage are all the same, so that one is played for all of them. Where `should_stop` says so, the
    episodes that have not ended by then are left out.
    """
    num_threads = min(num_threads or num_cores(), player.max_threads or 1024)
    alike: dict[EpisodeSpec, list[EpisodeSpec]] = {}
    for spec in specs:
        alike.setdefault(spec.as_played, []).append(spec)
    groups = _share_out(list(alike), player.num_lanes, num_threads)
    finished: dict[EpisodeSpec, EpisodeResult] = {}
    has_failed = threading.Event()

    def note(result: EpisodeResult) -> None:
        for spec in alike[result.spec]:
            finished[spec] = replace(result, spec=spec)
            if on_episode is not None:
                on_episode(finished[spec])

    def play_group(mode: Mode, queues: list[deque[EpisodeSpec]]) -> None:
        torch.set_num_threads(1)
        arena = make_arena(mode, player.num_lanes)
        try:
            group = LaneGroup(player.sit_down(mode, seed), arena, queues, seed=seed, with_traces=with_traces)
            group.play(note, lambda: has_failed.is_set() or should_stop())
        except BaseException:
            has_failed.set()
            raise
        finally:
            arena.close()

    with _one_computing_thread(), ThreadPoolExecutor(num_threads, "mario-eval") as pool:
        futures = [pool.submit(play_group, mode, queues) for mode, queues in groups]
        try:
            for future in futures:
                future.result()
        except BaseException:  # also Ctrl-C, which only this thread hears
            has_failed.set()
            raise
    return [finished[spec] for spec in specs if spec in finished]


def _share_out(
    specs: Sequence[EpisodeSpec], num_lanes: int, num_threads: int
) -> list[tuple[Mode, list[deque[EpisodeSpec]]]]:
    """Groups of lanes, each with the episodes that it plays one after another; as many as keep all threads busy."""
    modes: dict[Mode, list[EpisodeSpec]] = {}
    for spec in specs:
        modes.setdefault(spec.mode, []).append(spec)
    groups: list[tuple[Mode, list[deque[EpisodeSpec]]]] = []
    for mode, of_mode in modes.items():
        num_groups = min(-(-num_threads // len(modes)), -(-len(of_mode) // num_lanes))
        tables = [[deque[EpisodeSpec]() for _ in range(num_lanes)] for _ in range(num_groups)]
        turns = [0] * num_lanes
        for spec in of_mode:
            lane = lane_of(spec, num_lanes)
            tables[turns[lane] % num_groups][lane].append(spec)
            turns[lane] += 1
        groups += [(mode, queues) for queues in tables if any(queues)]
    return groups


def lane_of(spec: EpisodeSpec, num_lanes: int) -> int:
    """Whatever else is evaluated beside it; and the stages do not all begin with the first lane."""
    return (spec.number + 5 * spec.level) % num_lanes


class LaneGroup:
    """One group of lanes on its way through its episodes."""

    def __init__(
        self,
        player: LanePlayer,
        arena: Arena,
        queues: list[deque[EpisodeSpec]],
        *,
        seed: int,
        with_traces: bool = False,
    ) -> None:
        self._player, self._arena, self._queues = player, arena, queues
        self._seed, self._with_traces = seed, with_traces
        self._running: list[_Running | None] = [None] * len(queues)

    def play(self, on_episode: OnEpisode, should_stop: Callable[[], bool] = lambda: False) -> None:
        self._begin([lane for lane, queue in enumerate(self._queues) if queue])
        while any(self._running) and not should_stop():
            moves = self._player.move(self._arena.observations)
            is_empty = [running is None for running in self._running]
            self._arena.step(np.where(is_empty, 0, moves.actions))
            self._note_step(moves)
            ended = np.flatnonzero(self._arena.ended).tolist()
            for lane in ended:
                if not is_empty[lane]:
                    on_episode(self._finish(lane))
            self._begin([lane for lane in ended if self._queues[lane]])
            self._arena.rest(np.array([lane for lane in ended if self._running[lane] is None], np.int64))

    def _begin(self, lanes: list[int]) -> None:
        if not lanes:
            return
        specs = [self._queues[lane].popleft() for lane in lanes]
        seeds = env_seeds_of(self._seed, specs)
        at = np.array(lanes, np.int64)
        self._arena.begin(at, seeds, [spec.stage for spec in specs])
        self._player.begin(at, np.array([spec.stream for spec in specs], np.int64))
        for lane, spec, env_seed in zip(lanes, specs, seeds.tolist(), strict=True):
            self._running[lane] = _Running(spec, env_seed, int(self._arena.num_frames[lane]))

    def _note_step(self, moves: Moves) -> None:
        actions, frames = moves.actions.tolist(), self._arena.num_frames.tolist()
        for lane, running in enumerate(self._running):
            if running is not None:
                running.actions.append(actions[lane])
                running.frames.append(frames[lane])
                if self._with_traces and moves.probabilities is not None and moves.values is not None:
                    running.probabilities.append(moves.probabilities[lane])
                    running.values.append(float(moves.values[lane]))

    def _finish(self, lane: int) -> EpisodeResult:
        running, episode, game = self._running[lane], self._arena.final_episodes[lane], self._arena.final_games[lane]
        assert running is not None
        self._running[lane] = None
        trace = None
        if running.values:
            trace = Trace(np.array(running.probabilities, np.float32), np.array(running.values, np.float32))
        return EpisodeResult(
            spec=running.spec,
            env_seed=running.env_seed,
            total_reward=float(episode["total_reward"]),
            progress=float(episode["progress"]),
            num_steps=int(episode["num_steps"]),
            num_frames=int(episode["num_frames"]),
            end_reason=EndReason(int(episode["end_reason"])),
            time_left=int(game["clock"]),
            score=int(game["score"]),
            coins=int(game["coins"]),
            room=int(game["room"]),
            x=int(np.uint16(game["x"]).view(np.int16)),
            y=(int(game["y_screen"]) - 1) * 256 + int(game["y_on_screen"]),
            actions=np.array(running.actions, np.uint8),
            frames=np.diff(np.array([running.first_frames, *running.frames])).astype(np.uint16),
            trace=trace,
        )


class _Running:
    """What is kept of an episode while it is played."""

    __slots__ = ("actions", "env_seed", "first_frames", "frames", "probabilities", "spec", "values")

    def __init__(self, spec: EpisodeSpec, env_seed: int, first_frames: int) -> None:
        self.spec, self.env_seed, self.first_frames = spec, env_seed, first_frames
        self.actions: list[int] = []
        self.frames: list[int] = []
        self.probabilities: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = []
        self.values: list[float] = []


@contextlib.contextmanager
def _one_computing_thread() -> Iterator[None]:
    """torch computes with one thread in each of ours: groups keep the cores busy, and results do not depend on them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def console_threads(player: Player) -> int:
    """For the consoles of one group: all cores where one group is all there is, as on a GPU."""
    return num_cores() if player.max_threads == 1 else 1
