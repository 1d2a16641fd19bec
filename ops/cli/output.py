"""What a command prints: one JSON document for programs, or words and tables for people."""

import sys
from collections.abc import Iterable, Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jobs.states import DEAD, State

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


class Output:
    """``document`` is for --json and nothing else goes to stdout then; the other methods are for people."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = Console(stderr=as_json, highlight=False, soft_wrap=True)

    @property
    def is_terminal(self) -> bool:
        return self.console.is_terminal and not self.as_json

    def document(self, value: object) -> None:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
        sys.stdout.flush()

    def line(self, text: str = "", *, style: str = "") -> None:
        """A line exactly as it is: no markup is read from it, for it may hold users' own words."""
        self.console.print(Text(text, style=style))

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*(_cell(value) for value in row))
        self.console.print(table)


def colour(state: State) -> str:
    """The colour a state has wherever it is shown."""
    return _COLOURS.get(state, "red" if state in DEAD else "white")


def _cell(value: object) -> Text:
    if isinstance(value, State):
        return Text(str(value), style=colour(value))
    return Text("" if value is None else str(value))
