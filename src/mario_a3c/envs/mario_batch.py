"""The game as a batch of environments, for the learner: native from the action to the stacked frames. No Gymnasium."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.envs.actions import action_buttons, action_names
from mario_a3c.envs.config import MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.env_batch import Bools, Pixels, Seeds
from mario_a3c.envs.observation import observed
from mario_a3c.envs.progress_map import AREA_DTYPE, ProgressMap, grids_of
from mario_a3c.envs.stages import stages_to_play
from mario_a3c.errors import ConfigError, SaveStateError
from mario_a3c.native.batch import BatchConsole
from mario_a3c.native.bindings import EnvRules
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.native.environments import BEGIN_HERE, MAP_AREA_DTYPE, Environments
from mario_a3c.native.rom import locate_rom
from mario_a3c.native.start_states import STAGES_PER_WORLD, Stage, stages_of, start_states
from mario_a3c.native.view import SCREEN_RGB, View
from mario_a3c.stateful import State

_ARRAYS = ("observations", "rewards", "terminated", "truncated", "stuck", "games", "episodes")
_FINAL_ARRAYS = ("final_observations", "final_games", "final_episodes")


@dataclass(frozen=True, slots=True)
class StartState:
    """A place where episodes begin: the start of a stage, or any state in it."""

    stage: Stage
    state: bytes
    name: str = ""
    share: float = 0.0
    """Of the way through the stage, what lies behind: 0 at its start, towards 1 at the goal."""
    excerpt_steps: int = 0
    """An episode from here is cut after so many steps, and has no idle frames before it; 0: it is like any other."""


class MarioBatch:
    """N environments of the game. An `EnvBatch`; that protocol says what the arrays mean. Beside them:

    `games` and `final_games` are what the console knows about each game (`mario_game` of its header), after the step
    and, where an episode ended, at its end. One thread at a time may use a batch; the GIL is free while it steps.
    """

    def __init__(
        self,
        config: MarioVectorEnvConfig,
        *,
        rom: RomConfig | None = None,
        engine: EngineConfig | None = None,
        cache: CacheDir | None = None,
        first_env: int = 0,
        max_starts: int = 256,
        autoreset: bool = True,
        progress_map: ProgressMap | None = None,
        discount: float | None = None,
    ) -> None:
        """`first_env` numbers the environments where others of the same run are stepped elsewhere.

        `max_starts` is how many start states there can be at a time. Without `autoreset` an episode that has ended
        stays so until `reset`. `progress_map` is what `--progress map` measures by. `discount` is the learner's, which
        `--shaping potential` needs.
        """
        if (config.env.progress == "map") != (progress_map is not None):
            raise ConfigError(
                "--progress map and a map belong together: `mario_a3c.exploration.maps.obtain_progress_map` makes one"
            )
        cache = cache or CacheDir.open(CacheConfig())
        self.config = config
        self.rom = locate_rom(rom or RomConfig(), cache, game=config.env.game, graphics=config.env.graphics)
        self.action_names = action_names(config.env)
        self.stages = stages_to_play(config.env, self.rom)
        self.num_envs = config.num_envs
        self.num_actions = len(self.action_names)
        self._max_starts = max(max_starts, len(self.stages))
        self._console = BatchConsole(
            self.rom.path,
            config.num_envs,
            frame_skip=config.env.frame_skip,
            num_threads=config.num_threads,
            view=View(),
            takes_maximum=config.env.takes_maximum,
            ram_addresses=[0],
            num_snapshots=self._max_starts,
            engine=(engine or EngineConfig()).engine,
            cache=cache,
            allow_unknown_rom=True,  # it was looked at when it was located
        )
        self.num_threads = self._console.num_threads
        rules = rules_of(config.env)
        if config.env.reward.shaping == "potential":
            rules.shaping_discount = _expect_discount(discount)
        rules.autoreset, rules.first_env, rules.last_level = autoreset, first_env, len(stages_of(self.rom)) - 1
        self._native = Environments(self._console, rules, action_buttons(config.env))
        self.native_step = self._native.step
        """The one call in a step that is not Python; benchmarks put their clock around it."""
        for name in (*_ARRAYS, *_FINAL_ARRAYS):
            setattr(self, name, getattr(self._native, name))
        self._stage_states = start_states(self.rom, cache)
        self._is_closed = False
        self.starts: list[StartState] = []
        self.set_starts([StartState(stage, self._stage_states[stage], str(stage)) for stage in self.stages])
        if progress_map is not None:
            self.set_progress_map(progress_map)
        self._run_seeds = env_seeds(config.seed, first_env, config.num_envs)
        self.begin_run()

    observations: Pixels
    rewards: npt.NDArray[np.float32]
    terminated: Bools
    truncated: Bools
    stuck: Bools
    games: npt.NDArray[Any]
    episodes: npt.NDArray[Any]
    final_observations: Pixels
    final_games: npt.NDArray[Any]
    final_episodes: npt.NDArray[Any]

    @property
    def engine(self) -> str:
        """What runs the frames: `interpreter` or `recompiled`."""
        return self._console.engine

    def begin_run(self) -> None:
        """Begins the first episode everywhere, as a new batch does: for whoever has changed where episodes begin."""
        self._begin(None, self._run_seeds, None, None)

    def reset(
        self,
        *,
        seed: Seeds | None = None,
        mask: Bools | None = None,
        stage: Stage | None = None,
        state: bytes | Sequence[bytes] | None = None,
        observations: Pixels | None = None,
    ) -> None:
        """Begins new episodes, everywhere or where `mask` holds; at `stage`, or at a console's `state`, where given
        (one for all, or one for each environment).

        `seed` is one per environment; a single one, s, means s, s + 1, s + 2... (as Gymnasium has it).
        """
        self._expect_open()
        chosen = self._mask(mask)
        seeds = None if seed is None else self._seeds(seed)
        if stage is not None and stage not in self._stage_states:
            raise ConfigError(f"{self.rom.title} has no stage {stage}; the last is {max(self._stage_states)}")
        if stage is not None and state is not None:
            raise ValueError("an episode begins at a stage or at a state, not at both")
        starts = None
        if stage is not None or state is not None:
            starts = np.full(self.num_envs, BEGIN_HERE, np.int32)
            self._load_consoles(chosen, self._stage_states[stage] if stage is not None else state)
        self._begin(chosen, seeds, starts, self._target(observations))

    def step(self, actions: npt.NDArray[Any], observations: Pixels | None = None) -> None:
        """One step of every environment; `observations` is written instead of `self.observations` where given."""
        self._expect_open()
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be {self.num_envs} integers in [0, {self.num_actions}), "
                f"got {actions.dtype} of shape {actions.shape}"
            )
        self._native.actions[:] = actions
        self.native_step(self._target(observations))

    def set_starts(self, starts: Sequence[StartState], weights: Sequence[float] | None = None) -> None:
        """Where episodes begin from now on, each with weight 1 unless weights are given. Running ones go on.

        Several stages without weights follow each other, unless the config draws them at random.
        """
        self._expect_open()
        if not 1 <= len(starts) <= self._max_starts:
            raise ValueError(f"there can be 1 to {self._max_starts} starts, got {len(starts)}; raise max_starts")
        for place, start in enumerate(starts):
            self._console.set_snapshot(place, start.state)
        self._native.set_starts(np.arange(len(starts), dtype=np.uint32))
        self._native.set_excerpts(np.array([start.excerpt_steps for start in starts], np.uint32))
        self.starts = list(starts)
        if weights is not None:
            self.set_weights(weights)

    def set_weights(self, weights: Sequence[float] | npt.NDArray[np.float64]) -> None:
        """How often each of `starts` is drawn, relative to the others, from the next episode on."""
        self._expect_open()
        self._native.set_weights(np.asarray(weights, np.float64))

    def replace_start(self, number: int, state: bytes) -> None:
        """Episodes that begin at this one of `starts` begin at another state of its stage from now on."""
        self._expect_open()
        self._console.set_snapshot(number, state)
        self.starts[number] = replace(self.starts[number], state=state)

    def set_stage_weights(self, weights: Mapping[Stage, float]) -> None:
        """Plays these stages from now on, each drawn as often as its weight says. The curriculum's handle."""
        unknown = [str(stage) for stage in weights if stage not in self._stage_states]
        if unknown:
            raise ConfigError(f"{self.rom.title} has no stage {', '.join(unknown)}")
        stages = [StartState(stage, self._stage_states[stage], str(stage)) for stage in weights]
        self.set_starts(stages, list(weights.values()))

    def stage_start(self, stage: Stage) -> StartState:
        return StartState(stage, self._stage_states[stage], str(stage))

    def set_progress_map(self, progress_map: ProgressMap | None) -> None:
        """Measures progress by this map; by position where there is none."""
        self._expect_open()
        if progress_map is None:
            self._native.set_map(np.zeros(0, MAP_AREA_DTYPE), np.zeros(0, np.uint32))
            return
        grids = grids_of(progress_map)
        areas = np.zeros(len(grids.areas), MAP_AREA_DTYPE)
        for name in AREA_DTYPE.names or ():
            areas[name] = grids.areas[name]
        areas["num_columns"], areas["first"], areas["stage_frames"] = grids.num_columns, grids.first, grids.stage_frames
        self._native.set_map(areas, grids.remaining_frames)

    def render(self, env: int = 0) -> Pixels:
        """What a person would see of one environment: [240, 256, 3]."""
        self._expect_open()
        return self._console.observe(env, SCREEN_RGB)

    def ram(self, env: int) -> npt.NDArray[np.uint8]:
        """The 2,048 bytes of one console's memory, to be read and written between steps."""
        self._expect_open()
        return self._console.ram_of(env)

    def console_state(self, env: int) -> bytes:
        """The state of one console: where an episode can begin again, here or in another batch."""
        self._expect_open()
        return self._console.save(env)

    def get_state(self, env: int) -> bytes:
        """One environment as it is, in the middle of its episode; for `set_state` of any batch with an equal config."""
        self._expect_open()
        return self._console.save(env) + self._native.save(env)

    def set_state(self, env: int, state: bytes) -> None:
        """Continues one environment from a state. SaveStateError leaves it as it was."""
        self._expect_open()
        self._load_state(env, state)
        self._refresh()

    def state(self) -> State:
        """Everything that the next steps depend on, except starts, weights and map, which whoever set them keeps."""
        states = [np.frombuffer(self.get_state(env), np.uint8) for env in range(self.num_envs)]
        return {"environments": np.stack(states)}

    def restore(self, state: State) -> None:
        self._expect_open()
        saved = np.asarray(state["environments"], np.uint8)
        if len(saved) != self.num_envs:
            raise ConfigError(f"{len(saved)} environments were saved, this run has --num-envs {self.num_envs}")
        for env, row in enumerate(saved):
            self._load_state(env, row.tobytes())
        self._refresh()

    def share_threads(self, other: "MarioBatch") -> None:
        """From the next step on these environments are stepped by the threads of others; both may be stepped at the
        same time, from two threads of Python."""
        self._console.share_threads(other._console)
        self.num_threads = self._console.num_threads

    def close(self) -> None:
        """Everything afterwards raises."""
        self._is_closed = True

    def _begin(
        self,
        mask: Bools | None,
        seeds: npt.NDArray[np.uint64] | None,
        starts: npt.NDArray[np.int32] | None,
        target: int | None,
    ) -> None:
        self._native.reset(mask, seeds, starts, target)
        for name in ("rewards", "terminated", "truncated", "stuck"):
            getattr(self, name)[slice(None) if mask is None else mask] = 0

    def _load_consoles(self, mask: Bools | None, state: bytes | Sequence[bytes] | None) -> None:
        states = [state] * self.num_envs if isinstance(state, bytes) else list(state or ())
        if len(states) != self.num_envs:
            raise ValueError(f"state must be one save-state or {self.num_envs} of them, got {len(states)}")
        for env in range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist():
            self._console.load(env, states[env])

    def _load_state(self, env: int, state: bytes) -> None:
        before = self._console.save(env)
        self._console.load(env, state[: len(before)])
        try:
            self._native.load(env, state[len(before) :])
        except SaveStateError:
            self._console.load(env, before)
            raise

    def _refresh(self) -> None:
        """Rows of what was set by hand."""
        self._native.reset(np.zeros(self.num_envs, np.bool_), None, None)

    def _target(self, observations: Pixels | None) -> int | None:
        if observations is None:
            return None
        expected = self.observations.shape
        is_same = observations.shape == expected or (
            expected[1] == 1 and observations.shape == expected[:1] + expected[2:]
        )
        if (
            not is_same
            or observations.dtype != np.uint8
            or not (observations.flags.c_contiguous and observations.flags.writeable)
        ):
            raise ValueError(
                f"observations must be a writable, contiguous uint8 array of shape {expected}, "
                f"got {observations.dtype} {observations.shape}"
            )
        return observations.ctypes.data

    def _mask(self, mask: Bools | None) -> Bools | None:
        if mask is None:
            return None
        chosen = np.ascontiguousarray(mask)
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise ValueError(f"mask must be {self.num_envs} bools, got {chosen.dtype} of shape {chosen.shape}")
        return chosen

    def _seeds(self, seed: Seeds) -> npt.NDArray[np.uint64]:
        if isinstance(seed, int | np.integer):
            return np.array([(int(seed) + env) % (1 << 64) for env in range(self.num_envs)], np.uint64)
        seeds = np.asarray(seed)
        if seeds.shape != (self.num_envs,) or seeds.dtype.kind not in "iu":
            raise ValueError(f"seed must be an integer or {self.num_envs} of them, got {seed!r}")
        return seeds.astype(np.uint64)

    def _expect_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("this batch of environments is closed; make a new one")


