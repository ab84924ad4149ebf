"""Nothing that comes from outside is executed: calls that could are not in the sources, but for those named here."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("scripts/*.py"), ROOT / "train.py", ROOT / "test.py"])
UNSAFE = {"eval", "exec", "compile", "__import__", "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.loads",
          "yaml.load", "shelve.open", "os.system", "os.popen", "torch.jit.load", "torch.hub.load"}  # fmt: skip
UNSAFE_ATTRIBUTES = {"extractall"}
ALLOWED: dict[tuple[str, str], str] = {}
"""(file, call) -> why it is harmless."""


def unsafe_calls(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        options = {each.arg: ast.unparse(each.value) for each in node.keywords}
        if name in UNSAFE or name.rpartition(".")[2] in UNSAFE_ATTRIBUTES:
            yield name
        if name == "torch.load" and options.get("weights_only") != "True":
            yield "torch.load without weights_only=True"
        if options.get("shell") == "True" or options.get("allow_pickle") == "True":
            yield f"{name} with {options}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_source_calls_what_executes_data(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    assert [call for call in unsafe_calls(path.read_text()) if (name, call) not in ALLOWED] == []


@pytest.mark.parametrize(
    "source",
    [
        "eval(x)", "pickle.loads(x)", "torch.load(p)", "torch.load(p, weights_only=False)", "a.extractall(p)",
        "subprocess.run(x, shell=True)", "numpy.load(p, allow_pickle=True)", "yaml.load(x)",
    ],
)  # fmt: skip
def test_the_rule_notices_what_it_forbids(source: str) -> None:
    assert list(unsafe_calls(source))
