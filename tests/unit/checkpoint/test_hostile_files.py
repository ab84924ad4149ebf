"""Files that somebody else wrote: damaged, lying, or out for harm. All are refused, quickly, and nothing runs."""

import io
import json
import os
import pickle
import random
import struct
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from mario_a3c.checkpoint.container import seal
from mario_a3c.checkpoint.migrations import FORMAT
from mario_a3c.checkpoint.store import load_checkpoint, save_checkpoint, to_bytes
from mario_a3c.checkpoint.store import pack as pack_state
from mario_a3c.errors import CheckpointError
from tests.support.checkpoints import small_metadata, small_state

GOOD = to_bytes(pack_state(small_state(3)), small_metadata(3))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return save_checkpoint(tmp_path / "good.pt", small_state(3), small_metadata(3))


def expect_refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    started = time.process_time()
    with pytest.raises(CheckpointError, match=path.name) as error:
        load_checkpoint(path)
    assert time.process_time() - started < 1.0
    return str(error.value)


# Damage


def test_every_cut_is_noticed(tmp_path: Path) -> None:
    for length in sorted({*range(0, len(GOOD), max(1, len(GOOD) // 200)), len(GOOD) - 1}):
        expect_refused(tmp_path / "cut.pt", GOOD[:length])


def test_every_flipped_bit_is_noticed_also_without_the_json(tmp_path: Path) -> None:
    places = random.Random(0)
    for _ in range(500):
        content = bytearray(GOOD)
        content[places.randrange(len(GOOD))] ^= 1 << places.randrange(8)
        expect_refused(tmp_path / "flipped.pt", bytes(content))


def test_torch_alone_would_not_have_noticed() -> None:
    at = GOOD.index(struct.pack("<f", 3.0) * 8)
    content = bytearray(GOOD)
    content[at + 2] ^= 1
    torch.load(io.BytesIO(bytes(content)), weights_only=True)


def test_a_sealed_file_is_one_that_torch_reads(good: Path) -> None:
    plain = torch.load(good, weights_only=True)
    assert json.loads(plain["metadata"])["update"] == 3
    assert plain["format"] == FORMAT
    assert zipfile.ZipFile(good).testzip() is None


# Attacks


class Harm:
    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def harms(canary: Path) -> Iterator[Harm]:
    yield Harm(os.system, f"touch {canary}")
    yield Harm(eval, f"open({str(canary)!r}, 'w')")
    yield Harm(exec, f"open({str(canary)!r}, 'w')")
    yield Harm(open, str(canary), "w")
    yield Harm(os.mkdir, str(canary))


def attacks(canary: Path) -> Iterator[bytes]:
    """Pickles as they are, in torch's archive, in its older container, and sealed as if we had written them."""
    for harm in harms(canary):
        yield pickle.dumps(harm, protocol=2)
        yield torch_file(harm)
        yield seal(torch_file({"format": FORMAT, "metadata": "{}", "tree": "{}", "tensors": {"a": harm}}))
        yield torch_file({"weights": harm}, is_archive=False)


def torch_file(content: Any, *, is_archive: bool = True) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, _use_new_zipfile_serialization=is_archive)
    return buffer.getvalue()


def test_twenty_attacks_are_refused_and_nothing_runs(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    contents = list(attacks(canary))
    assert len(contents) == 20
    for content in contents:
        expect_refused(tmp_path / "attack.pt", content)
        (tmp_path / "attack.pt").unlink()
    assert not canary.exists()


def test_the_attacks_are_real(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    pickle.loads(next(attacks(canary)))
    assert canary.exists()


# Lies in headers


def with_recipe(
    recipe: bytes, *, storages: Mapping[str, bytes] | None = None, more: Mapping[str, bytes] | None = None
) -> bytes:
    """An archive like torch's, with a description of our own; sealed, so that only its contents can betray it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", recipe)
        archive.writestr("archive/byteorder", b"little")
        archive.writestr("archive/version", b"3\n")
        for key, content in (storages or {}).items():
            archive.writestr(f"archive/data/{key}", content)
        for name, content in (more or {}).items():
            archive.writestr(name, content)
    return seal(buffer.getvalue())


def recipe_of(content: Any) -> bytes:
    with zipfile.ZipFile(io.BytesIO(torch_file(content))) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))


def plain(**tensors: torch.Tensor) -> dict[str, Any]:
    return {"format": FORMAT, "metadata": "{}", "tree": "{}", "tensors": tensors}


def texts(metadata: str = "{}", tree: str = "{}", found: Any = FORMAT) -> bytes:
    return seal(torch_file({"format": found, "metadata": metadata, "tree": tree, "tensors": {}}))


def lies() -> dict[str, Callable[[], bytes]]:
    one = torch.ones(4)
    return {
        "a storage that is larger than its bytes": lambda: with_recipe(
            recipe_of(plain(a=one)), storages={"0": bytes(8)}
        ),
        "a storage that is not there": lambda: with_recipe(recipe_of(plain(a=one))),
        "a tensor beyond its storage": lambda: with_recipe(
            recipe_of(plain(a=one)).replace(b"K\x00K\x04\x85", b"K\x02K\x04\x85"), storages={"0": bytes(16)}
        ),
        "a tensor that is larger than any memory": lambda: seal(torch_file(plain(a=one[:1].expand(1 << 40)))),
        "a tensor with a gradient": lambda: seal(torch_file(plain(a=one.clone().requires_grad_()))),
        "a sparse tensor": lambda: seal(torch_file(plain(a=one.to_sparse()))),
        "a parameter": lambda: seal(torch_file(plain(a=torch.nn.Parameter(one)))),
        "too many entries": lambda: with_recipe(
            recipe_of(plain()), storages={str(index): b"" for index in range(10_000)}
        ),
        "an entry that goes somewhere": lambda: with_recipe(recipe_of(plain()), more={"../../up": b"x"}),
        "two roots": lambda: with_recipe(recipe_of(plain()), more={"other/version": b"3"}),
        "a description without end": lambda: with_recipe(b"\x80\x02" + b"}0" * 300_000),
        "a description of 10^5 dicts": lambda: with_recipe(b"\x80\x02" + b"}q\x00" * 100_000 + b"."),
        "a description that is cut": lambda: with_recipe(recipe_of(plain(a=one))[:-5], storages={"0": bytes(16)}),
        "a description that is empty": lambda: with_recipe(b""),
        "a list": lambda: seal(torch_file([1, 2])),
        "other tensors": lambda: seal(torch_file({"weights": one})),
        "no JSON": lambda: texts(metadata="{"),
        "JSON 10^5 deep": lambda: texts(tree="[" * 100_000),
        "a tree 10^5 deep": lambda: texts(tree='{"a":' * 100_000 + "1" + "}" * 100_000),
        "a key twice": lambda: texts(tree='{"a": 1, "a": 2}'),
        "a tree that is a number": lambda: texts(tree="1e308"),
        "metadata that are a list": lambda: texts(metadata="[]"),
        "a tensor that is not there": lambda: texts(tree='{"a": {"$tensor": "b"}}'),
        "an array of objects": lambda: texts(tree='{"a": {"$array": "b", "dtype": "|O", "shape": [1]}}'),
        "a newer format": lambda: texts(found=FORMAT + 1),
        "a format that is a text": lambda: texts(found="2"),
        "an archive in an archive": lambda: with_recipe(recipe_of(plain()), storages={"0": GOOD}, more={"x": GOOD}),
        "packed entries": packed_archive,
        "a directory at the end of the world": lambda: GOOD[:-103] + b"PK\5\6" + b"\xff" * 18 + GOOD[-81:],
        "a seal on nothing": lambda: GOOD[-81:],
    }


def packed_archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", recipe_of(plain(a=torch.zeros(1 << 20))))
        archive.writestr("archive/data/0", bytes(1 << 22))
    return seal(buffer.getvalue())


@pytest.mark.parametrize("name", lies())
def test_a_header_that_lies_is_refused_within_a_second(tmp_path: Path, name: str) -> None:
    expect_refused(tmp_path / "lie.pt", lies()[name]())


def test_the_lies_are_told_about_files_that_would_be_good(tmp_path: Path) -> None:
    """What only the lie makes bad: the same archives without it are read."""
    one = torch.ones(4)
    for content in (
        with_recipe(recipe_of(plain(a=one)), storages={"0": bytes(16)}),
        texts(metadata='{"update": 1}', tree='{"a": {"b": 1}}'),
        seal(torch_file(plain(a=one[:1].clone()))),
    ):
        (tmp_path / "good.pt").write_bytes(content)
        load_checkpoint(tmp_path / "good.pt")


@pytest.mark.slow
def test_five_thousand_mutations_neither_crash_nor_pass(tmp_path: Path) -> None:
    """Sealed after the change, so that the digest is right and the contents are wrong."""
    choices = random.Random(1)
    with zipfile.ZipFile(io.BytesIO(GOOD)) as archive:
        recipe = archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))
        storages = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist() if "/data/" in name}
    path = tmp_path / "mutated.pt"
    num_read = 0
    for _ in range(5_000):
        changed = bytearray(recipe)
        for _ in range(choices.randint(1, 4)):
            changed[choices.randrange(len(changed))] = choices.randrange(256)
        path.write_bytes(with_recipe(bytes(changed), storages=storages))
        try:
            load_checkpoint(path)
            num_read += 1
        except CheckpointError:
            pass
    assert num_read < 5_000 * 0.8  # most of the recipe is texts, in which any letter is as good as another
