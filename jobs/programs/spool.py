"""Source during the fetch: written to disk, counted and digested."""

import hashlib
import os
from pathlib import Path
from types import TracebackType

from sluice.jobs.programs.unfit import Unfit, reason_of


class Spool:
    """New file. Unfit if it would hold more than ``bytes_max``, or if the disk fails."""

    def __init__(self, path: Path, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._digest = hashlib.sha256()
        self.path = path
        self.size = 0
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise unstorable(error) from None

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > self._bytes_max:
            raise Unfit(f"it has more than the {self._bytes_max} bytes that are allowed")
        self._digest.update(chunk)
        try:
            write_all(self._descriptor, chunk)
        except OSError as error:
            raise unstorable(error) from None

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def __enter__(self) -> "Spool":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def write_all(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(descriptor, view) :]


def unstorable(error: OSError) -> Unfit:
    """Return Unfit for a full disk or missing permissions. An operator can fix both on this machine."""
    return Unfit(f"it cannot be stored here: {reason_of(error)}")
