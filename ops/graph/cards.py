"""What is written in a node's box, and how big that makes it.

The letters are all of one width, so that every text fits its box in whatever font it is shown.
"""

from unicodedata import east_asian_width

from msgspec import Struct

from sluice.ops.graph.graph import Node

FONT_SIZE, CHAR_WIDTH, LINE_HEIGHT, PADDING = 11, 6.65, 15.0, 8.0
#: A longer text is cut in its middle; the whole of it shows when pointed at.
CHARS_MAX = 44


class Card(Struct, frozen=True):
    """``head`` stands above, with the ``state`` to its right, and the ``key`` below."""

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
