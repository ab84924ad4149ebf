"""What is near the player is told in the player's own coordinates."""

import math

import pytest
import torch
from torch import Tensor

from mario_a3c.models.ram_critic import RamCritic
from mario_a3c.models.surroundings import Surroundings

PLAYER, FIRST_ENEMY, POWER_UP, FIRST_FIREBALL, FIRST_HAMMER = 0, 1, 6, 7, 13
NUM_MARKS = 23
OF_OBJECT = 5 + 2 * NUM_MARKS
MARKS = (-128, -96, -72, -56, -44, -34, -26, -19, -13, -8, -4, 0, 4, 8, 13, 19, 26, 34, 44, 56, 72, 96, 128)


def empty_memory() -> Tensor:
    memory = torch.zeros(2048, dtype=torch.uint8)
    put(memory, PLAYER, x=300, y=176)
    return memory


def put(memory: Tensor, number: int, *, x: int, y: int, x_speed: int = 0, y_speed: int = 0) -> None:
    memory[0x6D + number], memory[0x86 + number] = x >> 8, x & 255
    memory[0xB5 + number], memory[0xCE + number] = (y >> 8) + 1, y & 255
    memory[0x57 + number], memory[0x9F + number] = x_speed % 256, y_speed % 256
    if 1 <= number <= 6:
        memory[0x0F + number - 1] = 1
    elif number > 6:
        memory[0x24 + number - 7] = 1


def put_block(memory: Tensor, column: int, row: int, kind: int = 0x54) -> None:
    memory[0x500 + 0xD0 * (column // 16 % 2) + column % 16 + 16 * row] = kind


def told(memory: Tensor) -> Tensor:
    row: Tensor = Surroundings()(memory[None])[0]
    return row


def object_of(row: Tensor, number: int) -> Tensor:
    return row[OF_OBJECT * (number - 1) :][:OF_OBJECT]


def blocks_of(row: Tensor) -> Tensor:
    return row[21 * OF_OBJECT + 6 * 72 :][: 15 * 17].view(15, 17)


def test_every_number_has_its_place() -> None:
    memory = torch.randint(0, 256, (3, 4, 2048), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    surroundings = Surroundings()
    row = surroundings(memory)
    assert row.shape == (3, 4, surroundings.num_outputs)
    assert row.isfinite().all()
    assert row.abs().max() < 20
    assert torch.equal(row[1, 2], told(memory[1, 2]))


@pytest.mark.parametrize("number", [FIRST_ENEMY, 5, POWER_UP, FIRST_FIREBALL, FIRST_HAMMER, 21])
def test_what_moves_is_told_by_distance_and_speed(number: int) -> None:
    memory = empty_memory()
    put(memory, PLAYER, x=300, y=176, x_speed=24, y_speed=-3)
    put(memory, number, x=275, y=184, x_speed=-8, y_speed=1)
    row = told(memory)
    expected = [1.0, -25 / 64, 8 / 64, -32 / 32, 4 / 4]
    for distance in (-25, 8):
        expected += [math.exp(-(((distance - mark) / (abs(mark) / 4 + 4)) ** 2)) for mark in MARKS]
    torch.testing.assert_close(object_of(row, number), torch.tensor(expected))
    others = [each for each in range(1, 22) if each != number]
    assert not any(object_of(row, other).any() for other in others)


def test_what_is_not_there_or_far_away_is_not_told() -> None:
    for x, y, is_told in ((300 + 191, 176, True), (300 + 192, 176, False), (300, 176 - 192, False), (108, 0, False)):
        memory = empty_memory()
        put(memory, FIRST_ENEMY, x=x, y=y)
        memory[0x16] = 6
        assert bool(object_of(told(memory), FIRST_ENEMY).any()) == is_told
        memory[0x0F] = 0
        assert torch.equal(told(memory), told(empty_memory()))


def test_what_an_enemy_is_and_what_it_does() -> None:
    memory = empty_memory()
    put(memory, 2, x=320, y=176)
    memory[0x17], memory[0x1F] = 6, 0b10000001
    enemies = told(memory)[21 * OF_OBJECT :][: 6 * 72].view(6, 72)
    assert enemies.nonzero().tolist() == [[1, 6], [1, 64], [1, 71]]


@pytest.mark.parametrize("x", [300, 5, 255, 256, 511, 512, 3000])
def test_blocks_are_where_the_player_sees_them(x: int) -> None:
    """Standing at line 176, on the ground: row 11 of the blocks, the first below the player's own."""
    memory = empty_memory()
    put(memory, PLAYER, x=x, y=176)
    put_block(memory, x // 16, 11)
    put_block(memory, x // 16 + 3, 8)
    put_block(memory, x // 16 - 2, 10, kind=0xC2)  # a coin
    assert blocks_of(told(memory)).nonzero().tolist() == [[7 - 2, 4 + 3], [7 + 1, 4]]


def test_what_is_above_and_below_the_screen_is_not_a_block() -> None:
    memory = empty_memory()
    memory[0x500:0x6A0] = 0x54
    for y in (176, 32, 240):
        put(memory, PLAYER, x=300, y=y)
        row = told(memory)
        first = (y - 16) // 16 - 7
        expected = [0 <= first + line < 13 for line in range(15)]
        assert blocks_of(row).bool().all(dim=1).tolist() == expected, y
        assert row[-24:-9].tolist() == [float(first + line >= 13) for line in range(15)]


def test_moving_everything_by_whole_screens_changes_nothing() -> None:
    memories = []
    for shift in (0, 512):
        memory = empty_memory()
        put(memory, PLAYER, x=300 + shift, y=150, x_speed=20)
        put(memory, FIRST_ENEMY, x=330 + shift, y=160, x_speed=-8)
        put_block(memory, (300 + shift) // 16 + 1, 9)
        memories.append(told(memory))
    assert torch.equal(*memories)


def test_a_critic_learns_a_collision_course_from_few_examples() -> None:
    """Whether an enemy comes nearer than a block depends on a difference of numbers that bits hide."""
    generator = torch.Generator().manual_seed(0)
    memory = torch.zeros(1024, 2048, dtype=torch.uint8)
    distances = torch.randint(-60, 61, (len(memory),), generator=generator)
    for row, distance in zip(memory, distances.tolist(), strict=True):
        x = int(torch.randint(200, 3000, (), generator=generator))
        put(row, PLAYER, x=x, y=176)
        put(row, FIRST_ENEMY, x=x + distance, y=184)
    wanted = (distances.abs() < 16).float()
    left_out = {}
    for name, surroundings in (("told", Surroundings()), ("bits", None)):
        torch.manual_seed(0)
        critic = RamCritic(4, 2048, 64, surroundings=surroundings)
        optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
        features = torch.zeros(len(memory), 4)
        for _ in range(60):
            loss = (critic(memory[:512], features[:512]) - wanted[:512]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            left_out[name] = float((critic(memory[512:], features[512:]) - wanted[512:]).square().mean())
    assert left_out["told"] < 0.3 * left_out["bits"]
