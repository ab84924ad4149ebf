"""The tree of the components' own configs."""

from dataclasses import dataclass

from mario_a3c.cache_dir import CacheConfig
from mario_a3c.native.config import RomConfig
from mario_a3c.options import section


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """Everything that decides a training run. Components are handed their own part, never the whole."""

    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)
