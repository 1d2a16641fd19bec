"""The contents of a program as one digest, of an archive before it is unpacked."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from msgspec import Struct

from jobs.programs.links import Parts
from jobs.programs.members import FOLDER_MODE, Members
from jobs.programs.patience import Patience
from jobs.programs.rules import Rules

#: By path: the kind with its mode, and the sha256 of a file or the target of a link.
_Entries = Mapping[str, tuple[str, str]]


class Contents(Struct, frozen=True, kw_only=True):
    """Two trees with equal contents have the same names, kinds, modes, bytes and targets of links.

    ``members`` are the files, folders and links, the top folder included; ``bytes`` are those of the files.
    """

    members: int
    bytes: int
    digest: str


class Survey(Members):
    """The first pass over an archive, which writes nothing."""

    def __init__(self, rules: Rules, patience: Patience) -> None:
        super().__init__(rules, patience)
        self._entries = {"": _folder(FOLDER_MODE)}

    def finish(self) -> None:
        super().finish()
        self._entries |= {_path(parts): ("link", target) for parts, target in self._links.items()}

    def contents(self) -> Contents:
        return _contents(self._entries, self._bytes)

    def _folder(self, parts: Parts) -> None:
        self._entries[_path(parts)] = _folder(FOLDER_MODE)

    def _file(self, parts: Parts, mode: int, chunks: Iterator[bytes]) -> None:
        self._entries[_path(parts)] = _file(mode, chunks)

    def _hardlink(self, parts: Parts, target: Parts) -> None:
        self._entries[_path(parts)] = self._entries[_path(target)]


def _folder(mode: int) -> tuple[str, str]:
    return f"folder {stat.S_IMODE(mode):o}", ""


def _file(mode: int, chunks: Iterable[bytes]) -> tuple[str, str]:
    return f"file {mode:o}", _digest(chunks)


def _digest(chunks: Iterable[bytes]) -> str:
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _contents(entries: _Entries, size: int) -> Contents:
    """No name, kind or target has a NUL, so the fields cannot be confused."""
    fields = (field for path in sorted(entries) for field in (path, *entries[path]))
    digest = _digest(os.fsencode(f"{field}\0") for field in fields)
    return Contents(members=len(entries), bytes=size, digest=digest)


def _path(parts: Parts) -> str:
    return "/".join(parts)
