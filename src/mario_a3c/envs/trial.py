"""One environment, made and stepped in a process of its own: what blocks there is written down, and ends it.

`python -m mario_a3c.envs.trial --backend nes-py --rom FILE --cache-dir FOLDER --seconds 20`
"""

import argparse
import faulthandler
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.envs.config import Backend, MarioEnvConfig, MarioVectorEnvConfig
from mario_a3c.envs.mario_batch import MarioBatch
from mario_a3c.errors import MarioError
from mario_a3c.native.config import EngineConfig, RomConfig


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="native")
    parser.add_argument("--rom", type=Path, required=True)
    parser.add_argument("--cache-dir", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=20.0, help="after so many the stacks are written")
    arguments = parser.parse_args(argv)
    faulthandler.dump_traceback_later(arguments.seconds, exit=True)
    started = time.monotonic()
    try:
        make_and_step(arguments.backend, arguments.rom, arguments.cache_dir)
    except MarioError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"made and stepped in {time.monotonic() - started:.2f} s")
    return 0


def make_and_step(backend: Backend, rom_path: Path, cache_dir: Path) -> None:
    rom, cache = RomConfig(rom=rom_path, allow_unknown_rom=True), CacheDir.open(CacheConfig(cache_dir=cache_dir))
    if backend == "native":  # needs no Gymnasium
        batch = MarioBatch(
            MarioVectorEnvConfig(num_envs=1, num_threads=1), rom=rom, cache=cache,
            engine=EngineConfig(engine="interpreter"),
        )  # fmt: skip
        batch.step(np.zeros(1, np.int64))
        batch.close()
        return
    from mario_a3c.envs.factory import create_eval_env

    env = create_eval_env(MarioEnvConfig(), render_mode=None, backend=backend, rom=rom, cache=cache)
    env.reset(seed=0)
    env.step(0)
    env.close()


if __name__ == "__main__":
    sys.exit(main())
