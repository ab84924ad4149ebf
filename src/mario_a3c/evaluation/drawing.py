"""Letters, bars and frames on pictures; enough for an overlay, without another library."""

import functools

import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]

LETTER_WIDTH, LETTER_HEIGHT = 4, 6  # with the gap

# Three by five pixels: one octal digit for each row, its bits from left to right.
_LETTERS = {
    "A": "25755", "B": "65656", "C": "34443", "D": "65556", "E": "74647", "F": "74644", "G": "34553", "H": "55755",
    "I": "72227", "J": "11152", "K": "55655", "L": "44447", "M": "57755", "N": "57775", "O": "25552", "P": "65644",
    "Q": "25531", "R": "65655", "S": "34216", "T": "72222", "U": "55557", "V": "55552", "W": "55775", "X": "55255",
    "Y": "55222", "Z": "71247", "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717",
    "6": "74757", "7": "71122", "8": "75757", "9": "75717", "-": "00700", "+": "02720", ".": "00002", ":": "02020",
    "%": "51245", "/": "11244", "(": "12221", ")": "42224", "_": "00007", "=": "07070", ",": "00024",
}  # fmt: skip
_UNKNOWN = "72702"


def draw_text(picture: Picture, x: int, y: int, text: str, colour: Colour, scale: int = 1) -> None:
    """Writes capitals, digits and some signs with the top left corner at (x, y); what lies outside is cut off."""
    mask = _text_mask(text.upper(), scale)
    place = picture[y : y + mask.shape[0], x : x + mask.shape[1]]
    place[mask[: place.shape[0], : place.shape[1]]] = colour


@functools.lru_cache(maxsize=4096)
def _text_mask(text: str, scale: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros((LETTER_HEIGHT - 1, max(1, LETTER_WIDTH * len(text))), np.bool_)
    for place, letter in enumerate(text):
        for row, bits in enumerate(_LETTERS.get(letter, _UNKNOWN) if letter != " " else ""):
            mask[row, place * LETTER_WIDTH : place * LETTER_WIDTH + 3] = [int(bits, 8) & bit for bit in (4, 2, 1)]
    return mask.repeat(scale, 0).repeat(scale, 1)


def draw_box(picture: Picture, x: int, y: int, width: int, height: int, colour: Colour) -> None:
    picture[max(0, y) : max(0, y + height), max(0, x) : max(0, x + width)] = colour


def draw_border(picture: Picture, colour: Colour, thickness: int = 2) -> None:
    height, width = picture.shape[:2]
    draw_box(picture, 0, 0, width, thickness, colour)
    draw_box(picture, 0, height - thickness, width, thickness, colour)
    draw_box(picture, 0, 0, thickness, height, colour)
    draw_box(picture, width - thickness, 0, thickness, height, colour)


def rounded(picture: Picture) -> Picture:
    """Each channel at one of six levels: 216 colours, which a GIF can have."""
    return ((picture.astype(np.uint16) + 25) // 51 * 51).astype(np.uint8)
