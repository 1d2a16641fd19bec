"""The reaper. It is started as a script, so it uses the standard library alone.

    python reaper.py PID MARK FOLDER

It waits until its parent PID ends or the file OVER appears, then removes the remains of the run.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

#: Names in the run's folder: a file that marks the orderly end, a file that marks an interruption by a signal, and a
#: folder with commands that are still to be executed.
OVER, ENDING, UNDO = "over", "ending", "undo"
#: Seconds for an interrupted run to tear down its fixtures: twice the limit of pytest-xdist for its workers.
_ENDING_S = 20.0
#: Seconds between two checks whether the run has ended.
_POLL_S = 0.1
#: Seconds for Postgres to remove its shared memory before it is killed as well.
_GRACE_S = 5.0


def main(parent: int, mark: str, folder: Path) -> None:
    deadline = None
    while os.getppid() == parent and not (folder / OVER).exists():
        if deadline is None and (folder / ENDING).exists():
            deadline = time.monotonic() + _ENDING_S
        if deadline is not None and time.monotonic() > deadline:
            os.kill(parent, signal.SIGKILL)
        time.sleep(_POLL_S)
    _end(mark, {os.getpid()})
    for entry in (folder / UNDO).glob("*"):
        with suppress(OSError, ValueError, subprocess.TimeoutExpired):
            subprocess.run(json.loads(entry.read_text()), capture_output=True, check=False, timeout=60)
    shutil.rmtree(folder, ignore_errors=True)


def survivors(mark: str, spared: Iterable[int], within_s: float) -> list[str]:
    """Return the command lines of the processes of this run that have not ended within this time."""
    deadline = time.monotonic() + within_s
    while found := [pid for pid in _marked(mark, spared) if Path(__file__).name not in _command(pid)]:
        if time.monotonic() > deadline:
            return [f"{pid}: {_command(pid)}" for pid in found]
        time.sleep(0.05)
    return []


def _end(mark: str, spared: Iterable[int]) -> None:
    """Kill all marked processes. Postgres gets SIGQUIT first, with which it removes its shared memory."""
    deadline = time.monotonic() + _GRACE_S
    while found := [*_marked(mark, spared)]:
        for pid in found:
            orderly = _name(pid) == "postgres" and time.monotonic() < deadline
            with suppress(OSError):
                os.kill(pid, signal.SIGQUIT if orderly else signal.SIGKILL)
        time.sleep(0.05)


def _marked(mark: str, spared: Iterable[int]) -> Iterator[int]:
    entry = f"TEST_RUN_MARK={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        pid = int(path.parent.name)
        with suppress(OSError):
            if pid not in spared and entry in path.read_bytes().split(b"\0") and not _is_zombie(pid):
                yield pid


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
