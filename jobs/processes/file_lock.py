"""Lock on a file or a folder that ends with its holders, however they end."""

import fcntl
import os
from pathlib import Path
from typing import Self


class FileLock:
    """A flock(2) on one file or folder, through a descriptor that programs inherit only if it is passed to them.

    The kernel ties the lock to the open descriptor and its copies, and not to a process. A fork shares it, the end of
    the last holder releases it, even by SIGKILL, and no pid has to be trusted. Two objects for one path exclude each
    other even within one process.

    The lock is on the inode. If the path can be removed or replaced, check ``is_at_path`` after locking: a lock on an
    inode that has left its path protects nothing.
    """

    def __init__(self, path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> None:
        """Open the file without locking it. By default, it is created if it is missing."""
        self.path = path
        self.fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    @classmethod
    def of_folder(cls, path: Path) -> Self:
        """Open an existing folder without locking it. It needs no lock file, which could outlive it."""
        return cls(path, os.O_RDONLY | os.O_DIRECTORY)

    def wait_exclusive(self) -> None:
        """Hold the lock exclusively, after all other holders have released it."""
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def try_exclusive(self) -> bool:
        """Hold the lock exclusively. Return False if another holder has it; a shared hold of ours may then be lost."""
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        """Hold the lock shared. Return False if another holder has it exclusively."""
        return self._try(fcntl.LOCK_SH)

    def is_at_path(self) -> bool:
        """Return whether the path still leads to the locked inode."""
        try:
            return os.path.samestat(os.fstat(self.fd), self.path.stat(follow_symlinks=False))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock for every copy of the descriptor, so that a fork does not keep it by accident."""
        fcntl.flock(self.fd, fcntl.LOCK_UN)
        os.close(self.fd)

    def close(self) -> None:
        """Close only our copy of the descriptor. The lock stays with the processes that inherited theirs."""
        os.close(self.fd)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
