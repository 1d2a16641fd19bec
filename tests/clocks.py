"""A wall clock that is wrong: what a worker's processes are told when they ask what time it is.

libfaketime stands before the C library's clocks. It reads how far it is off from a file, again each second, so a clock
can also jump under a process that runs. The clock that only ever goes forward stays true: nothing could sleep else.
"""

import os
from pathlib import Path

import pytest

from tests.leashed import ROOT

_PRELOAD = Path(__file__).parent / "preload"
_LIBRARIES = "*/faketime/libfaketimeMT.so.1"


def library() -> Path | None:
    """None where it is not installed (the package is called faketime)."""
    return next(Path("/usr/lib").glob(_LIBRARIES), None)


def require() -> None:
    """Skip the test that cannot be had without it; under CI=true that is a failure."""
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
        """So far before the true time from now on, or behind it. Whoever reads it finds the old word or the new."""
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
            # Else whoever waits for the interpreter's lock for a moment does not wait at all, and asks again and again:
            # four threads that count took 1.4 s where they take 0.2 s.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
        }
