"""Beside other people's emulators: the same buttons give the same memory and the same picture.

They are installed by `.ci/run`; without them these tests are skipped.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mario_a3c.bench.run_through import frames_to_control, run_through, start_game
from mario_a3c.native import Console
from mario_a3c.native.reference_emulators import NesPy, StableRetro, installed_references
from tests.support.play import RandomPlay

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

IDLE_LOOP = 0x8057  # JMP to itself: where the game waits for the next frame
PLAYER_FLOAT_STATE, ON_FLAGPOLE = 0x001D, 3
STAGES = [(1, 1), (1, 2), (2, 2), (3, 1), (4, 4), (5, 3), (6, 2), (7, 4), (8, 1), (8, 3)]
# nes-py's step is this many cycles, and its first ends so much later than ours would.
NES_PY_STEP, NES_PY_OFFSET = 29_781, 2_290
# It counts some instructions a little differently; equal means equal at an instruction boundary this near.
NES_PY_WINDOW = 36


def needs(name: str) -> None:
    if name not in installed_references():
        pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("name", ["nes-py", "stable-retro", "cynes"])
def test_the_recorded_run_reaches_the_flag_there_too(game_rom: Path, name: str) -> None:
    needs(name)
    emulator = installed_references()[name](game_rom)
    for buttons in frames_to_control(start_game(Console(game_rom))):
        emulator.run_frame(buttons)
    reached = False
    for step, buttons in enumerate(run_through()):
        for _ in range(4):
            emulator.run_frame(buttons)
        if step > 450:
            reached = reached or emulator.ram()[PLAYER_FLOAT_STATE] == ON_FLAGPOLE
    assert reached


def test_memory_equals_fceumm_s_for_60000_frames(game_rom: Path) -> None:
    needs("stable-retro")
    theirs, ours, play = StableRetro(game_rom), Console(game_rom), RandomPlay(seed=7)
    ours.power_on(ram_fill=0xFF)
    num_different, was_different = 0, False
    for frame in range(60_000):
        buttons = play.next_buttons(ours.ram)
        theirs.run_frame(buttons)
        ours.run_frame(buttons)
        (different,) = np.nonzero(theirs.ram() != ours.ram)
        if len(different):
            # The game needed longer than a frame, and the two stop a few cycles apart in the middle of its work.
            assert ours.registers().pc != IDLE_LOOP, (frame, different)
            assert not was_different, (frame, different)
            num_different += 1
        was_different = len(different) > 0
    assert not was_different
    assert num_different < 60


class StageStart:
    """Leaves a stage's numbers in memory, as the title screen does for the first, until the game has taken them."""

    def __init__(self, world: int, stage: int) -> None:
        self.has_started = False
        # The area's number; on the way to some there is a cut scene, which is an area, too.
        area = stage + (1 if world in (1, 2, 4, 7) and stage >= 2 else 0)
        self._pokes = {0x075F: world - 1, 0x075C: stage - 1, 0x0760: area - 1}

    def begin_step(self, step: int, play: RandomPlay, *rams: npt.NDArray[np.uint8]) -> int:
        """The buttons for this step. The memories belong to consoles that do the same."""
        if step < 60:
            return 0
        buttons = play.next_buttons(rams[0])
        if not self.has_started:
            for ram in rams:
                ram[list(self._pokes)] = list(self._pokes.values())
            self.has_started = bool(rams[0][0x0770] == 1 and rams[0][0x0772] > 0)
        return buttons


@pytest.mark.parametrize(("world", "stage"), STAGES)
def test_memory_equals_nes_py_s_in_many_stages(game_rom: Path, world: int, stage: int) -> None:
    needs("nes-py")
    theirs, ours, play = NesPy(game_rom), Console(game_rom), RandomPlay(seed=world * 10 + stage)
    game = StageStart(world, stage)
    for step in range(3_000):
        buttons = game.begin_step(step, play, ours.ram, theirs.memory)
        theirs.run_frame(buttons)
        target = NES_PY_STEP * (step + 1) + NES_PY_OFFSET
        assert meets(ours, buttons, target, theirs.memory), f"step {step}"
    assert game.has_started


