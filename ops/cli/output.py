"""Where a command's answer goes: one JSON document for programs, or lines and tables for people."""

import os
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from sluice.jobs.errors import DefinitionError, SluiceError
from sluice.ops.cli.page import Block
from sluice.ops.cli.screen import Screen


class Output:
    """A context manager. With ``as_json`` the document alone reaches stdout: whatever else is written there, by
    users' code or by programs that it starts, goes to stderr for as long as this is open.

    ``aside`` is stderr: progress, and what is said beside the answer.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.aside = Screen(sys.stderr)
        self._screen = Screen(sys.stdout)
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

    @property
    def is_interactive(self) -> bool:
        """Whether somebody watches, and nothing else is written to where he does."""
        return self.aside.is_terminal and self._screen.is_terminal and not self.as_json

    @property
    def width(self) -> int | None:
        """How many characters fit a line of the answer; None where nothing limits them."""
        return self._screen.width

    def answer(self, document: object, *blocks: Block) -> None:
        """The answer to a command: the document for programs, or the blocks for people."""
        if self._documents is None:
            self._screen.print(*blocks)
        else:
            self._documents.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
            self._documents.flush()

    def stream(self, document: object, *blocks: Block) -> None:
        """One of many answers: a line of JSON, or the blocks."""
        if self._documents is None:
            self._screen.print(*blocks)
        else:
            self._documents.write(msgspec.json.encode(document) + b"\n")
            self._documents.flush()

    def say(self, *blocks: Block) -> None:
        """Tell people something that programs need not know."""
        if not self.as_json:
            self._screen.print(*blocks)

    def pour(self, pieces: Iterable[bytes]) -> None:
        """Give people bytes as they are, however many there are."""
        self._screen.pour(pieces)

    def note(self, *blocks: Block) -> None:
        """Say on stderr what is no part of the answer."""
        self.aside.print(*blocks)

    def complain(self, error: SluiceError) -> None:
        """What, where, and what to do about it: a line each on stderr, and in the document."""
        print(f"sluice: {error.what}", file=sys.stderr)
        if error.where:
            print(f"  where: {error.where}", file=sys.stderr)
        if error.advice:
            print(f"  advice: {error.advice}", file=sys.stderr)
        if self._documents is not None:
            self.answer(_document(error))


def _document(error: SluiceError) -> dict[str, object]:
    """``errors`` has an entry for each fault, so that programs need not take ``what`` apart."""
    place = {"what": error.what, "where": error.where, "advice": error.advice}
    faults = list(error.faults) if isinstance(error, DefinitionError) else [place]
    return {"error": place, "errors": faults}


def _redirect(*, to: int) -> None:
    """Point stdout somewhere else, for this process and what it starts."""
    sys.stdout.flush()
    os.dup2(to, 1)
