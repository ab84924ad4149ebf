"""Which stages are played: from what people write to the stages of a cartridge."""

from collections.abc import Sequence

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.errors import ConfigError
from mario_a3c.native.rom import Rom
from mario_a3c.native.start_states import Stage, stages_of


def stages_to_play(config: MarioEnvConfig, rom: Rom) -> list[Stage]:
    """The stages that a config names, in order: one, a span, a list or all of them, less those that are held out."""
    everything = stages_of(rom)
    chosen = parse_stages(config.stages, everything) if config.stages else _span(config, rom.title, everything)
    held_out = parse_stages(config.held_out_stages, everything, "--held-out-stages") if config.held_out_stages else []
    strangers = [str(stage) for stage in held_out if stage not in chosen]
    if strangers or len(held_out) == len(chosen):
        raise ConfigError(
            f"--held-out-stages {config.held_out_stages}: "
            + (f"{', '.join(strangers)} would not be played anyway" if strangers else "no stage is left to play")
            + "; name some, not all, of the stages of --stages"
        )
    return [stage for stage in chosen if stage not in held_out]


def parse_stages(text: str, everything: Sequence[Stage], flag: str = "--stages") -> list[Stage]:
    """`all`, or a list of stages and of spans of stages."""
    if text == "all":
        return list(everything)
    chosen: list[Stage] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        try:
            ends = [everything.index(Stage.parse(each)) for each in (first, last or first)]
        except ValueError as error:
            raise ConfigError(
                f"{flag} {text}: {error}; this game has {everything[0]} to {everything[-1]}, "
                "given like 1-1,8-4 or 1-1..2-4, or all"
            ) from error
        chosen += everything[ends[0] : ends[1] + 1]
    if not chosen:
        raise ConfigError(f"{flag} {text} names no stage; spans go forward, like 1-1..2-4")
    return list(dict.fromkeys(chosen))


def _span(config: MarioEnvConfig, title: str, everything: Sequence[Stage]) -> list[Stage]:
    first = Stage(config.world, config.stage)
    if first not in everything:
        raise ConfigError(f"--world {config.world}: {title} ends with {everything[-1]}")
    if config.random_stage and config.stage_span == 1:
        return list(everything)
    at = everything.index(first)
    if at + config.stage_span > len(everything):
        raise ConfigError(
            f"--stage-span {config.stage_span} from {first} leads beyond {everything[-1]}; "
            f"there are {len(everything) - at} stages from there"
        )
    return list(everything[at : at + config.stage_span])
