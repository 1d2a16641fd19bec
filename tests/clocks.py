"""A wrong wall clock for the processes of a worker.

libfaketime replaces the C library's clocks. It reads its offset from a file each second, so a clock can also jump while
a process runs. The monotonic clock stays right, because sleeping would fail otherwise.
"""

import os
from pathlib import Path

import pytest

from tests.leashed import ROOT

_PRELOAD = Path(__file__).parent / "preload"
_LIBRARIES = "*/faketime/libfaketimeMT.so.1"


def library() -> Path | None:
    """Return the path of libfaketime, or None if it is not installed (the package is called faketime)."""
    return next(Path("/usr/lib").glob(_LIBRARIES), None)


def require() -> None:
    """Skip a test that needs libfaketime if it is missing. Under ``CI=true`` the test fails."""
    if library() is not None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail("faketime is missing; install it: `make servers` does so", pytrace=False)
    pytest.skip("install faketime: without it no clock can be turned")


class Clock:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.put(0)

    def put(self, seconds: float) -> None:
        """Set the clock this many seconds ahead of the true time, or behind it.

        A process that reads the file finds the old offset or the new one.
        """
        fresh = self._path.with_suffix(".new")
        fresh.write_text(f"{seconds:+.0f}\n")
        fresh.rename(self._path)

    def environment(self) -> dict[str, str]:
        found = library()
        if found is None:
            return {}
        return {
            "PYTHONPATH": os.pathsep.join([str(_PRELOAD), str(ROOT)]),
            "LD_PRELOAD": str(found),
            "FAKETIME_TIMESTAMP_FILE": str(self._path),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Otherwise a short wait for the interpreter's lock does not wait at all, and is repeated again and again.
            # Four threads that count took 1.4 s instead of 0.2 s.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
        }
