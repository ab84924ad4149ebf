"""Ways through all 32 stages, found now, and what follows from them: replays, progress by map, start states."""

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.cache_dir import CacheDir
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig, RewardConfig
from mario_a3c.envs.env_batch import EndReason
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.envs.play import replay
from mario_a3c.envs.progress_map import NUM_ROWS, ProgressMap, cells_of, grids_of, lookup
from mario_a3c.exploration.config import CurriculumConfig, SearchConfig, StartConfig
from mario_a3c.exploration.explorer import StageExplorer
from mario_a3c.exploration.maps import make_map
from mario_a3c.exploration.picture import draw_exploration
from mario_a3c.exploration.power_ups import obtain_power_ups, starts_before
from mario_a3c.exploration.sampler import StartSampler
from mario_a3c.exploration.starts import StartTable, path_starts
from mario_a3c.exploration.task import StageTask, play_path, record_path, stage_tasks
from mario_a3c.native.bindings import GameRecord
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.console import Console
from mario_a3c.native.rom import open_rom
from mario_a3c.native.stage_search import ActionPath
from mario_a3c.native.start_states import stages_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ENV = MarioEnvConfig(action_set="complex", stall_steps=0, max_episode_steps=0)
ONLY_PROGRESS = RewardConfig(step_penalty=0.0, flag_bonus=0.0, failure_penalty=0.0)
# Of the stage's time. A cell is passed in 2 to 5 steps of some 300.
ONE_CELL = 0.02
# The largest step between two squares that is evened, half of it on each side: what is beside the way may be further.
MOST_EVENED_FRAMES = 32
# With how many places that throw back whoever goes wrong.
MAZES = {"4-4": 2, "7-4": 2, "8-4": 2}


class Found:
    """A stage with the way through it that a search has found."""

    def __init__(self, explorer: StageExplorer) -> None:
        self.task = explorer.task
        assert explorer.path is not None, f"no way through {self.task.stage}"
        self.path: ActionPath = explorer.path
        self.map = make_map(self.task, explorer.search)
        self.cells = explorer.search.cells()
        self.num_bytes = explorer.progress().num_bytes


@pytest.fixture(scope="module")
def found(game_rom: Path, engine_path: Path, session_cache: CacheDir) -> dict[str, Found]:
    """Each on one thread, so that the tests see the same ways on every machine; several at once."""

    def explore(task: StageTask) -> Found:
        config = SearchConfig(seed=1, threads=1, polish_frames=300_000)
        explorer = StageExplorer(task, config, None, engine_path=engine_path)
        explorer.run()
        return Found(explorer)

    rom = open_rom(game_rom)
    tasks = stage_tasks(rom, session_cache, stages_of(rom), ENV)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return {str(each.task.stage): each for each in pool.map(explore, tasks)}


@pytest.fixture
def console(game_rom: Path, engine_path: Path) -> Console:
    made = Console(game_rom)
    made.set_engine(engine_path)
    return made


def make_batch(
    game_rom: Path,
    engine_path: Path,
    cache: CacheDir,
    progress_map: ProgressMap | None,
    reward: RewardConfig = ONLY_PROGRESS,
) -> MarioBatch:
    env = MarioEnvConfig(
        action_set="complex",
        stall_steps=0,
        max_episode_steps=0,
        progress="position" if progress_map is None else "map",
        reward=reward,
    )
    made = MarioBatch(
        MarioVectorEnvConfig(num_envs=1, num_threads=1, env=env),
        rom=RomConfig(rom=game_rom),
        engine=EngineConfig(engine="interpreter"),
        cache=cache,
        autoreset=False,
        progress_map=progress_map,
    )
    made._console.set_engine(engine_path)
    return made


def progress_along(batch: MarioBatch, task: StageTask, path: ActionPath) -> npt.NDArray[np.float64]:
    batch.reset(stage=task.stage)
    shares = [float(batch.episodes["progress"][0])]
    for action in path:
        batch.step(np.array([action]))
        shares.append(float(batch.episodes["progress"][0]))
    return np.array(shares)


def test_one_thread_and_one_seed_give_one_archive(found: dict[str, Found], engine_path: Path) -> None:
    archives = []
    for _ in range(2):
        config = SearchConfig(seed=7, threads=1, polish_frames=50_000)
        explorer = StageExplorer(found["4-4"].task, config, None, engine_path=engine_path)
        explorer.run()
        assert explorer.path is not None
        archives.append((explorer.search.cells().tobytes(), explorer.path.tobytes()))
    assert archives[0] == archives[1]


def test_every_path_replays_to_the_goal_in_both_engines(
    found: dict[str, Found], game_rom: Path, console: Console
) -> None:
    interpreter = Console(game_rom)
    for name, stage in found.items():
        recording = record_path(stage.task, stage.path, console, "a test")
        assert console.game().is_stage_clear, name
        assert replay(interpreter, recording, stage.task.start_state), name
        assert interpreter.game().is_stage_clear, name
        assert stage.num_bytes < 100e6, name


