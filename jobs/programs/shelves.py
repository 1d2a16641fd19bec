"""Folders of a store, and removal of unused contents.

sources/HASH/record    state of a source at its last check; the folder is its lock
versions/SHA256.FORM/  a program, complete and never changed; the folder's time is the time of its last use
    fetched            the archive or script as it was fetched, with that sha256
    program/           the same, unpacked
aside/TOKEN/           a fetch and its unpacking in progress; locked by its process
    needs              the bytes that are reserved for it among the versions
runs/TOKEN/PROGRAM/    the copy of one run; locked by its process
"""

import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

from sluice.jobs.programs.lock import abandoned
from sluice.jobs.programs.removing import remove
from sluice.jobs.programs.source import Source

#: Seconds since its last use for which a version or record is kept, however many exist.
UNUSED_S: Final = 24 * 3600.0
FETCHED: Final = "fetched"
PROGRAM: Final = "program"
#: Bytes counted for each file and folder in addition to its size: the space of a small one on most disks.
MEMBER_BYTES: Final = 4096
_NEEDS: Final = "needs"


class Shelves:
    """Paths of the folders. The constructor does not change the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.sources = self.folder / "sources"
        self.versions = self.folder / "versions"
        self.aside = self.folder / "aside"
        self.runs = self.folder / "runs"

    def prepare(self) -> None:
        """Create the folders for this user only: they may hold the content of a source that requires a password."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for shelf in (self.sources, self.versions, self.aside, self.runs):
            shelf.mkdir(mode=0o700, exist_ok=True)

    def of_source(self, source: Source) -> Path:
        """Return the folder of a source. It is the same for every spelling of a place, and hides the place because a
        URL may contain a password.
        """
        place = Path(source.place).absolute() if source.is_local else source.place
        return (
            self.sources
            / sha256(f"{source.scheme} {source.form} {place}".encode("utf-8", "replace")).hexdigest()
        )

    def sweep(self, versions_max: int) -> None:
        """Remove leftovers of dead processes, records unused for a day, and versions unused for a day except the latest
        ``versions_max``.
        """
        for folder in (*_in(self.aside), *_in(self.runs)):
            with suppress(OSError), abandoned(folder) as free:
                if free:
                    remove(folder)
        old = [folder for folder in _in(self.versions) if _unused_s(folder) > UNUSED_S]
        for folder in sorted(old, key=_unused_s)[versions_max:]:
            with suppress(OSError), abandoned(folder) as free:
                if free and _unused_s(folder) > UNUSED_S:
                    self.retire(folder)
        for folder in _in(self.sources):
            if _unused_s(folder) > UNUSED_S:
                with suppress(OSError), abandoned(folder) as free:
                    if free:
                        remove(folder)

    def reserve(self, aside: Path, needs: int, bytes_max: int) -> bool:
        """Reserve bytes for a version before it is unpacked. Return False if ``bytes_max`` does not allow it.

        Unused versions are removed to make room, the least recently used first. The caller holds the lock of
        ``versions``, so processes that fetch at the same time see each other's reservations.
        """
        if needs > bytes_max:
            return False
        sizes = {folder: _stored_bytes(folder) for folder in _in(self.versions)}
        left = bytes_max - needs - sum(sizes.values()) - self._reserved_bytes()
        for folder in sorted(sizes, key=_unused_s, reverse=True):
            if left >= 0:
                break
            with suppress(OSError), abandoned(folder) as free:
                if free:
                    self.retire(folder)
                    left += sizes[folder]
        if left >= 0:
            (aside / _NEEDS).write_text(str(needs))
        return left >= 0

    def publish(self, aside: Path, tree: Path, version: Path) -> None:
        """Move a complete version to its place and drop its reservation. The caller holds the lock of ``versions``."""
        tree.rename(version)
        (aside / _NEEDS).unlink()

    def retire(self, version: Path) -> None:
        """Remove a version that the caller has locked. It is first moved aside, so that no process sees it
        half-removed.
        """
        hidden = self.aside / token_hex(8)
        version.rename(hidden)
        remove(hidden)

    def _reserved_bytes(self) -> int:
        """Return the sum of the reservations of living processes."""
        total = 0
        for folder in _in(self.aside):
            with suppress(OSError, ValueError), abandoned(folder) as free:
                total += 0 if free else int((folder / _NEEDS).read_text())
        return total


def _in(shelf: Path) -> list[Path]:
    with suppress(OSError):
        return list(shelf.iterdir())
    return []


def _unused_s(folder: Path) -> float:
    try:
        return time.time() - folder.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _stored_bytes(version: Path) -> int:
    """Return the size as it is counted for a reservation: the bytes of files, and an addition for each file and
    folder.
    """
    total = 0
    for above, _, files in os.walk(version):
        total += MEMBER_BYTES * (1 + len(files))
        for name in files:
            with suppress(FileNotFoundError):
                total += Path(above, name).lstat().st_size
    return total
