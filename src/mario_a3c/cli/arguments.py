"""What several commands are asked for, and what they make of it. A command's own options come first in its help."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.native.config import EngineConfig, RomConfig
from mario_a3c.options import option, section

if TYPE_CHECKING:
    from mario_a3c.envs.config import MarioEnvConfig
    from mario_a3c.evaluation.arena import MarioArenas
    from mario_a3c.evaluation.players import Player
    from mario_a3c.evaluation.videos import Studio
    from mario_a3c.native.rom import Rom
    from mario_a3c.training.agent import Agent


@dataclass(frozen=True, kw_only=True, slots=True)
class GameArguments:
    """Of a command that runs the game."""

    engine: EngineConfig = section(EngineConfig)
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)

    def rom_of(self, env: "MarioEnvConfig", cache: CacheDir) -> "Rom":
        from mario_a3c.native.rom import locate_rom

        return locate_rom(self.rom, cache, game=env.game, graphics=env.graphics)

    def studio_of(self, env: "MarioEnvConfig", cache: CacheDir) -> "Studio":
        from mario_a3c.evaluation.videos import Studio
        from mario_a3c.native.start_states import start_states

        rom = self.rom_of(env, cache)
        return Studio(rom, self.engine.engine, cache, start_states(rom, cache), env)


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentArguments(GameArguments):
    """Of a command in which agents play."""

    any_rom: bool = option(False, "play also on another cartridge than an agent was trained on")
    device: str = option("best", "where the networks compute: best, auto, cpu, cuda or cuda:N")

    def rom_for(self, agent: "Agent", cache: CacheDir) -> "Rom":
        """The game that the agent knows, or with `--any-rom` the one that there is."""
        rom = self.rom_of(agent.config.vector_env.env, cache)
        if not self.any_rom:
            agent.expect_rom(rom)
        return rom

    def arenas_for(self, agent: "Agent", player: "Player", cache: CacheDir) -> "MarioArenas":
        from mario_a3c.evaluation.arena import MarioArenas
        from mario_a3c.evaluation.runner import console_threads

        return MarioArenas(agent.config.vector_env.env, self.rom, self.engine, cache, console_threads(player))
