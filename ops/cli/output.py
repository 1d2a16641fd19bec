"""Where a command's answer goes: one JSON document for programs, or lines and tables for people."""

import os
import sys
from contextlib import ExitStack
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self, TextIO

import msgspec

from jobs.errors import DefinitionError, SluiceError
from ops.cli.page import Block

if TYPE_CHECKING:
    from rich.console import Console


class Output:
    """A context manager. With ``as_json`` the document alone reaches stdout: whatever else is written there, by
    users' code or by programs that it starts, goes to stderr for as long as this is open."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._documents: BinaryIO | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        if self.as_json:
            self._documents = self._opened.enter_context(os.fdopen(os.dup(1), "wb"))
            _redirect(to=2)
            self._opened.callback(_redirect, to=self._documents.fileno())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def answer(self, document: object, *blocks: Block) -> None:
        """The answer to a command: the document for programs, or the blocks for people."""
        if self._documents is None:
            self.say(*blocks)
        else:
            self._documents.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
            self._documents.flush()

    def stream(self, document: object, *blocks: Block) -> None:
        """One of many answers: a line of JSON, or the blocks."""
        if self._documents is None:
            self.say(*blocks)
        else:
            self._documents.write(msgspec.json.encode(document) + b"\n")
            self._documents.flush()

    def say(self, *blocks: Block) -> None:
        """Tell people something; nobody is told anything with ``as_json``."""
        if not self.as_json:
            _print(self.console, blocks)

    def note(self, *blocks: Block) -> None:
        """Say on stderr what is no part of the answer."""
        _print(self.screen, blocks)

    def complain(self, error: SluiceError) -> None:
        """What, where, and what to do about it: a line each on stderr, and in the document."""
        _print_lines(
            [
                f"sluice: {error.what}",
                *([f"  where: {error.where}"] if error.where else []),
                *([f"  advice: {error.advice}"] if error.advice else []),
            ]
        )
        if self._documents is not None:
            self.answer(_document(error))

    @cached_property
    def console(self) -> "Console":
        """Stdout. What draws on terminals takes long to import, so it is where something is drawn."""
        return _console(sys.stdout)

    @cached_property
    def screen(self) -> "Console":
        """Stderr: progress, and what is said beside the answer."""
        return _console(sys.stderr)


def _console(file: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=file, highlight=False, soft_wrap=True, markup=False, emoji=False)


def _print(console: "Console", blocks: tuple[Block, ...]) -> None:
    from rich.text import Text

    width = console.width if console.is_terminal else None
    for block in blocks:
        for spans in block.lines(width):
            console.print(Text.assemble(*spans))


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)


def _document(error: SluiceError) -> dict[str, object]:
    """``errors`` has an entry for each fault, so that programs need not take ``what`` apart."""
    place = {"what": error.what, "where": error.where, "advice": error.advice}
    faults = list(error.faults) if isinstance(error, DefinitionError) else [place]
    return {"error": place, "errors": faults}


def _redirect(*, to: int) -> None:
    """Point stdout somewhere else, for this process and what it starts."""
    sys.stdout.flush()
    os.dup2(to, 1)
