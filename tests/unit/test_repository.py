"""What the repository says about itself is true, and what must not be in it is not."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import mario_a3c

TO_COME = " (to come)"
PAIRS = [
    ("README.md", "README.zh-CN.md"),
    ("docs/decision_record.md", "docs/decision_record.zh-CN.md"),
    ("docs/FAQ.md", "docs/FAQ.zh-CN.md"),
    ("docs/operations.md", "docs/operations.zh-CN.md"),
]


@pytest.fixture
def tracked(repository: Path) -> list[Path]:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=repository, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.decode().split("\0") if name and (path := repository / name).is_file()]


def path_map(page: str) -> dict[str, str]:
    """The README's table from documented paths to ours."""
    table = page.partition("| --- | --- |\n| `train.py`")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)`(.*) \|$", "| `train.py`" + table, re.MULTILINE)
    return {documented: ours + note for documented, ours, note in rows}


def code_lines(page: str) -> list[str]:
    """The lines of all code blocks without what is said about them on the right."""
    blocks = re.findall(r"```.*?```", page, re.DOTALL)
    return [re.split(r"\s{2,}| +#", line.strip())[0] for block in blocks for line in block.splitlines()]


def anchors(page: str) -> set[str]:
    """What links may name: every heading as forges write it, in small letters, with hyphens for blanks."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_documented_path_leads_somewhere_and_nothing_finished_is_called_to_come(
    repository: Path, name: str
) -> None:
    mapping = path_map((repository / name).read_text())
    assert len(mapping) == 21
    for documented, ours in mapping.items():
        is_announced = ours.endswith(TO_COME)
        exists = (repository / ours.removesuffix(TO_COME)).exists()
        assert exists != is_announced, f"{documented} -> {ours}"


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_both_languages_are_in_step(repository: Path, english: str, chinese: str) -> None:
    one, other = ((repository / name).read_text() for name in (english, chinese))
    assert code_lines(one) == code_lines(other)
    assert path_map(one) == path_map(other)
    for pattern in (r"^#+ ", r"^\|", r"^- "):
        assert len(re.findall(pattern, one, re.MULTILINE)) == len(re.findall(pattern, other, re.MULTILINE)), pattern
    links = r"\]\((?!README|(?:docs/)?(?:decision_record|FAQ|operations))([^)]+)\)"
    assert sorted(re.findall(links, one)) == sorted(re.findall(links, other))


def test_links_between_pages_lead_to_files_and_headings(tracked: list[Path]) -> None:
    for page in (path for path in tracked if path.suffix == ".md"):
        for name, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text()):
            target = page.parent / name if name else page
            assert target.exists(), f"{page.name}: {name}"
            if anchor:
                assert anchor in anchors(target.read_text()), f"{page.name}: {name}#{anchor}"


def test_the_image_holds_what_the_commands_need(repository: Path) -> None:
    copied = {
        name
        for line in re.findall(r"^COPY (.+)$", (repository / "Dockerfile").read_text(), re.MULTILINE)
        for name in line.split()[:-1]
    }
    assert copied >= {"src", "native", "scripts", "pretrained", "train.py", "test.py"}
    allowed = set(re.findall(r"^!(.+)$", (repository / ".dockerignore").read_text(), re.MULTILINE))
    assert copied <= allowed, "what is not sent cannot be copied"


def test_the_changelog_knows_this_version(repository: Path) -> None:
    assert f"\n## {mario_a3c.__version__}" in (repository / "CHANGELOG.md").read_text()


def test_nothing_of_the_game_is_tracked(tracked: list[Path]) -> None:
    for path in tracked:
        assert path.suffix not in {".nes", ".state", ".so", ".o"}, path
        assert b"NES\x1a" not in path.read_bytes()[:4], path


def test_no_file_records_where_packages_were_downloaded_from(tracked: list[Path]) -> None:
    assert not [path for path in tracked if path.name in {"uv.lock", "poetry.lock", "Pipfile.lock"}]


def test_commands_in_the_readme_exist(repository: Path) -> None:
    from mario_a3c.cli.main import COMMANDS

    page = (repository / "README.md").read_text()
    mentioned = set(re.findall(r"^\| `mario (\w+)`", page, re.MULTILINE))
    assert mentioned == {command.name for command in COMMANDS}