def meets(console: Console, buttons: int, target: int, ram: npt.NDArray[np.uint8]) -> bool:
    """Whether the console's RAM equals `ram` at an instruction boundary near `target`; stops there, or after it."""
    console.run_to_cycle(buttons, target - NES_PY_WINDOW)
    while (cycle := console.registers().cycle) <= target + NES_PY_WINDOW:
        if np.array_equal(console.ram, ram):
            return True
        console.run_to_cycle(buttons, cycle + 1)
    return False


def test_pictures_equal_fceumm_s(game_rom: Path) -> None:
    needs("stable-retro")
    theirs, ours, play = StableRetro(game_rom), Console(game_rom), RandomPlay(seed=3)
    ours.power_on(ram_fill=0xFF)
    pairs = []
    for frame in range(130 * 40):
        buttons = play.next_buttons(ours.ram)
        theirs.run_frame(buttons)
        ours.run_frame(buttons)
        if frame % 40 == 39:
            seen = theirs.screen()
            height, width = seen.shape[:2]
            top, left = (240 - height) // 2, (256 - width) // 2  # it leaves the border out
            pairs.append((ours.screen()[top : top + height, left : left + width], seen))
    assert len(pairs) >= 100
    assert_same_but_for_the_palette(pairs)


def test_pictures_equal_nes_py_s(game_rom: Path) -> None:
    needs("nes-py")
    pairs = []
    for world, stage in ((1, 1), (1, 2), (2, 2), (4, 4), (8, 3)):
        theirs, ours, play = NesPy(game_rom), Console(game_rom), RandomPlay(seed=stage)
        game = StageStart(world, stage)
        for step in range(25 * 40):
            buttons = game.begin_step(step, play, ours.ram, theirs.memory)
            theirs.run_frame(buttons)
            target = NES_PY_STEP * (step + 1) + NES_PY_OFFSET
            if step % 40 == 39:
                # Its step ends within the picture: the lines above belong to the next frame already.
                pairs.append((picture_on_the_way(ours, buttons, target)[60:], theirs.screen()[60:]))
            ours.run_to_cycle(buttons, target)
        assert game.has_started
    assert len(pairs) >= 100
    assert_same_but_for_the_palette(pairs)


def picture_on_the_way(console: Console, buttons: int, target: int) -> npt.NDArray[np.uint8]:
    """The picture of the frame that ends before a cycle, taken where it ends.

    nes-py's steps are half a cycle longer than frames, hence the margin.
    """
    num_frames = console.frame_count
    console.run_to_cycle(buttons, target - NES_PY_OFFSET - 1000)
    assert console.frame_count == num_frames
    while console.frame_count == num_frames:
        console.run_to_cycle(buttons, console.registers().cycle + 1)
    return console.screen()


def assert_same_but_for_the_palette(pairs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]) -> None:
    """Each emulator has its own colours: one of theirs for each of ours, the same in every picture, is equality."""
    translation: dict[int, Counter[int]] = {}
    coded = [(as_numbers(ours), as_numbers(theirs)) for ours, theirs in pairs]
    for ours, theirs in coded:
        both, counts = np.unique(ours << 24 | theirs, return_counts=True)
        for pair, count in zip(both.tolist(), counts.tolist(), strict=True):
            translation.setdefault(pair >> 24, Counter())[pair & 0xFFFFFF] += count
    assert len(translation) > 8, "too few colours to tell anything"
    for index, (ours, theirs) in enumerate(coded):
        expected = np.zeros_like(ours)
        for mine, seen in translation.items():
            expected[ours == mine] = seen.most_common(1)[0][0]
        wrong = np.argwhere(expected != theirs)
        assert len(wrong) == 0, f"picture {index}: {len(wrong)} pixels differ, the first at {wrong[0]}"


def as_numbers(picture: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = picture.astype(np.int64) @ np.array([65536, 256, 1])
    return numbers
