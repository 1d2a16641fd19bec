"""Digest of a program's contents: of an archive before it is unpacked, and of a folder before it is copied."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from sluice.jobs.programs.archive.link_targets import Parts
from sluice.jobs.programs.archive.members import FOLDER_MODE, Members
from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.source import Rules

CHUNK_BYTES: Final = 1024 * 1024
#: Without following a link, or waiting for the other end of a pipe.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

#: Path → kind with its mode, and the sha256 of a file or the target of a link.
_Entries = Mapping[str, tuple[str, str]]


class Contents(Struct, frozen=True, kw_only=True):
    """Contents of a tree. Equal contents mean the same names, kinds, modes, bytes and link targets.

    ``members`` counts the files, folders and links, including the top folder. ``bytes`` is the size of all files.
    """

    members: int
    bytes: int
    digest: str


class Survey(Members):
    """First pass over an archive, which writes nothing."""

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


def folder_has(top: Path, expected: Contents, patience: Patience) -> bool:
    """Return whether the folder has exactly these contents. CPU time: 0.8 s per GiB, and 0.4 s per 10,000 files.

    The first surplus member or byte ends the comparison, so a folder that a job has filled costs no more.
    """
    entries, size, waiting = {"": _kind_of(top)}, 0, [""]
    while waiting:
        above = waiting.pop()
        with os.scandir(top / above) as found:
            for entry in found:
                patience.check()
                path, status = above + entry.name, entry.stat(follow_symlinks=False)
                size += status.st_size if stat.S_ISREG(status.st_mode) else 0
                if len(entries) == expected.members or size > expected.bytes:
                    return False
                entries[path] = _entry(Path(entry.path), status, patience)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(f"{path}/")
    return _contents(entries, size) == expected


def file_sha256(path: Path, patience: Patience) -> str:
    """Return the digest of the bytes of one file."""
    return _digest(_chunks(path, patience))


def _kind_of(top: Path) -> tuple[str, str]:
    return _folder(status.st_mode) if stat.S_ISDIR((status := top.lstat()).st_mode) else ("other", "")


def _entry(path: Path, status: os.stat_result, patience: Patience) -> tuple[str, str]:
    if stat.S_ISREG(status.st_mode):
        return _file(stat.S_IMODE(status.st_mode), _chunks(path, patience))
    if stat.S_ISLNK(status.st_mode):
        return "link", str(path.readlink())
    return _folder(status.st_mode) if stat.S_ISDIR(status.st_mode) else ("other", "")


def _folder(mode: int) -> tuple[str, str]:
    return f"folder {stat.S_IMODE(mode):o}", ""


def _file(mode: int, chunks: Iterable[bytes]) -> tuple[str, str]:
    return f"file {mode:o}", _digest(chunks)


def _chunks(path: Path, patience: Patience) -> Iterator[bytes]:
    descriptor = os.open(path, _READ)
    try:
        while chunk := os.read(descriptor, CHUNK_BYTES):
            patience.check()
            yield chunk
    finally:
        os.close(descriptor)


def _digest(chunks: Iterable[bytes]) -> str:
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _contents(entries: _Entries, size: int) -> Contents:
    """Return the contents. No name, kind or target contains a NUL, so the fields cannot be confused."""
    fields = (field for path in sorted(entries) for field in (path, *entries[path]))
    digest = _digest(os.fsencode(f"{field}\0") for field in fields)
    return Contents(members=len(entries), bytes=size, digest=digest)


def _path(parts: Parts) -> str:
    return "/".join(parts)
