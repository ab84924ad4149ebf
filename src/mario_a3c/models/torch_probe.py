"""What PyTorch can do on this machine, found out in child processes.

A child can die where this process must not: on some CPUs the first bfloat16 kernel of oneDNN ends in SIGILL, because
the CPU announces instructions (AMX) that the machine around it does not let a program use. Told to stay below them,
oneDNN works. The answer is cached: each try costs an import of torch.
"""

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mario_a3c.cache_dir import CacheDir
from mario_a3c.durable_file import write_durably

ONEDNN_LIMIT = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
_TIMEOUT_SECONDS = 120

_DESCRIBE = """
import json, torch
cuda = torch.cuda.is_available()
names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if cuda else []
print(json.dumps({"version": torch.__version__, "num_threads": torch.get_num_threads(), "cuda_devices": names}))
"""

# A convolution and a matrix product with gradients: the kernels that training uses.
_TRY_BFLOAT16 = """
import torch
net = torch.nn.Sequential(torch.nn.Conv2d(4, 16, 3), torch.nn.Flatten(), torch.nn.Linear(16 * 36, 8))
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = net(torch.ones(32, 4, 8, 8)).float().square().mean()
loss.backward()
assert torch.isfinite(loss)
"""


@dataclass(frozen=True, slots=True)
class TorchReport:
    version: str
    num_threads: int
    cuda_devices: list[str]


@dataclass(frozen=True, slots=True)
class Bfloat16Report:
    """`limited`: works when the variables of ONEDNN_LIMIT are set before torch is first used."""

    support: Literal["works", "limited", "broken"]
    reason: str


class TorchError(Exception):
    """This Python cannot use torch; the message is the last line it printed, or how it died."""


def describe_torch() -> TorchReport:
    done = _run_child(_DESCRIBE, {})
    if done.returncode != 0:
        raise TorchError(_last_words(done))
    return TorchReport(**json.loads(done.stdout.splitlines()[-1]))


def probe_cpu_bfloat16(cache: CacheDir | None, torch_version: str) -> Bfloat16Report:
    """Whether bfloat16 autocast works on this CPU; the first sure answer for a CPU and a torch version is kept."""
    if cache is None:
        return _try_bfloat16()
    remembered = cache.folder("probes") / f"cpu-bfloat16-{_machine_key(torch_version)}.json"
    report = _recall(remembered)
    if report is None:
        report = _try_bfloat16()
        if report.support != "broken":  # which may be an accident of today: too little memory, a slow disk
            write_durably(remembered, json.dumps(asdict(report), indent=2).encode())
    return report


def _try_bfloat16() -> Bfloat16Report:
    plain = _run_child(_TRY_BFLOAT16, {})
    if plain.returncode == 0:
        return Bfloat16Report("works", "as it is")
    limited = _run_child(_TRY_BFLOAT16, ONEDNN_LIMIT)
    if limited.returncode == 0:
        return Bfloat16Report("limited", f"without the limit: {_last_words(plain)}")
    return Bfloat16Report("broken", _last_words(limited))


def _run_child(program: str, variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", program]
    try:
        return subprocess.run(
            command,
            env={**os.environ, **variables},
            cwd=sys.prefix,  # not where the user stands: a torch.py there would be imported
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer within {_TIMEOUT_SECONDS} s")


def _last_words(done: "subprocess.CompletedProcess[str]") -> str:
    if done.returncode < 0:
        return f"killed by {signal.Signals(-done.returncode).name}"
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def _recall(remembered: Path) -> Bfloat16Report | None:
    """The kept answer; none where the file is missing or was damaged, and the probe then runs again."""
    try:
        report = Bfloat16Report(**json.loads(remembered.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return report if report.support in ("works", "limited") else None


def _machine_key(torch_version: str) -> str:
    return hashlib.sha256(f"{torch_version} {cpu_model()}".encode()).hexdigest()[:16]


def cpu_model() -> str:
    """The CPU's name and abilities: a cache folder can be shared by machines that differ in either."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))
