"""Folders of the store: their records, locks and removal.

    sources/HASH/record    state of a source at its last check; the folder is its lock
    versions/SHA256.FORM/  a program, complete and never changed; the folder's time is the time of its last use
        fetched            the archive or script as it was fetched, with that sha256
        program/           the same, unpacked
    aside/TOKEN/           a fetch and its unpacking in progress; locked by its process
        needs              the bytes that are reserved for it among the versions
    runs/TOKEN/PROGRAM/    the copy of one run; locked by its process

A ``SourceRecord`` is the state of a source at its last check. Its ``SourceMark`` shows whether the source has changed,
without fetching it again.

A folder is locked by an flock on its own inode, without a lock file. So no lock file can outlive its folder, and the
kernel frees the lock when its holder dies. After it gets a lock, a caller checks that the folder still exists under its
name: the lock of a folder that was removed or moved during the wait protects nothing. Threads exclude each other, too.

``Shelves`` removes unused contents. ``remove`` removes a folder with all its contents, including any that a program has
made hard to remove.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

import msgspec
from msgspec import Struct

from sluice.jobs.processes.file_lock import FileLock
from sluice.jobs.programs.fetch.download import Patience
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


class SourceMark(Struct, frozen=True, kw_only=True):
    """Mark of a source. A web server gives an ``etag`` or a ``modified`` date, valid for ``url``; other sources a
    ``stamp``.

    An empty mark proves nothing, so the source is fetched again.
    """

    etag: str = ""
    modified: str = ""
    url: str = ""
    stamp: str = ""


class Fetched(Struct, frozen=True, kw_only=True):
    """Fetched source: the file, its sha256, and the mark to compare next time."""

    path: Path
    sha256: str
    mark: SourceMark


_NAME: Final = "record"


class SourceRecord(Struct, frozen=True, kw_only=True):
    """State of a source. ``version`` names the folder of its version.

    Times are in seconds of this machine's clock: ``fetched_at`` is the start of the check that found this version,
    ``looked_at`` is the start of the last check.
    """

    version: str
    mark: SourceMark
    fetched_at: float
    looked_at: float


def read_record(folder: Path) -> SourceRecord | None:
    """Return the record. None if no readable record exists; then the source counts as new."""
    try:
        return msgspec.json.decode((folder / _NAME).read_bytes(), type=SourceRecord)
    except (OSError, msgspec.MsgspecError):
        return None


def write_record(folder: Path, record: SourceRecord) -> None:
    """Replace the record atomically, so that it may be read without the lock. The folder then counts as used."""
    new = folder / f"{_NAME}.new"
    new.write_bytes(msgspec.json.encode(record))
    new.replace(folder / _NAME)


@contextmanager
def sole(folder: Path, patience: Patience, waits: Callable[[], None]) -> Iterator[None]:
    """Hold the folder exclusively, and create it if it is missing. ``waits`` is called once if another caller holds
    it.
    """
    told = False
    while True:
        patience.check()
        folder.mkdir(exist_ok=True)
        lock = _locked(folder)
        if lock is not None:
            break
        if not told:
            told = True
            waits()
        patience.pause()
    with closing(lock):
        yield


def shared(folder: Path) -> AbstractContextManager[bool]:
    """Keep the folder from being removed. Yield False if it does not exist or is being removed."""
    return _held(folder, shared=True)


def abandoned(folder: Path) -> AbstractContextManager[bool]:
    """Hold a folder that no other process or thread holds. Yield False if it is held or does not exist."""
    return _held(folder, shared=False)


def locked_folder(parent: Path) -> FileLock:
    """Make a folder with a random name. It is locked before any other process can consider it abandoned.

    Another process may lock the folder first, to see whether it is in use. Then it is removed, and another is made.
    """
    while True:
        path = parent / token_hex(8)
        path.mkdir(mode=0o700)
        lock = _locked(path)
        if lock is not None:
            return lock
        with suppress(FileNotFoundError):
            path.rmdir()


@contextmanager
def _held(folder: Path, *, shared: bool) -> Iterator[bool]:
    lock = _locked(folder, shared=shared)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.close()


def _locked(folder: Path, *, shared: bool = False) -> FileLock | None:
    """Return the lock of the folder, or None if it is not available now."""
    try:
        lock = FileLock.of_folder(folder)
    except FileNotFoundError:
        return None
    try:
        if (lock.try_shared() if shared else lock.try_exclusive()) and lock.is_at_path():
            return lock
    except BaseException:
        lock.close()
        raise
    lock.close()
    return None


_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove(folder: Path) -> bool:
    """Remove the folder and return whether it is gone. A run may have left folders that even its user cannot read.

    They may also be deeper than the limits of a path, the stack or the open files of this process allow
    (``shutil.rmtree`` fails at each of these). So every folder is moved to the top before it is read.
    """
    with suppress(OSError):
        folder.chmod(0o700)
        top = os.open(folder, _FOLDER)
        try:
            waiting = _emptied(top, top)
            while waiting:
                name = waiting.pop()
                with suppress(OSError):
                    waiting += _emptied_below(top, name)
                    os.rmdir(name, dir_fd=top)
        finally:
            os.close(top)
        folder.rmdir()
    return not folder.exists()


def _emptied_below(top: int, name: str) -> list[str]:
    here = os.open(name, _FOLDER, dir_fd=top)
    try:
        return _emptied(here, top)
    finally:
        os.close(here)


def _emptied(here: int, top: int) -> list[str]:
    """Remove the files, and move each folder to the top. Return the new names; entries that cannot be removed
    remain.
    """
    moved = []
    with os.scandir(here) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in entries:
        with suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=here)
                continue
            os.chmod(name, 0o700, dir_fd=here)
            new = token_hex(8)
            os.rename(name, new, src_dir_fd=here, dst_dir_fd=top)
            moved.append(new)
    return moved
