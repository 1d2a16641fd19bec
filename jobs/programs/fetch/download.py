"""A source during its fetch: on disk, counted and digested, with a time limit.

A ``DownloadFile`` is written to disk, counted and digested. ``Patience`` has the time limit and the stop condition of a
fetch.
"""

import hashlib
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Protocol

from sluice.jobs.programs.errors import Away, FetchStopped, Unfit, reason_of


class DownloadFile:
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

    def __enter__(self) -> "DownloadFile":
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


#: Maximum seconds between two checks during a wait, so a stop is noticed within this time.
LOOK_S = 0.1


class StopSignal(Protocol):
    """The part of ``threading.Event`` that is needed here."""

    def is_set(self) -> bool: ...


class Patience:
    """Clock of one fetch, started by the constructor. It covers the wait for others, the fetch and the unpacking."""

    def __init__(self, stop: StopSignal, timeout_s: float) -> None:
        self._stop = stop
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s

    def check(self) -> None:
        """Raise Stopped if ``stop`` is set, or Away if the time is over."""
        if self._stop.is_set():
            raise FetchStopped("it was stopped")
        if time.monotonic() >= self._deadline:
            raise Away(f"it took longer than {self._timeout_s:g} s")

    def look_s(self) -> float:
        """Make a ``check``, and return the seconds that the caller may wait before the next one."""
        self.check()
        return max(0.001, min(LOOK_S, self._deadline - time.monotonic()))

    def pause(self) -> None:
        time.sleep(min(0.02, self.look_s()))

    def left_s(self) -> float:
        return max(1.0, self._deadline - time.monotonic())