def test_the_way_to_a_mushroom_ends_tall_and_is_paid_for_twice(
    found: dict[str, Found], game_rom: Path, engine_path: Path, session_cache: CacheDir, console: Console
) -> None:
    """Half when it comes out of its block, half when it is taken."""
    tasks = [found[name].task for name in ("1-1", "1-2", "2-1", "4-2")]
    search = SearchConfig(threads=1, max_frames=4_000_000, polish_frames=200_000)
    paths = obtain_power_ups(tasks, session_cache, config=search, engine_path=engine_path)
    assert len(paths) == len(tasks)
    rewards = RewardConfig(progress_reward=0.0, step_penalty=0.0, power_reward=1.0)
    for task in tasks:
        batch = make_batch(game_rom, engine_path, session_cache, None, rewards)
        batch.reset(stage=task.stage)
        earned = []
        for action in paths[task.stage]:
            batch.step(np.array([action]))
            earned.append(float(batch.rewards[0]))
        assert [reward for reward in earned if reward] == [0.5, 0.5], task.stage
        assert earned[-1] == 0.5
        assert (batch.games["status"][0], batch.episodes["num_power_ups"][0]) == (1, 1)
        for start in starts_before(task, paths[task.stage], console):
            console.load(start.state)
            assert console.game().status == 0
            assert console.game().has_control


def test_environments_end_at_the_flag_or_axe_of_every_stage_with_its_last_step(
    found: dict[str, Found], game_rom: Path, engine_path: Path, session_cache: CacheDir
) -> None:
    batch = make_batch(game_rom, engine_path, session_cache, None)
    for name, stage in found.items():
        batch.reset(stage=stage.task.stage)
        for number, action in enumerate(stage.path, start=1):
            batch.step(np.array([action]))
            assert bool(batch.terminated[0]) == (number == len(stage.path)), f"{name}, step {number}"
        assert batch.episodes["end_reason"][0] == EndReason.FLAG, name
        assert batch.episodes["progress"][0] > 100, name


def test_progress_by_map_rises_along_every_path_but_for_what_is_evened_between_squares(
    found: dict[str, Found], game_rom: Path, engine_path: Path, session_cache: CacheDir
) -> None:
    for name, stage in found.items():
        batch = make_batch(game_rom, engine_path, session_cache, stage.map)
        shares = progress_along(batch, stage.task, stage.path)
        assert shares[0] == 0.0, name
        assert shares[-1] == 1.0, name
        fall = float((np.maximum.accumulate(shares) - shares).max()) * int(grids_of(stage.map).stage_frames[0])
        assert fall <= MOST_EVENED_FRAMES + 0.1, name
        # Loops of the way are level; they are small beside the stage.
        longest = max(len(list(level)) for _, level in itertools.groupby(shares))
        assert longest <= len(shares) // 4, f"{name}: no gain for {longest} of {len(shares)} steps"


def throws_back(before: GameRecord, after: GameRecord) -> bool:
    """A maze, not a pipe: far back in the same room."""
    return before.room == after.room and 500 < before.x - after.x < 3000 and not before.is_losing_life


def loop_backs(stage: Found, console: Console, seed: int) -> list[tuple[ActionPath, int]]:
    """Paths that leave the way for random play and are thrown back, and where; not where the way itself is thrown back:
    in 8-4 the first time is right, since only then the pipe leads on."""
    games = [step.game for step in play_path(stage.task, stage.path, console)]
    right = [before.x for before, after in itertools.pairwise(games) if throws_back(before, after)]
    rng, found = np.random.default_rng(seed), []
    for start in range(10, len(stage.path), 12):
        wander = rng.choice([3, 4, 3, 4, 2, 1], 60).repeat(rng.integers(1, 6))[:90]
        candidate = np.concatenate([stage.path[:start], wander]).astype(np.uint8)
        games = [step.game for step in play_path(stage.task, candidate, console)]
        pairs = enumerate(itertools.pairwise(games[start:]), start=start)
        thrown = next((number for number, (before, after) in pairs if throws_back(before, after)), None)
        if thrown is not None and all(abs(games[thrown].x - x) > 64 for x in right):
            found.append((candidate[: thrown + 2], games[thrown].x))
    return found


