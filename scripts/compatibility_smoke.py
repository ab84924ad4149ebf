"""Goes on with one checkpoint under other versions of torch, gymnasium and nes-py, and prints a table.

`python scripts/compatibility_smoke.py --gymnasium 1.1.1 1.4.0 --nes-py 8.2.1 9.0.0`. Each version is put into a folder
that comes before the installed one; nothing that is installed changes. nes-py is played where a version is named.
"""

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

INSTALLED = "installed"
PACKAGES = ("torch", "gymnasium", "nes-py")
TRAIN = [
    "-m", "mario_a3c", "train", "--preset", "cpu", "--device", "cpu", "--engine", "interpreter", "--quiet",
    "--num-envs", "4", "--minibatches", "2", "--rollout-steps", "8", "--no-tensorboard",
]  # fmt: skip
PLAY = """
import sys
from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.envs import MarioEnvConfig, create_eval_env
for backend in sys.argv[1:]:
    env = create_eval_env(MarioEnvConfig(), backend=backend, cache=CacheDir.open(CacheConfig()))
    env.reset(seed=0)
    for _ in range(20):
        env.step(env.action_space.sample())
    env.close()
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for package in PACKAGES:
        parser.add_argument(f"--{package}", nargs="+", default=[INSTALLED], metavar="VERSION")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be tried")
    arguments = vars(parser.parse_args())
    combinations = list(itertools.product(*(arguments[package.replace("-", "_")] for package in PACKAGES)))
    if arguments["dry_run"]:
        for combination in combinations:
            print(
                "would try "
                + ", ".join(f"{name} {version}" for name, version in zip(PACKAGES, combination, strict=True))
            )
        return 0
    print("| torch | gymnasium | nes-py | goes on | plays |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        results = [attempt(Path(folder), combination) for combination in combinations]
    return 0 if all(results) else 1


def attempt(folder: Path, combination: tuple[str, ...]) -> bool:
    """One row: a run that the installed versions began goes on under these, and an episode is played."""
    begun = folder / "begun"
    if not begun.exists():
        succeed([*TRAIN, "--save-dir", str(begun), "--run-name", "smoke", "--total-updates", "2"])
    runs = folder / "-".join(combination)
    shutil.copytree(begun, runs, symlinks=True)
    overlays = [overlay(folder, *each) for each in zip(PACKAGES, combination, strict=True) if each[1] != INSTALLED]
    paths = [*map(str, overlays), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    resumed = [*TRAIN, "--resume", str(runs / "smoke"), "--total-updates", "3"]
    backends = ["native"] if combination[-1] == INSTALLED else ["native", "nes-py"]
    outcomes = [reason(resumed, environment), reason(["-c", PLAY, *backends], environment)]
    print("| " + " | ".join([*combination, *(outcome or "yes" for outcome in outcomes)]) + " |", flush=True)
    return not any(outcomes)


def overlay(folder: Path, package: str, version: str) -> Path:
    target = folder / f"{package}-{version}"
    if not target.exists():
        succeed(["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), f"{package}=={version}"])
    return target


def succeed(command: list[str]) -> None:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)


def reason(command: list[str], environment: dict[str, str]) -> str:
    """Why it failed; nothing where it did not."""
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"no ({done.returncode}): {(done.stderr.strip().splitlines() or ['?'])[-1]}"


if __name__ == "__main__":
    sys.exit(main())
