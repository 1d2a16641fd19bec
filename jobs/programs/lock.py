"""Folders that are locked by themselves.

A folder is locked by an flock on its own inode, so there is no lock file that could outlive what it guards, and
the kernel frees the lock when its holder dies. Who gets a lock looks whether the folder is still there under its
name: one that was removed, or moved, while he waited guards nothing. Threads exclude each other, too.
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
    """Hold the folder alone, made where it is missing; ``waits`` is called once where somebody else has it."""
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
    """Keep the folder from being removed; False where there is none, or it is just being removed."""
    descriptor = _locked(folder, fcntl.LOCK_SH)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def abandoned(folder: Path) -> Iterator[bool]:
    """Hold a folder that nobody else holds; False where somebody does, or it is gone."""
    descriptor = _locked(folder, fcntl.LOCK_EX)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


class Held:
    """A new folder under a name of its own, locked from before anybody can take it for abandoned."""

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
    """A descriptor that holds the lock; None where it is not to be had now."""
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