@pytest.mark.parametrize(("name", "num_mazes"), MAZES.items())
def test_progress_by_map_falls_on_every_wrong_turn(
    name: str,
    num_mazes: int,
    found: dict[str, Found],
    game_rom: Path,
    engine_path: Path,
    session_cache: CacheDir,
    console: Console,
) -> None:
    stage = found[name]
    batch = make_batch(game_rom, engine_path, session_cache, stage.map)
    thrown_back = loop_backs(stage, console, 0) + loop_backs(stage, console, 1)
    assert len({x // 512 for _, x in thrown_back}) >= num_mazes, "every maze throws back once"
    for path, x in thrown_back:
        shares = progress_along(batch, stage.task, path)
        assert shares[-1] < shares.max() - 2 * ONE_CELL, f"thrown back at {x}"


@pytest.mark.parametrize("name", MAZES)
def test_a_loop_is_never_paid_twice(
    name: str, found: dict[str, Found], game_rom: Path, engine_path: Path, session_cache: CacheDir, console: Console
) -> None:
    """All that is earned is what lies between the first place and the last, however often a loop was gone through."""
    stage = found[name]
    batch = make_batch(game_rom, engine_path, session_cache, stage.map)
    start_frames = next(iter(stage.map.start_frames.values()))
    num_settled = 0
    for path, _ in loop_backs(stage, console, 1):
        batch.reset(stage=stage.task.stage)
        earned = most = 0.0
        for action in [*path, *([0] * 120)]:  # standing still until all is paid
            batch.step(np.array([action]))
            if batch.terminated[0]:
                break
            earned += float(batch.rewards[0])
            most = max(most, earned)
        else:
            share = float(batch.episodes["progress"][0])
            assert earned == pytest.approx(share * start_frames * 2.5 * 0.01, abs=0.02)
            assert earned < most
            num_settled += 1
    assert num_settled >= 1, "in castles one cannot stand everywhere, but somewhere"


def test_the_map_in_numpy_is_the_map_in_the_console(
    found: dict[str, Found], game_rom: Path, engine_path: Path, session_cache: CacheDir
) -> None:
    stage = found["8-4"]
    batch = make_batch(game_rom, engine_path, session_cache, stage.map)
    grids = grids_of(stage.map)
    total = int(grids.stage_frames[0])
    batch.reset(stage=stage.task.stage)
    for action in stage.path[:-1]:
        batch.step(np.array([action]))
        cells = cells_of(batch.games).repeat(3)
        cells["column"] = np.maximum(cells["column"].astype(np.int64) + np.array([0, -1, 1]), 0)
        here, *beside = lookup(grids, cells).tolist()
        # Between the middles of two squares the console has what lies between their times.
        near = [here, *(frames for frames in beside if frames >= 0)]
        shares = [max(0.0, 1 - frames / total) for frames in near]
        assert min(shares) - 1e-6 <= float(batch.episodes["progress"][0]) <= max(shares) + 1e-6


def test_nothing_is_paid_in_a_pit_of_any_stage(found: dict[str, Found]) -> None:
    below_ground = 30  # in squares: from there nobody comes back
    for name, each in found.items():
        grids = grids_of(each.map)
        asked = np.repeat(each.map.cells, NUM_ROWS - below_ground)
        asked["row"] = np.tile(np.arange(below_ground, NUM_ROWS), len(each.map.cells))
        assert (lookup(grids, asked) == -1).all(), name
        assert (lookup(grids, each.map.cells) >= 0).all(), name


def test_episodes_begin_along_the_way_as_often_as_asked(
    found: dict[str, Found], game_rom: Path, engine_path: Path, session_cache: CacheDir, console: Console
) -> None:
    stage = found["1-2"]
    batch = make_batch(game_rom, engine_path, session_cache, stage.map)
    along = path_starts(stage.task, stage.path, 12, console)
    assert len(along) == 12
    table = StartTable.of([batch.stage_start(stage.task.stage)], {stage.task.stage: along})
    config = StartConfig(start_early=0.1, start_middle=0.2, start_late=0.3)
    batch.set_starts(table.starts, StartSampler(table, config, CurriculumConfig()).weights().tolist())
    shares = []
    for seed in range(400):
        batch.reset(seed=seed)
        shares.append(table.share[batch.episodes["start"][0]])
    assert 0.2 < np.mean(np.array(shares) > 2 / 3) < 0.4
    assert 0.3 < np.mean(np.array(shares) == 0) < 0.5
    batch.reset(state=along[-1].state)
    assert batch.episodes["progress"][0] > 0.8


def test_pictures_show_every_area_of_the_way(found: dict[str, Found], console: Console) -> None:
    one = draw_exploration(found["1-1"].task, found["1-1"].cells, found["1-1"].path, console)
    two = draw_exploration(found["1-2"].task, found["1-2"].cells, found["1-2"].path, console)
    assert one.shape[1] >= 3300
    assert two.shape[0] >= 512, "the way out of 1-2 leads over ground"
    for picture in (one, two):
        assert (picture == (255, 255, 255)).all(axis=2).sum() > 300, "the path"
        for colour in ((0, 220, 0), (240, 0, 0)):
            assert (picture == colour).all(axis=2).any(), "where it begins and ends"
    assert (two == (255, 0, 255)).all(axis=2).any(), "the pipe"
