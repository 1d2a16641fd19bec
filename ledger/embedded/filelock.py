"""A file lock that is released when its holders end, however they end."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice.ledger.embedded.errors import EmbeddedUnavailable
from sluice.ledger.embedded.os_user import give_to_folder_owner

POLL_S = 0.005


class FileLock:
    """A flock(2) on one file, through a descriptor that programs inherit only if it is passed to them.

    The kernel ties the lock to the open descriptor and its copies, and not to a process. A fork shares it, the end of
    the last holder releases it, even by SIGKILL, and no pid has to be trusted. Two objects for one path exclude each
    other even within one process.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except PermissionError as refused:
            raise EmbeddedUnavailable(
                f"{path} cannot be opened: this embedded Postgres belongs to another user. "
                "Work as that user, or choose a home of your own."
            ) from refused
        give_to_folder_owner(path)

    def try_exclusive(self) -> bool:
        """Hold the lock exclusively. Return False if another holder has it; a shared hold of ours may then be lost."""
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        """Hold the lock shared. Return False if another holder has it exclusively."""
        return self._try(fcntl.LOCK_SH)

    def release(self) -> None:
        """Release the lock for every copy of the descriptor, so that a fork does not keep it by accident."""
        fcntl.flock(self.fd, fcntl.LOCK_UN)
        os.close(self.fd)

    def hand_over(self) -> None:
        """Close only our copy of the descriptor. The lock stays with the processes that inherited theirs."""
        os.close(self.fd)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def exclusively(path: Path, *, within_s: float) -> Iterator[None]:
    """Hold the lock of a file exclusively for the duration of a block."""
    lock = FileLock(path)
    deadline = time.monotonic() + within_s
    try:
        while not lock.try_exclusive():
            if time.monotonic() > deadline:
                raise EmbeddedUnavailable(
                    f"{path} has been held for {within_s:.0f} s by another process, which is starting or "
                    "stopping the embedded Postgres. Wait for it, or end it, and try again."
                )
            time.sleep(POLL_S)
        yield
    finally:
        lock.release()
