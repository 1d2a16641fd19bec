"""Text in a node's box, and the size of the box.

All letters have the same width, so that every text fits its box, whichever font displays it.
"""

from unicodedata import east_asian_width

from msgspec import Struct

from sluice.ops.graph.graph import Node

FONT_SIZE, CHAR_WIDTH, LINE_HEIGHT, PADDING = 11, 6.65, 15.0, 8.0
#: Greatest length of a text. A longer text is cut in its middle; the tooltip has all of it.
CHARS_MAX = 44


class Card(Struct, frozen=True):
    """Texts of a box: ``head`` in the first line, ``state`` to its right, and ``key`` in the second line."""

    head: str
    state: str
    key: str

    @property
    def width(self) -> float:
        above = " ".join(filter(None, (self.head, self.state)))
        return max(text_width(above), text_width(self.key)) + 2 * PADDING

    @property
    def height(self) -> float:
        return LINE_HEIGHT * (2 if self.key else 1) + PADDING


def card(node: Node) -> Card:
    return Card(_cut(node.head), node.state or "", _cut(node.key or ""))


def text_width(text: str) -> float:
    return CHAR_WIDTH * sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _cut(text: str) -> str:
    half = CHARS_MAX // 2
    return text if len(text) <= CHARS_MAX else f"{text[:half]}…{text[-half:]}"
