"""`mario doctor`: looks at this machine piece by piece and says what each missing thing costs."""

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mario_a3c.cache_dir import CacheConfig, CacheDir
from mario_a3c.config.command_line import parse_command
from mario_a3c.errors import ExitCode, MarioError
from mario_a3c.models.config import ExecutionConfig, ModelConfig
from mario_a3c.models.torch_probe import ONEDNN_LIMIT, TorchError, describe_torch, probe_cpu_bfloat16
from mario_a3c.native.config import RomConfig
from mario_a3c.native.library import load_library
from mario_a3c.native.rom import find_rom
from mario_a3c.options import option, section

SUPPORTED_PYTHON = ((3, 10), (3, 14))
_LITTLE_DISK_BYTES = 5_000_000_000  # a long run with videos and checkpoints
_NUM_ACTIONS = 7  # the usual set; each more adds one row to a head
_NO_DISK_BYTES = 200_000_000  # not even one checkpoint with its consoles

# Whoever came through the launcher has another Python on the PATH than the one that runs this.
_PIP = f"{sys.executable} -m pip install"

# Packages nobody must have: what they are for, and the extra of pyproject.toml that brings them.
OPTIONAL_PACKAGES = (
    ("tensorboard", "curves in TensorBoard", "tensorboard"),
    ("optuna", "hyper-parameter search", "search"),
    ("wandb", "metrics mirrored to Weights & Biases", "wandb"),
    ("duckdb", "a run's metrics as one Parquet table", "parquet"),
    ("matplotlib", "curves of `mario status --plot`", "plot"),
    ("av", "videos of episodes", "video"),
    ("moviepy", "Gymnasium's own video recorder", "video"),
    ("pygame", "a window for playing and watching", "window"),
    ("stable_retro", "the reference emulators, for comparison", "reference"),
)

# Consoles, and the package each needs.
_BACKENDS = {"native": None, "nes-py": "nes_py", "fc-emulator": "fc_emulator"}
_TRIAL_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Arguments:
    """Check Python, compiler, native library, ROM, an environment on each console, PyTorch, disk, optional packages."""

    show_model: bool = option(False, "also build the network and say how big it is", flag="--model")
    model: ModelConfig = section(ModelConfig)
    execution: ExecutionConfig = section(ExecutionConfig)
    rom: RomConfig = section(RomConfig)
    cache: CacheConfig = section(CacheConfig)


@dataclass(frozen=True, slots=True)
class Finding:
    """`fail` keeps the program from working, `warn` costs something, `note` is a matter of taste."""

    status: Literal["ok", "note", "warn", "fail"]
    subject: str
    detail: str


def main(argv: Sequence[str]) -> int:
    arguments = parse_command(Arguments, argv, prog="mario doctor")
    findings = []
    for finding in examine(arguments):
        print(f"{finding.status:<5} {finding.subject:<12} {finding.detail}", flush=True)
        findings.append(finding)
    failed = [finding.subject for finding in findings if finding.status == "fail"]
    print(f"\nto be mended first: {', '.join(failed)}" if failed else "\nready")
    return ExitCode.ENVIRONMENT if failed else ExitCode.DONE


def examine(arguments: Arguments) -> Iterator[Finding]:
    yield check_python()
    yield from failing("compiler", check_compiler)
    yield from failing("library", check_library)
    cache: CacheDir | None = None
    try:
        cache = CacheDir.open(arguments.cache)
    except MarioError as error:
        yield Finding("fail", "cache", f"{error} (the ROM cannot be looked for without it)")
    else:
        yield Finding("ok", "cache", str(cache.root))
        yield from failing("rom", functools.partial(check_rom, arguments.rom, cache))
        yield from failing("environment", functools.partial(check_environments, arguments.rom, cache))
    yield from failing("torch", lambda: check_torch(cache))
    yield from failing("disk", check_disk)
    yield from check_optional_packages()
    if arguments.show_model:
        yield from failing("model", lambda: check_model(arguments, cache))


def failing(subject: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """A check whose own error is its finding."""
    try:
        yield from check()
    except (MarioError, OSError) as error:
        yield Finding("fail", subject, str(error))


def check_python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    oldest, newest = SUPPORTED_PYTHON
    if oldest <= sys.version_info[:2] <= newest:
        return Finding("ok", "python", f"{version} ({sys.executable})")
    return Finding("warn", "python", f"{version} is not supported; 3.{oldest[1]} to 3.{newest[1]} are")


def check_compiler() -> Iterator[Finding]:
    named = os.environ.get("CXX")
    for name in [named] if named else ["c++", "g++", "clang++"]:
        path = shutil.which(name)
        if path is not None:
            yield Finding("ok", "compiler", f"{_version_of(path)} ({path})")
            return
    yield Finding(
        "warn",
        "compiler",
        f"{'CXX names ' + named + ', which is not there' if named else 'no C++ compiler'}: the native library cannot "
        "be built again when its sources change; install g++ (Debian, Ubuntu: apt-get install g++)",
    )


def _version_of(program: str) -> str:
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=10, check=False
        ).stdout
    except subprocess.TimeoutExpired:
        return "does not say its version"
    return (said.splitlines() or ["unknown version"])[0]


