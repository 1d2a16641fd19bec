"""Output of styled text to a stream: in colour on a terminal, plain otherwise."""

import os
import shutil
from collections.abc import Iterable
from typing import TextIO

from sluice.ops.cli.harmless import harmless, harmless_pieces
from sluice.ops.cli.page import Block, Spans

_SGR = {
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "white": "37",
    "bright_black": "90",
}


class Screen:
    """Stream for styled text. ``width`` is None if lines have no limit."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()
        self.width = shutil.get_terminal_size().columns if self.is_terminal else None
        self._is_coloured = (
            self.is_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        )

    def print(self, *blocks: Block) -> None:
        for block in blocks:
            for spans in block.lines(self.width):
                self._stream.write(self._painted(spans) + "\n")
        self._stream.flush()

    def pour(self, pieces: Iterable[bytes]) -> None:
        """Write the text of a job byte for byte, and complete its last line. On a terminal it is made harmless."""
        self._stream.flush()
        pieces = harmless_pieces(pieces) if self.is_terminal else pieces
        last = b"\n"
        for piece in pieces:
            self._stream.buffer.write(piece)
            last = piece or last
        if not last.endswith(b"\n"):
            self._stream.buffer.write(b"\n")
        self._stream.buffer.flush()

    def _painted(self, spans: Spans) -> str:
        """Replace characters that the stream's encoding lacks, because a readable key is more useful than an error."""
        text = "".join(
            self._span(harmless(text) if self.is_terminal else text, style) for text, style in spans
        )
        return text.encode(self._stream.encoding, "replace").decode(self._stream.encoding)

    def _span(self, text: str, style: str) -> str:
        codes = ";".join(_SGR[word] for word in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and self._is_coloured else text
