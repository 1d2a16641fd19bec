"""Worker processes of one contender, and their cost."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

#: Processes of every contender, as many as the reference machine has cores, and threads of each process.
PROCESSES = 2
THREADS = 4
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_ENDS_WITHIN_S = 10.0


class CommandProcesses:
    """Commands that run until they are ended, each in its own process group."""

    def __init__(self, leaders: Sequence[subprocess.Popen[bytes]], log: Path) -> None:
        self._leaders = leaders
        self._log = log

    def cpu_s(self) -> float:
        """Return the CPU seconds that the processes and all of their children have used so far."""
        return sum(map(_cpu_s, self._pids()))

    def pss_mb(self) -> float:
        """Return the memory of the processes and all of their children, in MiB. Shared memory is divided between the
        processes.
        """
        return sum(map(_pss_mb, self._pids()))

    def said(self) -> str:
        """Return the last 2,000 characters of the workers' output."""
        return self._log.read_text(errors="replace")[-2000:]

    def end(self) -> None:
        for leader in self._leaders:
            leader.send_signal(signal.SIGTERM)
        for leader in self._leaders:
            try:
                leader.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                os.killpg(leader.pid, signal.SIGKILL)
                leader.wait()

    def _pids(self) -> set[int]:
        return _with_children({leader.pid for leader in self._leaders})


@contextmanager
def crew(
    commands: Sequence[Sequence[str]], folder: Path, environment: Mapping[str, str]
) -> Iterator[CommandProcesses]:
    log = folder / "workers.log"
    with log.open("ab") as out:
        leaders = [
            subprocess.Popen(
                command, env=os.environ | environment, stdout=out, stderr=out, start_new_session=True
            )
            for command in commands
        ]
    made = CommandProcesses(leaders, log)
    try:
        yield made
    finally:
        made.end()


def kept_mb(told: Path, line: str) -> float:
    """Return the value of one line of a process's file in ``/proc``, in MiB. An example is ``VmHWM:  1024 kB``."""
    return int(told.read_text().partition(f"{line}:")[2].split(maxsplit=1)[0]) / 1024


def peak_mb() -> float:
    """Return the most memory that this process has ever held, in MiB, so that a peak between two readings counts too.

    ``getrusage`` does not fit, because its value starts with the memory of the process that started this process.
    """
    return kept_mb(Path("/proc/self/status"), "VmHWM")


def _with_children(pids: set[int]) -> set[int]:
    parents = {
        int(entry.name): parent
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and (parent := _parent(int(entry.name))) is not None
    }
    found = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended."""
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / _TICKS_A_SECOND if fields else 0.0


def _pss_mb(pid: int) -> float:
    try:
        return kept_mb(Path(f"/proc/{pid}/smaps_rollup"), "Pss")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` from the state on. Empty if the process has ended.

    The fields before the state contain the command's name, which may have spaces.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
