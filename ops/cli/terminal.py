"""Output to a terminal: styles, and the filter for text of jobs.

A ``Screen`` writes styled text to a stream: in colour on a terminal, plain otherwise.

On a terminal, the text of jobs must not move the cursor, set the title, or send input for the user. So it is filtered
(``harmless``). Colours, tabs and line ends stay. Every other control character is replaced, and so are the characters
that reverse the order of others. Files and pipes get the bytes unchanged.
"""

import codecs
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import TextIO

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

    def write(self, text: str) -> None:
        """Write a text without a line end."""
        self._stream.write(text)
        self._stream.flush()

    def clear(self) -> None:
        """Clear the terminal. A file or a pipe gets an empty line."""
        self.write("\x1b[H\x1b[2J\x1b[3J" if self.is_terminal else "\n")

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


_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_RESET = "\x1b[0m"
#: A colour, a line end of another operating system, or a character that a terminal acts upon.
_CONTROLS = re.compile(
    "(?P<colour>\x1b\\[[0-9;]{0,32}m)|(?P<end>\r+\n)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
#: Maximum number of characters at the end of a piece that may be the start of a colour.
_COLOUR_CHARS_MAX = 36


def harmless(text: str) -> str:
    """Return the text without harmful characters. Its colours end with it."""
    made = _CONTROLS.sub(_kept, text)
    return made + _RESET if "\x1b" in made else made


def harmless_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield UTF-8 text without harmful characters. The pieces may end at any byte."""
    decoder, held, has_colour = codecs.getincrementaldecoder("utf-8")("replace"), "", False
    for piece in pieces:
        text = held + decoder.decode(piece)
        held = _begun(text)
        made = _CONTROLS.sub(_kept, text[: len(text) - len(held)])
        has_colour = has_colour or "\x1b" in made
        yield made.encode()
    yield _CONTROLS.sub(_kept, held + decoder.decode(b"", final=True)).encode()
    if has_colour:
        yield _RESET.encode()


def _begun(text: str) -> str:
    """Return the end of the text if the next piece may continue it."""
    place = max(text.rfind("\x1b"), len(text.rstrip("\r")) if text.endswith("\r") else -1)
    tail = text[place:] if place >= 0 else ""
    return "" if len(tail) > _COLOUR_CHARS_MAX or "m" in tail else tail


def _kept(found: re.Match[str]) -> str:
    if found["colour"]:
        return found["colour"]
    return "\n" if found["end"] else _REPLACEMENT
