"""What of the screen is seen, and how large."""

from dataclasses import dataclass

from mario_a3c.native.bindings import ViewRecord

SCREEN_WIDTH = 256
SCREEN_HEIGHT = 240


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """A part of the screen (even numbers), shrunk to `out_height` x `out_width`.

    Grey is the luma (77 R + 150 G + 29 B + 128) / 256, shrunk by exact area averages. Colour keeps its size.
    """

    x: int = 0
    y: int = 0
    width: int = SCREEN_WIDTH
    height: int = SCREEN_HEIGHT
    out_width: int = 84
    out_height: int = 84
    is_rgb: bool = False

    def __post_init__(self) -> None:
        # Negative numbers would be huge ones on the other side; what else is wrong with a view, the console says.
        if min(self.x, self.y, self.width, self.height, self.out_width, self.out_height) < 0:
            raise ValueError(f"a view has no negative numbers, got {self}")

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.out_height, self.out_width, 3) if self.is_rgb else (self.out_height, self.out_width)

    def as_record(self) -> ViewRecord:
        return ViewRecord(self.x, self.y, self.width, self.height, self.out_width, self.out_height, self.is_rgb)


SCREEN_RGB = View(out_width=SCREEN_WIDTH, out_height=SCREEN_HEIGHT, is_rgb=True)
SCREEN_GREY = View(out_width=SCREEN_WIDTH, out_height=SCREEN_HEIGHT)
