"""Folder of one run of a command. It is the only trace of the run, and any process may read it at any time.

stdout, stderr   the output of the command
progress         its progress, if the command writes it: ``3`` or ``3 10``
started          number, machine and birth of the leader process, written by itself
exit             how the command ended, written by the leader
checked          exists once the status was checked, so the handle had been stored
cancelled        exists once the run was cancelled; no claim is responsible for it any more
"""

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from sluice.jobs.managers.birth import read_birth
from sluice.jobs.submission import JSON

#: Bytes at the end of an output that an error quotes.
TAIL_BYTES = 4096
_PROGRESS = re.compile(r"(\d{1,18})(?:\s+(\d{1,18}))?\s*")


class Mark(StrEnum):
    CHECKED = "checked"
    CANCELLED = "cancelled"


class Leader(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Process that runs the command, and the folder of the run. As JSON it is the handle."""

    folder: str
    host: str
    pid: int
    born: str

    @property
    def handle(self) -> JSON:
        return msgspec.to_builtins(self)

    @classmethod
    def of(cls, handle: Any) -> "Leader":
        """Return the leader of a handle. ValueError if the handle was not created here."""
        try:
            return msgspec.convert(handle, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"{handle!r} is no handle of a process: {error}") from None


class Record:
    """Contents of the folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stdout = folder / "stdout"
        self.stderr = folder / "stderr"
        self.progress_file = folder / "progress"

    @property
    def leader(self) -> Leader | None:
        """The leader process, or None if no process has ever started here."""
        text = _text(self.folder / "started")
        if text is None:
            return None
        first, _, told = text.partition("\n")
        pid, _, host = first.partition(" ")
        return Leader(folder=str(self.folder), host=host, pid=int(pid), born=read_birth(told) or "")

    @property
    def exit_code(self) -> int | None:
        """The exit code of the shell, above 128 for a signal. None if the command has not ended by itself."""
        text = _text(self.folder / "exit")
        return None if text is None else int(text)

    @property
    def progress(self) -> tuple[int, int | None] | None:
        """The progress. None if the file is missing or a line is incomplete."""
        found = _PROGRESS.fullmatch((_text(self.progress_file) or "").strip())
        return None if found is None else (int(found[1]), None if found[2] is None else int(found[2]))

    def mark(self, mark: Mark) -> None:
        """Set a mark. FileNotFoundError if the folder does not exist."""
        (self.folder / mark).touch(mode=0o600)

    def is_marked(self, mark: Mark) -> bool:
        return (self.folder / mark).exists()


def tail(path: Path) -> str:
    """Return the end of an output, from the beginning of a line."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            end = file.read(TAIL_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return (end if size <= TAIL_BYTES else end.partition("\n")[2] or end).strip()


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return None
