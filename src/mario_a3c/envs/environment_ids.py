"""The names under which people know these environments: those of gym-super-mario-bros, with and without our prefix."""

import dataclasses
import re
from collections.abc import Iterator

from mario_a3c.envs.config import MarioEnvConfig
from mario_a3c.errors import ConfigError
from mario_a3c.native.known_roms import Game, Graphics, dumps_of

NAMESPACE = "mario_a3c"

_VERSIONS: tuple[Graphics, ...] = ("standard", "downsample", "pixel", "rectangle")
_GAMES: dict[str, Game] = {"SuperMarioBros": "super-mario-bros", "SuperMarioBros2": "lost-levels"}
_NUM_WORLDS: dict[Game, int] = {"super-mario-bros": 8, "lost-levels": 4}
_PATTERN = re.compile(r"(?:mario_a3c/)?(SuperMarioBros2?)(?:(RandomStages)|-(\d)-(\d))?-v(\d)")


def config_of_id(name: str, base: MarioEnvConfig | None = None) -> MarioEnvConfig:
    """The config that an id stands for: `SuperMarioBros-1-1-v0`, `SuperMarioBrosRandomStages-v1`, `SuperMarioBros2-v0`.

    An id without a stage is the whole game: it begins in 1-1 with three lives, and goes on after the flag. What an id
    does not say comes from `base`.
    """
    match = _PATTERN.fullmatch(name)
    if match is None or int(match[5]) >= len(_VERSIONS):
        raise ConfigError(f"there is no environment {name!r}; an id is like SuperMarioBros-1-1-v0 (to -8-4-v3)")
    game, graphics = _GAMES[match[1]], _VERSIONS[int(match[5])]
    if not dumps_of(game, graphics):
        raise ConfigError(f"{name}: {match[1]} exists as v0 and v1 alone")
    chosen = dataclasses.replace(base or MarioEnvConfig(), game=game, graphics=graphics, stage_span=1, stages="")
    if match[2]:
        return dataclasses.replace(chosen, random_stage=True, world=1, stage=1)
    if match[3] is None:
        return dataclasses.replace(chosen, random_stage=False, world=1, stage=1, one_life=False, one_stage=False)
    if not (1 <= int(match[3]) <= _NUM_WORLDS[game] and 1 <= int(match[4]) <= 4):
        raise ConfigError(f"{name}: there is no stage {match[3]}-{match[4]}")
    return dataclasses.replace(chosen, random_stage=False, world=int(match[3]), stage=int(match[4]))


def known_ids() -> Iterator[str]:
    """Every id, without the prefix."""
    for title, game in _GAMES.items():
        for version, graphics in enumerate(_VERSIONS):
            if not dumps_of(game, graphics):
                continue
            yield f"{title}-v{version}"
            yield f"{title}RandomStages-v{version}"
            for world in range(1, _NUM_WORLDS[game] + 1):
                yield from (f"{title}-{world}-{stage}-v{version}" for stage in range(1, 5))
