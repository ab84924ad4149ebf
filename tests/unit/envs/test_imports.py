"""The learner's path needs no Gymnasium, and configs need no NumPy."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "blocked"),
    [
        ("mario_a3c.envs.mario_batch", ("gymnasium", "torch", "cloudpickle", "pygame")),
        ("mario_a3c.envs.env_batch", ("gymnasium", "torch")),
        ("mario_a3c.envs.progress_map", ("gymnasium", "torch")),
        ("mario_a3c.envs.config", ("gymnasium", "torch", "numpy")),
        ("mario_a3c.envs.play", ("gymnasium", "torch", "pygame")),
    ],
)
def test_a_module_is_imported_without(module: str, blocked: tuple[str, ...]) -> None:
    script = f"import sys\nfor name in {blocked}: sys.modules[name] = None\nimport {module}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
