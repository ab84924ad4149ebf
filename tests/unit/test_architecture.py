"""The house keeps its order: imports point downward, and each library has one place."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src" / "mario_a3c"

# From the roof to the cellar; a room imports only from rows below its own. Rooms still to come have their place.
ROWS = (
    ("__main__",),
    ("cli",),
    ("bench", "search", "dashboard"),
    ("training",),
    ("config",),
    ("collectors", "learning", "evaluation", "exploration", "monitoring"),
    ("acting", "video"),
    ("envs", "models", "algorithms", "experience", "metrics", "checkpoint"),
    ("native",),
    ("run_dir", "cache_dir", "stateful", "durable_file", "random_numbers"),
    ("errors", "options"),
    ("__init__",),
)
HEIGHT = {room: -row for row, rooms in enumerate(ROWS) for room in rooms}

# One library, one place.
HOMES = {
    "ctypes": {"native", "monitoring"},  # the console's library; the GPU driver's
    "gymnasium": {"envs"},
    "tensorboard": {"metrics"},
    "wandb": {"metrics"},
    "duckdb": {"metrics"},
    "matplotlib": {"metrics"},
    "optuna": {"search"},
    "ray": {"search", "training"},
    "tyro": {"config"},
    "msgspec": {"config"},
    "av": {"video"},
}


def room_of(path: Path) -> str:
    relative = path.relative_to(SOURCES)
    return relative.parts[0].removesuffix(".py")


def imports_of(source: str) -> Iterator[str]:
    """Every imported module, wherever in the file, in full: `mario_a3c.native.rom`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            assert node.module is not None
            yield from (
                [f"mario_a3c.{each.name}" for each in node.names] if node.module == "mario_a3c" else [node.module]
            )


def wrong_imports(room: str, source: str) -> list[str]:
    wrong = []
    for module in imports_of(source):
        first, _, rest = module.partition(".")
        if first == "mario_a3c":
            target = rest.split(".")[0] if rest.split(".")[0] in HEIGHT else "__init__"
            if target != room and HEIGHT[target] >= HEIGHT[room]:
                wrong.append(f"{room} imports {module}")
        elif room not in HOMES.get(first, {room}):
            wrong.append(f"{room} imports {first}, which belongs to {' and '.join(sorted(HOMES[first]))}")
    return wrong


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES)))
def test_imports_point_downward_and_each_library_has_one_place(path: Path) -> None:
    assert room_of(path) in HEIGHT, f"{room_of(path)} has no place in ROWS"
    assert wrong_imports(room_of(path), path.read_text()) == []


@pytest.mark.parametrize(
    "path",
    sorted({*SOURCES.rglob("config.py"), *SOURCES.rglob("__init__.py"), *SOURCES.glob("config/*.py")}),
    ids=lambda path: str(path.relative_to(SOURCES)),
)
def test_configs_and_package_files_are_free_of_torch(path: Path) -> None:
    assert {module.split(".")[0] for module in imports_of(path.read_text())}.isdisjoint({"torch", "numpy"})


def test_the_rule_notices_what_it_forbids() -> None:
    assert wrong_imports("native", "from mario_a3c.envs import x") == ["native imports mario_a3c.envs"]
    assert wrong_imports("models", "def f():\n    import mario_a3c.envs.mario") != []
    assert wrong_imports("errors", "from mario_a3c import options") != []
    assert wrong_imports("models", "import gymnasium") == ["models imports gymnasium, which belongs to envs"]
    assert wrong_imports("cli", "from mario_a3c import __version__\nfrom mario_a3c.native.rom import Rom") == []


def test_no_room_is_empty() -> None:
    for folder in SOURCES.iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert any(path.name != "__init__.py" for path in folder.glob("*.py")), folder
