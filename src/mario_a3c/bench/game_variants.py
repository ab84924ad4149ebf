"""What is compared on the game: flags of `mario train`."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from mario_a3c.errors import ConfigError

# So many updates are never made: rates stay as they begin, and a variant that is slower is not further behind on them.
_NO_SCHEDULE = "--total-updates 8000"
BASE_FLAGS = shlex.split(
    "--stages all --action-set complex --progress map --curriculum both --sticky 0.25 --noop-max 30 " + _NO_SCHEDULE
)
UPDATES = "UPDATES"  # in a variant's flags: as many as the first variant made, for schedules that end with the run


@dataclass(frozen=True, slots=True)
class GameVariant:
    """Flags on top of those that all variants have."""

    name: str
    flags: Sequence[str] = ()

    @classmethod
    def parse(cls, text: str) -> "GameVariant":
        """`larger-steps=--lr 1e-3`"""
        name, _, flags = text.partition("=")
        if not name or not flags.startswith("--") or "/" in name:
            raise ConfigError(f"a variant is a name and flags, like 'larger-steps=--lr 1e-3', not {text!r}")
        return cls(name, shlex.split(flags))


def _variants(flags_by_name: dict[str, str]) -> tuple[GameVariant, ...]:
    return tuple(GameVariant(name, shlex.split(flags)) for name, flags in flags_by_name.items())


VARIANTS = _variants(
    {
        "base": "",
        # Where episodes begin, and what they are paid for.
        "own-starts": "--curriculum stages",
        "focus": "--start-order focus",
        "backward": "--start-order backward",
        "no-curriculum": "--curriculum none",
        "death-starts": "--death-starts 0.5",
        "position": "--progress position",
        # How it learns.
        "replay": "--per",
        "one-pass": "--epochs 1",
        "gae": "--target gae",
        "one-pass-gae": "--epochs 1 --target gae",
        "no-entropy": "--entropy-beta 0 --entropy-beta-final 0",
        "more-entropy": "--entropy-beta 0.02 --entropy-beta-final 0.02",
        "falling-entropy": "--entropy-beta 0.02 --entropy-beta-final 0.001 --entropy-schedule linear "
        f"--total-updates {UPDATES} --lr-final-share 1",
        "floor": "--floor-beta 0.001 --floor-beta-final 0.001",
        "long-horizon": f"--gamma-final 0.99 --total-updates {UPDATES} --lr-final-share 1 --entropy-schedule constant",
        "blame-stuck": "--no-excuse-stuck",
        # What it is made of.
        "gru": "--recurrent-type gru",
        "lstm": "--recurrent-type lstm",
        "gtrxl": "--recurrent-type gtrxl",
        "nature": "--backbone nature --nature-channels 32 64 64 --hidden-size 512",
        "wide": "--backbone nature --nature-channels 64 128 128 --hidden-size 1024",
        "impala": "--backbone impala --impala-channels 16 32 32 --residual-blocks 2",
        "deep-impala": "--backbone impala --impala-channels 16 32 32 --residual-blocks 4",
        "narrow-impala": "--backbone impala --impala-channels 8 16 16 --residual-blocks 2",  # for a CPU
        "narrow-deep-impala": "--backbone impala --impala-channels 8 16 16 --residual-blocks 4",
        # Noise: in what it sees, and in its weights.
        "shift": "--augment-shift 4",
        "brightness": "--augment-brightness 40",
        "pixel-noise": "--augment-noise 16",
        "parameter-noise": "--parameter-noise 0.5",
        "noisy-linear": "--noisy-linear",
    }
)
