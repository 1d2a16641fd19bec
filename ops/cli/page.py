"""Output for people as lines and tables of styled text. It depends only on the width of the terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from sluice.jobs.states import DEAD, State
from sluice.ops.text import legible

#: Texts with their styles, one after the other on a line.
Spans = list[tuple[str, str]]

#: Minimum width of a last column with prose. If less room is left, the column goes below its row.
PROSE_CHARS_MIN = 24
GAP = "  "
#: Indentation of cells that have no room on the first line of their row.
INDENT = 4

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
    State.SPLIT: "bright_black",
}


class Paragraph(Struct, frozen=True):
    """Paragraph that is wrapped between words if the terminal is too narrow for it."""

    text: str = ""
    style: str = ""
    indent: int = 0

    def lines(self, width: int | None) -> Iterator[Spans]:
        margin = " " * self.indent
        for text in _wrapped(legible(self.text), width and width - self.indent):
            yield [(margin + text, self.style)]


class StyledLine(Struct, frozen=True):
    """Line of texts with different styles. The caller ensures that it fits."""

    spans: Spans

    def lines(self, _: int | None) -> Iterator[Spans]:
        yield [(legible(text), style) for text, style in self.spans]


class Verbatim(Struct, frozen=True):
    """Unchanged text: the output of a job, or input for another program."""

    text: str
    style: str = ""

    def lines(self, _: int | None) -> Iterator[Spans]:
        yield [(self.text, self.style)]


class Table(Struct, frozen=True):
    """Table with cells that are never broken, because users copy keys from them. If a row is too long, its last cells
    go below it.

    Only a last column with ``prose`` is broken, between words. A table without rows shows ``empty``, or nothing.
    """

    headings: tuple[str, ...]
    rows: Iterable[Sequence[object]]
    prose: bool = False
    empty: str = ""

    def lines(self, width: int | None) -> Iterator[Spans]:
        rows = [[_cell(value) for value in row] for row in self.rows]
        if not rows:
            yield from Paragraph(self.empty, "bright_black").lines(width) if self.empty else ()
            return
        heads = [[(heading, "bold") for heading in self.headings]] if any(self.headings) else []
        widths = [max(len(text) for text, _ in column) for column in zip(*heads, *rows, strict=True)]
        parts = list(self._parts(widths, width))
        for row in [*heads, *rows]:
            for columns, margin in parts:
                yield from self._line(row, columns, margin, widths, width)

    def _parts(self, widths: list[int], width: int | None) -> Iterator[tuple[range, int]]:
        """Yield the columns on each line of a row, with the indentation of the line."""
        first, margin, place = 0, 0, 0
        for column, chars in enumerate(widths):
            is_prose = self.prose and column == len(widths) - 1
            needed = min(chars, PROSE_CHARS_MIN) if is_prose else chars
            if width and column > first and place + needed > width:
                yield range(first, column), margin
                first, margin, place = column, INDENT, INDENT
            place += chars + len(GAP)
        yield range(first, len(widths)), margin

    def _line(
        self, row: Spans, columns: range, margin: int, widths: list[int], width: int | None
    ) -> Iterator[Spans]:
        *before, (text, style) = [row[column] for column in columns]
        if margin and not any(text for text, _ in [*before, (text, style)]):
            return
        spans = [
            (cell.ljust(widths[column]) + GAP, look)
            for (cell, look), column in zip(before, columns, strict=False)
        ]
        place = margin + sum(len(cell) for cell, _ in spans)
        room = width - place if self.prose and width and columns.stop == len(widths) else None
        first, *rest = _wrapped(text, room)
        if not text and spans:
            cell, look = spans.pop()
            first, style = cell.rstrip(), look
        yield [(" " * margin, ""), *spans, (first, style)]
        yield from ([(" " * place + line, style)] for line in rest)


Block = Paragraph | StyledLine | Verbatim | Table


def colour(state: State) -> str:
    """Return the colour of a state. It is the same everywhere."""
    return _COLOURS.get(state, "red" if state in DEAD else "white")


def _cell(value: object) -> tuple[str, str]:
    if isinstance(value, State):
        return str(value), colour(value)
    return legible("" if value is None else str(value)), ""


def _wrapped(text: str, width: int | None) -> list[str]:
    if not width or len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
