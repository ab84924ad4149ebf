"""What is near the player, read from the game's memory and told as the player would see it: how far away, how fast."""

import torch
from torch import Tensor, nn
from torch.nn import functional

# The game keeps everything that moves in rows of 22: the player, six enemies (the last may be a power-up), two
# fireballs, four bumped blocks, nine hammers or coins.
_NUM_OBJECTS = 22
_X_SPEED, _X_PAGE, _X, _Y_SPEED, _Y_SCREEN, _Y = 0x57, 0x6D, 0x86, 0x9F, 0xB5, 0xCE
_PRESENT = (range(0x0F, 0x15), range(0x24, 0x33))  # one byte for each object but the player
_ENEMY_KINDS, _ENEMY_STATES, _NUM_ENEMIES, _NUM_KINDS = 0x16, 0x1E, 6, 64
_X_FRACTION, _Y_FRACTION, _INJURED, _STAR = 0x0400, 0x0416, 0x079E, 0x079F
# Two screens of 13 x 16 blocks around the one that is shown, the first row at line 32.
_BLOCKS, _BLOCKS_OF_SCREEN, _BLOCK_ROWS, _FIRST_BLOCK_LINE, _BLOCK = 0x0500, 0xD0, 13, 32, 16
_COINS = (0xC2, 0xC3)  # blocks that stop nobody
_COLUMNS, _ROWS = range(-4, 13), range(-7, 8)  # around the player
_FARTHEST = 192.0  # pixels
# Distances are told by how near they are to each of these: finest where a pixel decides.
_MARKS = (0.0, 4.0, 8.0, 13.0, 19.0, 26.0, 34.0, 44.0, 56.0, 72.0, 96.0, 128.0)


class Surroundings(nn.Module):
    """uint8 [..., 2048] -> [..., num_outputs]. Moving everything by whole blocks changes nothing but the numbers that
    say where on the screen the player is."""

    present: Tensor
    marks: Tensor
    widths: Tensor
    columns: Tensor
    rows: Tensor
    bits: Tensor

    def __init__(self) -> None:
        super().__init__()
        positive = torch.tensor(_MARKS)
        marks = torch.cat([-positive.flip(0)[:-1], positive])
        tables = {
            "present": torch.tensor([address for part in _PRESENT for address in part]),
            "marks": marks,
            "widths": 0.25 * marks.abs() + 4.0,
            "columns": torch.tensor(_COLUMNS),
            "rows": torch.tensor(_ROWS),
            "bits": torch.arange(8, dtype=torch.uint8),
        }
        for name, table in tables.items():  # made beforehand: a recorded step must not copy from the host
            self.register_buffer(name, table, persistent=False)
        of_objects = (_NUM_OBJECTS - 1) * (5 + 2 * len(marks)) + _NUM_ENEMIES * (_NUM_KINDS + 8)
        self.num_outputs = of_objects + len(_COLUMNS) * len(_ROWS) + len(_ROWS) + 9

    def forward(self, ram: Tensor) -> Tensor:
        memory = ram.flatten(0, -2)
        told = torch.cat([self._objects(memory), self._blocks(memory), _player(memory)], dim=1)
        return told.view(*ram.shape[:-1], self.num_outputs)

    def _objects(self, ram: Tensor) -> Tensor:
        """What moves: whether it is there, how far away, how fast; of enemies also what they are. [B, ...]"""
        x, y = _x(ram), _y(ram)
        across, down = x[:, 1:] - x[:, :1], y[:, 1:] - y[:, :1]
        x_speed, y_speed = _signed(ram, _X_SPEED), _signed(ram, _Y_SPEED)
        is_near = (across.abs() < _FARTHEST) & (down.abs() < _FARTHEST)
        is_there = ((ram.index_select(1, self.present) != 0) & is_near).float()
        plain = torch.stack(
            [
                torch.ones_like(across),
                across / 64,
                down / 64,
                ((x_speed[:, 1:] - x_speed[:, :1]) / 32).clamp(-4, 4),  # of some it is something else
                ((y_speed[:, 1:] - y_speed[:, :1]) / 4).clamp(-4, 4),
            ],
            dim=-1,
        )
        objects = torch.cat([plain, self._nearness(across), self._nearness(down)], dim=-1) * is_there[..., None]
        kinds = functional.one_hot(_span(ram, _ENEMY_KINDS, _NUM_ENEMIES).long() % _NUM_KINDS, _NUM_KINDS)
        states = _span(ram, _ENEMY_STATES, _NUM_ENEMIES)[..., None] >> self.bits & 1
        enemies = torch.cat([kinds, states], dim=-1) * is_there[:, :_NUM_ENEMIES, None]
        return torch.cat([objects.flatten(1), enemies.flatten(1)], dim=1)

    def _blocks(self, ram: Tensor) -> Tensor:
        """What stops the player: the blocks around it, and which rows lie below the screen. [B, ...]"""
        column = (_x(ram)[:, :1].long() >> 4) + self.columns
        row = (_y(ram)[:, :1].long() + _BLOCK - _FIRST_BLOCK_LINE >> 4) + self.rows
        screen, on_screen = (column >> 4) % 2, column % _BLOCK
        address = _BLOCKS + _BLOCKS_OF_SCREEN * screen[:, None] + on_screen[:, None]
        address = address + _BLOCK * row.clamp(0, _BLOCK_ROWS - 1)[..., None]
        block = ram.gather(1, address.flatten(1)).view_as(address)
        stops = (block != 0) & (block != _COINS[0]) & (block != _COINS[1])
        is_known = ((row >= 0) & (row < _BLOCK_ROWS))[..., None]
        return torch.cat([(stops & is_known).flatten(1).float(), (row >= _BLOCK_ROWS).float()], dim=1)

    def _nearness(self, distance: Tensor) -> Tensor:
        """[...] -> [..., marks]: 1 at a mark, falling to nothing on both sides of it."""
        return (-((distance[..., None] - self.marks) / self.widths).square()).exp()


def _player(ram: Tensor) -> Tensor:
    """Where it is within a block, how fast it is, what it survives. [B, 9]"""
    x, y = _x(ram)[:, 0], _y(ram)[:, 0]
    numbers = [
        x % _BLOCK / _BLOCK,
        y % _BLOCK / _BLOCK,
        (y / 64).clamp(-4, 8),
        _signed(ram, _X_SPEED)[:, 0] / 32,
        (_signed(ram, _Y_SPEED)[:, 0] / 4).clamp(-4, 4),
        ram[:, _X_FRACTION].float() / 256,
        ram[:, _Y_FRACTION].float() / 256,
        (ram[:, _INJURED].float() / 8).clamp(max=4),
        (ram[:, _STAR].float() / 8).clamp(max=4),
    ]
    return torch.stack(numbers, dim=1)


def _x(ram: Tensor) -> Tensor:
    """[B, 22] in pixels from the left end of the room."""
    return 256.0 * _span(ram, _X_PAGE) + _span(ram, _X)


def _y(ram: Tensor) -> Tensor:
    """[B, 22] in lines from the top of the screen, downwards."""
    return 256.0 * (_span(ram, _Y_SCREEN).float() - 1) + _span(ram, _Y)


def _signed(ram: Tensor, address: int) -> Tensor:
    return _span(ram, address).view(torch.int8).float()


def _span(ram: Tensor, address: int, number: int = _NUM_OBJECTS) -> Tensor:
    return ram[:, address : address + number]
