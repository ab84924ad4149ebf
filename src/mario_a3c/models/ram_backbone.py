"""What the game's memory says, as the player would tell it: what is near, how far away, how fast, and where we are.

Nobody plays the real game by its memory, but a small network that does learns a stage some thirty times as fast as one
that sees pictures, and can be followed by that (learning by cheating, Chen et al. 2019): `--observe`, `--teacher`.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from mario_a3c.models.initialisation import orthogonal
from mario_a3c.native.console import RAM_BYTES
from mario_a3c.native.environments import ram_rows

# The game keeps everything that moves in rows of 22: the player, six enemies (the last may be a power-up), two
# fireballs, four bumped blocks, nine hammers, flames and coins.
_NUM_OBJECTS = 22
_X_SPEED, _X_PAGE, _X, _Y_SPEED, _Y_SCREEN, _Y = 0x57, 0x6D, 0x86, 0x9F, 0xB5, 0xCE
_ENEMIES, _MISC = slice(1, 7), slice(13, 22)  # of those rows
_PRESENT = (*range(0x0F, 0x15), *range(0x2A, 0x33))  # one byte for each enemy and each of the nine
_NUM_NEAR = len(_PRESENT)
_KINDS, _STATES, _TIMERS, _NUM_ENEMIES = 0x16, 0x1E, 0x0796, 6
_HAMMER, _NUM_KINDS = 64, 65  # enemies are numbered below 64; the nine others have no number
_FIRST_FIREBAR, _LAST_FIREBAR, _NUM_ANGLES = 0x1B, 0x1F, 32  # whose vertical speed is their angle
_ROOM, _LEVEL = (0xE7, 0xE8), (0x075F, 0x075C)
# Two screens of 13 x 16 blocks around the one that is shown, the first row at line 32.
_BLOCKS, _BLOCKS_OF_SCREEN, _BLOCK_ROWS, _FIRST_BLOCK_LINE, _BLOCK = 0x0500, 0xD0, 13, 32, 16
_COINS = (0xC2, 0xC3)  # blocks that stop nobody
_COLUMNS, _ROWS = range(-4, 13), range(-7, 8)  # around the player
_FARTHEST = 192  # pixels
_LINES = 512  # of the screen, the one above and the one below
_LINE = 4  # told apart by so many
# Distances are told by how near they are to each of these: finest where a pixel decides.
_MARKS = (0.0, 4.0, 8.0, 13.0, 19.0, 26.0, 34.0, 44.0, 56.0, 72.0, 96.0, 128.0)
# Bytes that are read bit by bit: buttons, now and before; what the player does, which way it looks, its size; the lift
# that it stands on, swimming, crouching; timers of jumps, hits and stomps; and what frames and intervals count.
_BITS_OF = (
    0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1D, 0x33, 0x45, 0x0704, 0x0714, 0x0754, 0x0756,
    0x0782, 0x0783, 0x0786, 0x0791, 0x079E, 0x079F, 0x077F, 0x06DA, 0x06D9, 0x0745,
)  # fmt: skip
_FRACTIONS = (0x0400, 0x0416, 0x0705, 0x0433)  # of a pixel: place and speed, across and down
_NUM_NUMBERS = 5 + len(_FRACTIONS)
_NUM_MOTIONS, _NUM_STATE_BITS = 5, 7
_OBJECT_SIZE, _PLACE_SIZE, _NUM_PLACES = 64, 32, 16384  # some 8,000 places are in the game


class RamBackbone(nn.Module):
    """uint8 frames [B, S, H, W], the last rows of the newest holding the RAM -> float32 features [B, hidden_size].

    What is read needs no gradient, so all of it goes through large layers as numbers, which compute in `precision`.
    """

    precision: torch.dtype = torch.float32

    present: Tensor
    nearness: Tensor
    columns: Tensor
    rows: Tensor
    bits: Tensor
    bits_of: Tensor

    def __init__(self, hidden_size: int, width: int) -> None:
        super().__init__()
        self._num_rows = ram_rows(width)
        tables = {
            "present": torch.tensor(_PRESENT),
            "nearness": _nearness_table(),
            "columns": torch.tensor(_COLUMNS),
            "rows": torch.tensor(_ROWS),
            "bits": torch.arange(8, dtype=torch.uint8),
            "bits_of": torch.tensor(_BITS_OF),
        }
        for name, table in tables.items():  # made beforehand: a recorded step must not copy from the host
            self.register_buffer(name, table, persistent=False)
        num_told = 2 * self.nearness.shape[1] + _NUM_KINDS + _NUM_ANGLES + _NUM_MOTIONS + _NUM_STATE_BITS
        self.objects = orthogonal(nn.Linear(num_told, _OBJECT_SIZE), 2**0.5)
        num_blocks = len(_COLUMNS) * len(_ROWS)
        num_plain = num_blocks + len(_ROWS) + 8 * len(_BITS_OF) + _NUM_NUMBERS + _LINES // _LINE
        self.plain = orthogonal(nn.Linear(num_plain, hidden_size), 2**0.5)
        self.place = nn.Embedding(_NUM_PLACES, _PLACE_SIZE)
        nn.init.normal_(self.place.weight, std=0.1)
        self.learned = orthogonal(nn.Linear(_OBJECT_SIZE + _PLACE_SIZE, hidden_size, bias=False), 1.0)
        self.fc = orthogonal(nn.Linear(hidden_size, hidden_size), 2**0.5)

    def forward(self, observations: Tensor) -> Tensor:
        ram = observations[:, -1, -self._num_rows :].flatten(1)[:, :RAM_BYTES]
        with torch.no_grad():
            x, y = _x(ram), _y(ram)
            plain = torch.cat([self._blocks(ram, x, y), self._player(ram, x, y)], dim=1)
            objects, is_there = self._near(ram, x, y)
            places = _place(ram, x)
        with torch.autocast(ram.device.type, self.precision, enabled=self.precision != torch.float32):
            learned = torch.cat([self._sum_of(objects, is_there), self.place(places)], dim=1)
            features = functional.relu(self.plain(plain) + self.learned(learned))
            features = functional.relu(self.fc(features))
        return features.float()

    def _sum_of(self, objects: Tensor, is_there: Tensor) -> Tensor:
        """Of what each object says, alike wherever it is kept: [B, _NUM_NEAR, ...] -> [B, _OBJECT_SIZE]."""
        # A recorded step computes for all, there or not; a compiled one would be compiled anew for each number of them.
        if objects.is_cuda or torch.compiler.is_compiling():
            return (functional.relu(self.objects(objects)) * is_there[..., None]).sum(1)
        # Mostly there are two or three of fifteen: a quarter less time, forward and backward (256 features, one core).
        rows = is_there.flatten().nonzero()[:, 0]
        said = functional.relu(self.objects(objects.flatten(0, 1).index_select(0, rows)))
        return said.new_zeros(len(objects), _OBJECT_SIZE).index_add(0, rows // _NUM_NEAR, said)

    def _near(self, ram: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """What moves: [B, _NUM_NEAR, ...], and which of it is there, near the player."""
        across, down = (_near_of(each) - each[:, :1] for each in (x, y))
        is_near = (across.abs() < _FARTHEST) & (down.abs() < _FARTHEST)
        is_there = (ram.index_select(1, self.present) != 0) & is_near
        others = (0, _NUM_NEAR - _NUM_ENEMIES)  # of which the game knows less
        kinds = functional.pad(_span(ram, _KINDS, _NUM_ENEMIES).int() % _HAMMER, others, value=_HAMMER)
        angles = functional.pad(_span(ram, _Y_SPEED + 1, _NUM_ENEMIES).int(), others)
        is_firebar = (kinds >= _FIRST_FIREBAR) & (kinds <= _LAST_FIREBAR)
        states = functional.pad(_span(ram, _STATES, _NUM_ENEMIES), others)
        timers = functional.pad(_span(ram, _TIMERS, _NUM_ENEMIES), others)
        motions = [
            (_near_of(_signed(ram, _X_SPEED)) / 32).clamp(-4, 4),
            (_near_of(_signed(ram, _Y_SPEED)) / 4).clamp(-4, 4),
            across / 64,
            down / 64,
            (timers / 16.0).clamp(max=4.0),
        ]
        told = [
            self.nearness[across.clamp(-_FARTHEST, _FARTHEST) + _FARTHEST],
            self.nearness[down.clamp(-_FARTHEST, _FARTHEST) + _FARTHEST],
            _one_of(kinds, _NUM_KINDS),
            _one_of(angles % _NUM_ANGLES, _NUM_ANGLES) * is_firebar[..., None],
            torch.stack(motions, dim=-1),
            (states[..., None] >> self.bits & 1)[..., :_NUM_STATE_BITS],
        ]
        return torch.cat([each.to(self.precision) for each in told], dim=-1), is_there

    def _blocks(self, ram: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """What stops the player: the blocks around it, and which rows lie below the screen. [B, ...]"""
        column = (x[:, :1] >> 4) + self.columns
        row = (y[:, :1] + _BLOCK - _FIRST_BLOCK_LINE >> 4) + self.rows
        screen, on_screen = (column >> 4) % 2, column % _BLOCK
        address = _BLOCKS + _BLOCKS_OF_SCREEN * screen[:, None] + on_screen[:, None]
        address = address + _BLOCK * row.clamp(0, _BLOCK_ROWS - 1)[..., None]
        block = ram.gather(1, address.flatten(1)).view_as(address)
        stops = (block != 0) & (block != _COINS[0]) & (block != _COINS[1])
        is_known = ((row >= 0) & (row < _BLOCK_ROWS))[..., None]
        return torch.cat([(stops & is_known).flatten(1), row >= _BLOCK_ROWS], dim=1).to(self.precision)

    def _player(self, ram: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """Where it is within a block and on the screen, how fast it is, what it does and survives. [B, ...]"""
        numbers = [
            x[:, 0] % _BLOCK / _BLOCK,
            y[:, 0] % _BLOCK / _BLOCK,
            (y[:, 0] / 64).clamp(-4, 8),
            _signed(ram, _X_SPEED)[:, 0] / 32,
            (_signed(ram, _Y_SPEED)[:, 0] / 4).clamp(-4, 4),
            *(ram[:, address] / 256 for address in _FRACTIONS),
        ]
        bits = ram.index_select(1, self.bits_of)[..., None] >> self.bits & 1
        lines = (y[:, 0] + _LINES // 2).clamp(0, _LINES - 1) // _LINE
        told = [torch.stack(numbers, dim=1), bits.flatten(1), _one_of(lines, _LINES // _LINE)]
        return torch.cat([each.to(self.precision) for each in told], dim=1)


def _place(ram: Tensor, x: Tensor) -> Tensor:
    """Which stretch of which room of which stage: a number that two places share by chance alone. [B]"""
    room = ram[:, _ROOM[0]].long() + 256 * ram[:, _ROOM[1]].long()
    level = ram[:, _LEVEL[0]].long() * 8 + ram[:, _LEVEL[1]].long()
    mixed = (room * 64 + level) * 0x9E3779B1 + (x[:, 0] // _BLOCK) * 0x85EBCA77
    return (mixed >> 7) % _NUM_PLACES


def _nearness_table() -> Tensor:
    """For every distance, how near it is to each mark: 1 there, falling to nothing on both sides. [distances, marks]"""
    positive = torch.tensor(_MARKS)
    marks = torch.cat([-positive.flip(0)[:-1], positive])
    distances = torch.arange(-_FARTHEST, _FARTHEST + 1).float()
    return (-((distances[:, None] - marks) / (0.25 * marks.abs() + 4.0)).square()).exp()


def _near_of(rows: Tensor) -> Tensor:
    """Of everything that moves, what the player meets: [B, 22] -> [B, _NUM_NEAR]."""
    return torch.cat([rows[:, _ENEMIES], rows[:, _MISC]], dim=1)


def _one_of(numbers: Tensor, count: int) -> Tensor:
    return numbers[..., None] == torch.arange(count, device=numbers.device)


def _x(ram: Tensor) -> Tensor:
    """[B, 22] in pixels from the left end of the room."""
    return 256 * _span(ram, _X_PAGE).int() + _span(ram, _X)


def _y(ram: Tensor) -> Tensor:
    """[B, 22] in lines from the top of the screen, downwards."""
    return 256 * (_span(ram, _Y_SCREEN).int() - 1) + _span(ram, _Y)


def _signed(ram: Tensor, address: int) -> Tensor:
    return _span(ram, address).contiguous().view(torch.int8).float()


def _span(ram: Tensor, address: int, number: int = _NUM_OBJECTS) -> Tensor:
    return ram[:, address : address + number]
