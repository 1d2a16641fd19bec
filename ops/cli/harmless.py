"""Filter for text of jobs on a terminal. The text must not move the cursor, set the title, or send input for the user.

Colours stay. Every other control character is replaced, and so are the characters that reverse the order of others.
Files and pipes get the bytes unchanged.
"""

import codecs
import re
from collections.abc import Iterable, Iterator

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
