"""What a command has to say to people, as lines and tables of styled text. It knows no terminal but its width."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from jobs.states import DEAD, State

#: A text and its style, one after the other on a line.
Spans = list[tuple[str, str]]

#: Prose in a last column narrower than this goes below its row.
PROSE_CHARS_MIN = 24
GAP = "  "

_COLOURS = {
    State.SUCCEEDED: "green",
    State.RUNNING: "cyan",
    State.EXECUTED: "cyan",
    State.READY: "blue",
    State.WAITING: "yellow",
    State.SUSPENDED: "magenta",
    State.EXPECTED: "bright_black",
    State.SKIPPED: "bright_black",
    State.CANCELLED: "bright_black",
}


class Line(Struct, frozen=True):
    """One paragraph, wrapped between words where a terminal is too narrow for it."""

    text: str = ""
    style: str = ""
    indent: int = 0

    def lines(self, width: int | None) -> Iterator[Spans]:
        margin = " " * self.indent
        for text in _wrapped(legible(self.text), width and width - self.indent):
            yield [(margin + text, self.style)]


class Verbatim(Struct, frozen=True):
    """Text exactly as it is: what a job printed, or what another program is to read."""

    text: str
    style: str = ""

    def lines(self, _: int | None) -> Iterator[Spans]:
        yield [(self.text, self.style)]


class Table(Struct, frozen=True):
    """Cells are never broken, for keys are copied from them; a line too long is the terminal's to wrap.

    Only the last column is, where it is ``prose``. Without rows there is nothing, or ``empty``.
    """

    headings: tuple[str, ...]
    rows: Iterable[Sequence[object]]
    prose: bool = False
    empty: str = ""

    def lines(self, width: int | None) -> Iterator[Spans]:
        cells = [[_cell(value) for value in row] for row in self.rows]
        if not cells:
            yield from Line(self.empty, "bright_black").lines(width) if self.empty else ()
            return
        heads = [(heading, "bold") for heading in self.headings]
        widths = [max(len(text) for text, _ in column) for column in zip(heads, *cells, strict=True)]
        yield from self._row(heads, widths, width)
        for row in cells:
            yield from self._row(row, widths, width)

    def _row(self, row: Spans, widths: list[int], width: int | None) -> Iterator[Spans]:
        *fixed, (text, style) = row
        padded = [
            (cell.ljust(chars) + GAP, style) for (cell, style), chars in zip(fixed, widths, strict=False)
        ]
        if not (self.prose and width):
            yield [*padded, (text, style)]
            return
        margin = sum(widths[:-1]) + len(GAP) * len(fixed)
        if len(text) <= width - margin:
            yield [*padded, (text, style)]
        elif width - margin >= PROSE_CHARS_MIN:
            first, *rest = _wrapped(text, width - margin)
            yield [*padded, (first, style)]
            yield from ([(" " * margin + line, style)] for line in rest)
        else:
            yield padded
            yield from Line(text, style, indent=4).lines(width)


Block = Line | Verbatim | Table


def colour(state: State) -> str:
    """The colour a state has wherever it is shown."""
    return _COLOURS.get(state, "red" if state in DEAD else "white")


def legible(text: str) -> str:
    """Without what would move the cursor or ring a bell: keys and errors are users' own words."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def first_line(text: str | None) -> str:
    """What an error says, without the traceback below it."""
    return (text or "").strip().partition("\n")[0]


def _cell(value: object) -> tuple[str, str]:
    if isinstance(value, State):
        return str(value), colour(value)
    return legible("" if value is None else str(value)), ""


def _wrapped(text: str, width: int | None) -> list[str]:
    if not width or len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
