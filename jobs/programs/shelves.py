"""The folders of a store, and how what nobody uses leaves them.

sources/HASH/record    what a source was when it was looked at last; the folder is its lock
versions/SHA256.FORM/  a program, whole and never changed; used last at the folder's own time
    fetched            the archive or script as it came, with that sha256
    program/           the same, unpacked
aside/TOKEN/           what is just being fetched and unpacked; locked by who does it
    needs              the bytes that are reserved for it among the versions
runs/TOKEN/PROGRAM/    the copy that one run has; locked by its process
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

#: A version or record that was used within this time stays, however many there are.
UNUSED_S: Final = 24 * 3600.0
FETCHED: Final = "fetched"
PROGRAM: Final = "program"
#: Counted for each file and folder besides its bytes: what most disks take for a small one.
MEMBER_BYTES: Final = 4096
_NEEDS: Final = "needs"


class Shelves:
    """Where what lies. Making one does nothing to the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.sources = self.folder / "sources"
        self.versions = self.folder / "versions"
        self.aside = self.folder / "aside"
        self.runs = self.folder / "runs"

    def prepare(self) -> None:
        """The folders are nobody else's: what a source asks a password for is not for everybody here."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for shelf in (self.sources, self.versions, self.aside, self.runs):
            shelf.mkdir(mode=0o700, exist_ok=True)

    def of_source(self, source: Source) -> Path:
        """The same for all who mean the same place, and telling nobody which: a URL may have a password."""
        place = Path(source.place).absolute() if source.is_local else source.place
        return (
            self.sources
            / sha256(f"{source.scheme} {source.form} {place}".encode("utf-8", "replace")).hexdigest()
        )

    def sweep(self, versions_max: int) -> None:
        """Remove what processes left that are gone, and versions that nobody used for a day, but the latest few."""
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
        """Reserve bytes for a version that is about to be unpacked; False if ``bytes_max`` does not allow it.

        Versions that are not in use make room, the least recently used first. The caller holds the lock of
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
        """Move a whole version to its place, and drop its reservation. The caller holds the lock of ``versions``."""
        tree.rename(version)
        (aside / _NEEDS).unlink()

    def retire(self, version: Path) -> None:
        """Remove a version that the caller has locked. It is moved aside first: no process sees a half-removed one."""
        hidden = self.aside / token_hex(8)
        version.rename(hidden)
        remove(hidden)

    def _reserved_bytes(self) -> int:
        """Reservations of living processes."""
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
    """As they are counted for a reservation: the bytes of files, and some more for each file and folder."""
    total = 0
    for above, _, files in os.walk(version):
        total += MEMBER_BYTES * (1 + len(files))
        for name in files:
            with suppress(FileNotFoundError):
                total += Path(above, name).lstat().st_size
    return total
