"""What an environment is: its stages, actions, pictures, rewards and ends."""

import re
from dataclasses import dataclass
from typing import Literal

from mario_a3c.errors import ConfigError
from mario_a3c.native.known_roms import Game, Graphics
from mario_a3c.options import option, section

ActionSet = Literal["right_only", "simple", "complex", "custom"]
Backend = Literal["native", "nes-py", "fc-emulator"]
Observe = Literal["picture", "ram", "both"]
Progress = Literal["position", "map"]
Reward = Literal["progress", "classic"]
Shaping = Literal["difference", "potential"]
Vectorization = Literal["native", "async", "sync"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardConfig:
    """One scale for every stage: running earns 0.1 a step, so that returns discounted by 0.95 are of order one."""

    reward: Reward = option(
        "progress", "progress: new ground, as below; classic: gym-super-mario-bros's, summed over the frames of a step"
    )
    progress_reward: float = option(0.01, "for each pixel of progress (a running step covers 10 to 12)")
    shaping: Shaping = option(
        "difference",
        "progress by map pays what was gained; potential: the gain of a potential, discounted by --gamma, which leaves "
        "what is best as it is",
    )
    step_penalty: float = option(0.002, "taken off at every step: the clock is running")
    flag_bonus: float = option(0.5, "for the flag or the axe, once, at the end of the episode")
    failure_penalty: float = option(
        0.25, "taken off for a lost life, for leaving the stage through a warp zone, and for a stall with --stall-fails"
    )
    score_reward: float = option(0.0, "for each point of the game's own score; 0.00025 is what others use")
    power_reward: float = option(
        0.0,
        "for a mushroom or flower, half of it when it comes out of its block, until it is lost: the tall survive hits",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class AugmentationConfig:
    """Changes to the picture, to make an agent robust and to test whether it is."""

    augment_shift: int = option(0, "move the picture by up to so many pixels each way, chosen for every episode")
    augment_brightness: int = option(0, "make it up to so much brighter or darker (of 255), chosen for every episode")
    augment_noise: int = option(0, "add up to so much to each pixel, or take it off, drawn for every frame")

    def __post_init__(self) -> None:
        _expect(0 <= self.augment_shift <= 32, "--augment-shift", "in [0, 32]", self.augment_shift)
        _expect(0 <= self.augment_brightness <= 255, "--augment-brightness", "in [0, 255]", self.augment_brightness)
        _expect(0 <= self.augment_noise <= 127, "--augment-noise", "in [0, 127]", self.augment_noise)


@dataclass(frozen=True, kw_only=True, slots=True)
class MarioEnvConfig:
    """One environment. The stage of an episode is chosen when the episode begins."""

    game: Game = option("super-mario-bros", "the game, or its sequel of the same name in Japan")
    graphics: Graphics = option("standard", "of the variants that gym-super-mario-bros calls v0 to v3")
    world: int = option(1, "world of the stage to play, or of the first one of a span")
    stage: int = option(1, "stage within the world, 1 to 4")
    stage_span: int = option(1, "play so many stages in turn, from this one on; episodes take them one after another")
    random_stage: bool = option(False, "draw the stage of every episode: from those named, or from all stages")
    stages: str = option("", "stages to play instead of those: all, or like 1-1,8-4 or 1-1..2-4")
    held_out_stages: str = option("", "of the stages to play, leave these out: to see later what was learned for them")
    action_set: ActionSet = option("simple", "what the agent can press: 5, 7 or 12 combinations, or those of --actions")
    actions: tuple[str, ...] = option((), "a custom action set, each like right+A+B; noop presses nothing")
    frame_skip: int = option(4, "frames for which an action is held: one step")
    frame_stack: int = option(4, "frames in an observation; 1 leaves stacking to the learner")
    takes_maximum: bool = option(False, "show the brighter pixel of the last two frames, not the last frame")
    float_observations: bool = option(
        False, "observations in 0..1, float32, instead of uint8 (slower, four times as large)"
    )
    one_life: bool = option(True, "an episode ends with the first lost life; off: when the game is over")
    one_stage: bool = option(True, "an episode ends at the flag; off: the game goes on with the next stage")
    progress: Progress = option(
        "position",
        "what counts as progress: new ground to the right, or time gained by a map that exploration makes of the stage",
    )
    skip_idle: bool = option(True, "run on without the agent while it has no control: pipes, growing, screens between")
    max_episode_steps: int = option(4000, "cut an episode after so many steps; 0: never")
    stall_steps: int = option(250, "cut an episode after so many steps without progress; 0: never")
    stall_fails: bool = option(
        False, "end it there like a lost life, with nothing to come; else the learner expects what the critic says"
    )
    noop_max: int = option(0, "begin with 0 to this many idle frames, drawn for every episode (30 is usual)")
    sticky: float = option(0.0, "the probability that a step repeats the previous action instead (0.25 is usual)")
    show_buttons: bool = option(
        False, "show in the picture which buttons are held: a jump begins with pressing A, not with holding it"
    )
    observe: Observe = option(
        "picture",
        "what an agent is shown: the picture; the console's RAM, which says where everything is (--backbone ram); or "
        "both, so that who sees pictures can follow a --teacher who knows more",
    )
    reward: RewardConfig = section(RewardConfig)
    augmentation: AugmentationConfig = section(AugmentationConfig)

    def __post_init__(self) -> None:
        _expect(1 <= self.world <= 8, "--world", "in [1, 8]", self.world)
        _expect(1 <= self.stage <= 4, "--stage", "in [1, 4]", self.stage)
        _expect(1 <= self.stage_span <= 32, "--stage-span", "in [1, 32]", self.stage_span)
        if self.stages and (self.world, self.stage, self.stage_span) != (1, 1, 1):
            raise ConfigError(
                f"--stages {self.stages} names all stages to play: leave --world, --stage and --stage-span"
            )
        _expect(1 <= self.frame_skip <= 60, "--frame-skip", "in [1, 60]", self.frame_skip)
        _expect(1 <= self.frame_stack <= 16, "--frame-stack", "in [1, 16]", self.frame_stack)
        _expect(self.max_episode_steps >= 0, "--max-episode-steps", "0 or more", self.max_episode_steps)
        _expect(self.stall_steps >= 0, "--stall-steps", "0 or more", self.stall_steps)
        _expect(0 <= self.noop_max <= 600, "--noop-max", "in [0, 600]", self.noop_max)
        _expect(0.0 <= self.sticky < 1.0, "--sticky", "in [0, 1)", self.sticky)
        augmentation = self.augmentation
        is_changed = augmentation.augment_shift or augmentation.augment_brightness or augmentation.augment_noise
        if self.observe == "ram" and (self.show_buttons or self.takes_maximum or is_changed):
            raise ConfigError(
                "--observe ram shows no picture: leave --show-buttons, --takes-maximum and --augment-... out"
            )
        if self.reward.shaping == "potential" and self.progress != "map":
            raise ConfigError("--shaping potential is of places on a map: add --progress map")
        if (self.action_set == "custom") != bool(self.actions):
            raise ConfigError(
                "--actions and --action-set custom belong together: "
                "--action-set custom --actions noop right+B right+A+B"
            )

    @property
    def first_stage(self) -> tuple[int, int]:
        """World and stage of the first that is named."""
        named = re.match(r"\s*(\d+)-(\d)", self.stages)
        if not self.stages:
            return self.world, self.stage
        return (int(named[1]), int(named[2])) if named else (1, 1)

    @property
    def has_several_stages(self) -> bool:
        is_list = self.stages == "all" or "," in self.stages or ".." in self.stages
        return is_list if self.stages else self.stage_span > 1 or self.random_stage


@dataclass(frozen=True, kw_only=True, slots=True)
class MarioVectorEnvConfig:
    """Many environments, stepped together."""

    num_envs: int = option(8, "environments that are stepped together")
    num_threads: int = option(0, "threads that step them; 0: all cores")
    seed: int = option(0, "what every random choice of the environments is drawn from")
    vectorization: Vectorization = option(
        "native", "native: threads in one process; async: a process for each environment; sync: one after another"
    )
    worker_timeout: float = option(60.0, "seconds of silence after which the process of an environment is replaced")
    backend: Backend = option("native", "whose console: our own, nes-py's (gym-super-mario-bros), or fc-emulator's")
    env: MarioEnvConfig = section(MarioEnvConfig)

    def __post_init__(self) -> None:
        _expect(1 <= self.num_envs <= 1 << 16, "--num-envs", "in [1, 65536]", self.num_envs)
        _expect(0 <= self.num_threads <= 1024, "--num-threads", "in [0, 1024]", self.num_threads)
        _expect(0 <= self.seed < 1 << 63, "--seed", "in [0, 2^63)", self.seed)
        _expect(self.worker_timeout > 0, "--worker-timeout", "above 0", self.worker_timeout)
        if self.backend != "native" and self.vectorization == "native":
            raise ConfigError(f"--backend {self.backend} has no native batch; add --vectorization async (or sync)")


def _expect(holds: bool, flag: str, expected: str, got: object) -> None:
    if not holds:
        raise ConfigError(f"{flag} must be {expected}, got {got}")