def check_library() -> Iterator[Finding]:
    library = load_library()
    sources = library.mario_source_hash().decode()[:12]
    yield Finding("ok", "library", f"{library._name}, ABI {library.mario_abi_version()}, sources {sources}")


def check_rom(config: RomConfig, cache: CacheDir) -> Iterator[Finding]:
    rom = find_rom(config, cache)
    if rom is None:
        yield Finding("warn", "rom", "not here yet; it is fetched at first use, or now with `mario rom`")
    else:
        yield Finding("ok", "rom", f"{rom.title}, from {rom.source} ({rom.path})")


def check_environments(config: RomConfig, cache: CacheDir) -> Iterator[Finding]:
    """One on each console that is here."""
    rom = find_rom(config, cache)
    if rom is None:
        return
    for backend, package in _BACKENDS.items():
        if package is None or importlib.util.find_spec(package) is not None:
            folders = ["--rom", str(rom.path), "--cache-dir", str(cache.root)]
            command = [sys.executable, "-m", "mario_a3c.envs.trial", "--backend", backend, *folders]
            yield try_environment(backend, [*command, "--seconds", str(_TRIAL_SECONDS)], _TRIAL_SECONDS)


def try_environment(backend: str, command: Sequence[str], seconds: float) -> Finding:
    """In a process of its own, which writes down where it hangs before it is ended for that."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds + 10, check=False
        )
    except subprocess.TimeoutExpired:
        return Finding("fail", "environment", f"{backend}: silent for {seconds + 10:.0f} s, and without a stack")
    if done.returncode == 0:
        return Finding("ok", "environment", f"{backend}: {done.stdout.strip()}")
    said = done.stderr.strip()
    ending = f"ended with exit code {done.returncode}: {said or 'it said nothing'}"
    why = f"blocks; its stack:\n{said}" if said.startswith("Timeout (") else ending
    return Finding("fail" if backend == "native" else "warn", "environment", f"{backend}: {why}")


def check_torch(cache: CacheDir | None) -> Iterator[Finding]:
    try:
        torch = describe_torch()
    except TorchError as error:
        yield Finding("fail", "torch", f"cannot be used: {error}; `{_PIP} -r requirements.txt` installs the tested one")
        return
    yield Finding("ok", "torch", f"{torch.version}, {torch.num_threads} CPU threads")
    if torch.cuda_devices:
        yield Finding("ok", "gpu", ", ".join(torch.cuda_devices))
    else:
        yield Finding("warn", "gpu", "torch sees no CUDA device: everything runs on the CPU, which is slower")
    yield check_bfloat16(cache, torch.version)


def check_bfloat16(cache: CacheDir | None, torch_version: str) -> Finding:
    report = probe_cpu_bfloat16(cache, torch_version)
    if report.support == "works":
        return Finding("ok", "cpu bfloat16", "works")
    if report.support == "limited":
        setting = " ".join(f"{name}={value}" for name, value in ONEDNN_LIMIT.items())
        return Finding("ok", "cpu bfloat16", f"works with {setting} ({report.reason})")
    return Finding("warn", "cpu bfloat16", f"does not work ({report.reason}): mixed precision on the CPU is off")


def check_model(arguments: Arguments, cache: CacheDir | None) -> Iterator[Finding]:
    from mario_a3c.models.actor_critic import MarioActorCritic
    from mario_a3c.models.execution import choose_device, decide_execution
    from mario_a3c.models.size import measure_size

    config = arguments.model.for_device(choose_device(arguments.execution.device_to_choose).type)
    size = measure_size(MarioActorCritic(config, _NUM_ACTIONS))
    memory = f", {size.num_state_bytes:,} bytes of memory for each environment" if size.num_state_bytes else ""
    yield Finding(
        "ok",
        "model",
        f"{config.backbone}, memory {config.recurrent_type}: {size.num_parameters:,} parameters, "
        f"{size.num_multiply_adds:,} multiply-adds per decision{memory}",
    )
    way = decide_execution(arguments.execution, config.backbone, cache)
    yield Finding("ok", "execution", f"{way.device}, {way.precision}, compilation {way.compilation} ({way.reason})")


def check_disk() -> Iterator[Finding]:
    here = Path.cwd()
    free_bytes = shutil.disk_usage(here).free
    free = f"{free_bytes / 1e9:.1f} GB free in {here}"
    if free_bytes < _NO_DISK_BYTES:
        yield Finding("fail", "disk", f"{free}: no room for a checkpoint")
    elif free_bytes < _LITTLE_DISK_BYTES:
        yield Finding("warn", "disk", f"{free}: a long run with videos can need more")
    else:
        yield Finding("ok", "disk", free)


def check_optional_packages() -> Iterator[Finding]:
    for package, purpose, extra in OPTIONAL_PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:  # without an origin it is a mere folder of that name
            yield Finding("ok", package, purpose)
        else:
            yield Finding("note", package, f"not installed, so without {purpose}: {_PIP} 'mario-a3c[{extra}]'")
