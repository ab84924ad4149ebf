"""Random numbers without a state, as the console draws them: a function of seed, episode, step and purpose (Philox)."""

from dataclasses import dataclass
from enum import IntEnum

_MASK = 0xFFFFFFFF


class Purpose(IntEnum):
    START = 0
    IDLE_FRAMES = 1
    STICKY = 2
    SHIFT = 3
    BRIGHTNESS = 4
    NOISE = 5


@dataclass(frozen=True, slots=True)
class Draw:
    """An environment's numbers at one step of one of its episodes."""

    seed: int
    episode: int
    step: int

    def block(self, purpose: Purpose, number: int = 0) -> tuple[int, int, int, int]:
        return philox(self.seed, (self.episode, self.step, int(purpose), number))

    def uniform(self, purpose: Purpose) -> float:
        """In [0, 1), with 53 bits."""
        bits = self.block(purpose)
        return float((bits[0] << 21) ^ (bits[1] >> 11)) * 2.0**-53

    def below(self, purpose: Purpose, limit: int) -> int:
        """In [0, limit)."""
        return (self.block(purpose)[0] * limit) >> 32


def philox(key: int, counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Philox4x32-10 (Salmon et al. 2011)."""
    low, high = key & _MASK, key >> 32 & _MASK
    for _ in range(10):
        one, other = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = ((other >> 32) ^ counter[1] ^ low, other & _MASK, (one >> 32) ^ counter[3] ^ high, one & _MASK)
        low, high = (low + 0x9E3779B9) & _MASK, (high + 0xBB67AE85) & _MASK
    return counter
