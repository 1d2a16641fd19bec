"""Locks on folders, without lock files.

A folder is locked by an flock on its own inode. So no lock file can outlive its folder, and the kernel frees the lock
when its holder dies. After it gets a lock, a caller checks that the folder still exists under its name: the lock of a
folder that was removed or moved during the wait protects nothing. Threads exclude each other, too.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from sluice.jobs.programs.patience import Patience


@contextmanager
def sole(folder: Path, patience: Patience, waits: Callable[[], None]) -> Iterator[None]:
    """Hold the folder exclusively, and create it if it is missing. ``waits`` is called once if another caller holds
    it.
    """
    told = False
    while True:
        patience.check()
        folder.mkdir(exist_ok=True)
        descriptor = _locked(folder, fcntl.LOCK_EX)
        if descriptor is not None:
            break
        if not told:
            told = True
            waits()
        patience.pause()
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def shared(folder: Path) -> Iterator[bool]:
    """Keep the folder from being removed. Yield False if it does not exist or is being removed."""
    descriptor = _locked(folder, fcntl.LOCK_SH)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def abandoned(folder: Path) -> Iterator[bool]:
    """Hold a folder that no other process or thread holds. Yield False if it is held or does not exist."""
    descriptor = _locked(folder, fcntl.LOCK_EX)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


class Held:
    """New folder with a random name, locked before any other process can consider it abandoned."""

    def __init__(self, parent: Path) -> None:
        while True:
            self.path = parent / token_hex(8)
            self.path.mkdir(mode=0o700)
            descriptor = _locked(self.path, fcntl.LOCK_EX)
            if descriptor is not None:
                break
        self.descriptor = descriptor

    def close(self) -> None:
        os.close(self.descriptor)


def _locked(folder: Path, kind: int) -> int | None:
    """Return a descriptor that holds the lock, or None if the lock is not available now."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), folder.stat(follow_symlinks=False)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    with suppress(OSError):
        os.close(descriptor)
    return None