def _expect_discount(discount: float | None) -> float:
    if discount is None or not 0.0 < discount <= 1.0:
        raise ConfigError(f"--shaping potential discounts as the learner does, by --gamma in (0, 1], got {discount}")
    return discount


def stage_of_level(level: int) -> Stage:
    """`games["level"]` and `episodes["level"]` as people write it."""
    return Stage(level // STAGES_PER_WORLD + 1, level % STAGES_PER_WORLD + 1)


def rules_of(config: MarioEnvConfig) -> EnvRules:
    reward, augmentation = config.reward, config.augmentation
    return EnvRules(
        sticky=config.sticky,
        progress_reward=reward.progress_reward,
        step_penalty=reward.step_penalty,
        flag_bonus=reward.flag_bonus,
        failure_penalty=reward.failure_penalty,
        score_reward=reward.score_reward,
        power_reward=reward.power_reward,
        is_classic=reward.reward == "classic",
        num_actions=len(action_names(config)),
        frame_stack=config.frame_stack,
        max_episode_steps=config.max_episode_steps,
        stall_steps=config.stall_steps,
        stall_fails=config.stall_fails,
        noop_max=config.noop_max,
        one_life=config.one_life,
        one_stage=config.one_stage,
        skip_idle=config.skip_idle,
        cycles_starts=not config.random_stage,
        augment_shift=augmentation.augment_shift,
        augment_brightness=augmentation.augment_brightness,
        augment_noise=augmentation.augment_noise,
        show_buttons=config.show_buttons,
        observes=observed(config),
    )


def env_seeds(seed: int, first_env: int, num_envs: int) -> npt.NDArray[np.uint64]:
    """The seed of each environment of a run: far apart, also for neighbouring seeds of runs (SplitMix64)."""
    with np.errstate(over="ignore"):
        mixed: npt.NDArray[np.uint64] = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.arange(
            first_env, first_env + num_envs, dtype=np.uint64
        ) * np.uint64(0x9E3779B97F4A7C15)
        for shift, multiplier in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(multiplier)
        mixed ^= mixed >> np.uint64(31)
    return mixed
