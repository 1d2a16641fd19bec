"""Output of a command: one JSON document for programs, or lines and shortened tables for people.

Of many similar rows only the first few are shown, so that they do not hide the others (``excerpt``).
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

import msgspec

from sluice.actors.worker.logs import is_json_log, log_last_words
from sluice.jobs.errors import DefinitionError, SluiceError
from sluice.ops.cli.page import Block
from sluice.ops.cli.terminal import Screen
from sluice.ops.documents.formats import FORMATS, WIDE, as_json


class Output:
    """Output of a command as a context manager. If ``form`` is a format for programs, only the document reaches
    stdout. Everything else that users' code or its child processes write there goes to stderr as long as this is open.
    The format ``wide`` is for people: lines are not shortened.

    ``aside`` is stderr. It gets progress and notes, unless ``is_brief``.
    """

    def __init__(self, form: str | None = None) -> None:
        self._form = FORMATS.get(form or "")
        #: True if the user wants no progress and no notes.
        self.is_brief = False
        #: True if the log is the only output for people.
        self.is_quiet = False
        self.aside = Screen(sys.stderr)
        self._screen = Screen(sys.stdout)
        if form == WIDE:
            self._screen.width = None
        self._documents: BinaryIO | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        if self.is_document:
            self._documents = self._opened.enter_context(os.fdopen(os.dup(1), "wb"))
            _redirect(to=2)
            self._opened.callback(_redirect, to=self._documents.fileno())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    @property
    def is_document(self) -> bool:
        """True if the output is for programs."""
        return self._form is not None

    @property
    def is_interactive(self) -> bool:
        """True if a user sees stdout and stderr on a terminal, and gets progress there."""
        is_seen = self.aside.is_terminal and self._screen.is_terminal
        return is_seen and not self.is_document and not self.is_brief

    @property
    def can_ask(self) -> bool:
        """True if a user can be asked on the terminal."""
        return sys.stdin.isatty() and self.aside.is_terminal and not self.is_document

    @property
    def width(self) -> int | None:
        """Number of characters in a line of the answer. None if lines have no limit."""
        return self._screen.width

    def answer(self, document: object, *blocks: Block) -> None:
        """Write the answer of a command: the document for programs, or the blocks for people."""
        if self._documents is None or self._form is None:
            self.say(*blocks)
        else:
            self._documents.write(self._form(document).encode())
            self._documents.flush()

    def stream(self, document: object, *blocks: Block) -> None:
        """Write a single answer of many: a line of JSON, or the blocks."""
        if self._documents is None or self._form is None:
            self._screen.print(*blocks)
        else:
            line = (
                msgspec.json.encode(document) + b"\n"
                if self._form is as_json
                else self._form(document).encode()
            )
            self._documents.write(line)
            self._documents.flush()

    def say(self, *blocks: Block) -> None:
        """Write blocks for people that programs do not need."""
        if not (self.is_document or self.is_quiet):
            self._screen.print(*blocks)

    def pour(self, pieces: Iterable[bytes]) -> None:
        """Write bytes for people piece by piece, however many there are."""
        self._screen.pour(pieces)

    def note(self, *blocks: Block) -> None:
        """Write blocks to stderr that are not part of the answer."""
        if not self.is_brief:
            self.aside.print(*blocks)

    def clear(self) -> None:
        """Begin a new answer in place of the last one: on an empty terminal, or after an empty line."""
        if not self.is_document:
            self._screen.clear()

    def ask(self, question: str) -> bool:
        """Ask a question on the terminal. Return whether the answer is yes."""
        self.aside.write(f"{question} [y/N] ")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def complain(self, error: SluiceError) -> None:
        """Report an error: what, where, and what to do, each on a line of stderr, and in the document. If the log is
        JSON, this is a line of it."""
        if is_json_log():
            log_last_words("command", error)
        else:
            print(f"sluice: {error.what}", file=sys.stderr)
            if error.where:
                print(f"  where: {error.where}", file=sys.stderr)
            if error.advice:
                print(f"  advice: {error.advice}", file=sys.stderr)
        if self._documents is not None:
            self.answer(_document(error))


def _document(error: SluiceError) -> dict[str, object]:
    """Return an error as a document. ``errors`` has an entry for each fault, so programs need not parse ``what``."""
    place = {"what": error.what, "where": error.where, "advice": error.advice}
    faults = list(error.faults) if isinstance(error, DefinitionError) else [place]
    return {"error": place, "errors": faults}


def _redirect(*, to: int) -> None:
    """Redirect stdout of this process and its child processes."""
    sys.stdout.flush()
    os.dup2(to, 1)


Row = TypeVar("Row")

#: Maximum number of consecutive similar rows that are all shown, and the number of rows shown if there are more.
SHOWN_MAX, SHOWN = 12, 10


def watch_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-w", "--watch", action="store_true", help="repeat the answer every two seconds, until Ctrl-C"
    )


def yes_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-y", "--yes", action="store_true", help="do not ask before the change; only a terminal is asked"
    )


def all_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all",
        action="store_true",
        dest="whole",
        help="show every row; default: of many similar rows only the first few (JSON always has all)",
    )


def excerpt(
    rows: Iterable[Row], alike: Callable[[Row], object], rest: Callable[[Row, str], Row], *, whole: bool
) -> Iterator[Row]:
    """Yield the rows, shortened. ``rest`` changes the first omitted row so that it stands for all omitted rows, with a
    given text.
    """
    for _, following in groupby(rows, key=alike):
        members = list(following)
        if whole or len(members) <= SHOWN_MAX:
            yield from members
        else:
            yield from members[:SHOWN]
            yield rest(members[SHOWN], f"… and {len(members) - SHOWN} more (--all)")
