"""Times at which jobs began. Every process that runs jobs appends to one file, which costs about a microsecond per
job.

The clock is the machine's monotonic clock, which all of its processes share.
"""

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sluice.jobs.errors import SluiceError

#: Environment variable with the path of the file. It is set for all processes that run jobs.
VARIABLE = "SLUICE_BENCH_MARKS"
_MARK = struct.Struct("=qq")
_LOOK_EVERY_S = 0.005


def marker() -> Callable[[int], None]:
    """Return a function that a job calls with its number when it begins. The file is opened once, when the job's
    module is loaded.
    """
    file = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def mark(number: int) -> None:
        os.write(file, _MARK.pack(number, time.monotonic_ns()))

    return mark


class Timestamp(NamedTuple):
    number: int
    at_s: float


class Marks:
    """File of marks, as used by the process that waits until all jobs have begun."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def forget(self) -> None:
        """Empty the file. No job may be running."""
        os.truncate(self.path, 0)

    def count(self) -> int:
        return self.path.stat().st_size // _MARK.size

    def read(self) -> list[Timestamp]:
        """Return the marks in the order of time."""
        marks = (Timestamp(number, ns / 1e9) for number, ns in _MARK.iter_unpack(self.path.read_bytes()))
        return sorted(marks, key=lambda mark: mark.at_s)

    def wait_for(self, count: int, *, within_s: float) -> list[Timestamp]:
        """Wait until ``count`` jobs have begun. SluiceError if that takes longer than ``within_s``.

        A contender that runs a job twice is not measured: SluiceError if a job began more than once.
        """
        deadline = time.monotonic() + within_s
        while self.count() < count:
            if time.monotonic() > deadline:
                raise SluiceError(f"After {within_s:g} s only {self.count()} of {count} jobs had begun.")
            time.sleep(_LOOK_EVERY_S)
        found = self.read()
        if len({mark.number for mark in found}) != count or len(found) != count:
            raise SluiceError(
                f"{len(found)} jobs have begun instead of {count}, some of them more than once."
            )
        return found
