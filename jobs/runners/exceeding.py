"""Message about a resource limit that a run has exceeded, in one line."""

import signal

from sluice.jobs.allowance import Allowance
from sluice.jobs.runners.group import Status
from sluice.jobs.sizes import size_text

#: A shell adds this to the number of the signal that ended its command, and exits with the sum.
_OF_SHELLS = 128
#: Messages of programs to which the system refuses a resource. Such programs exit by themselves.
_WORDS = {
    "memory_bytes": (
        "MemoryError",
        "Cannot allocate memory",
        "std::bad_alloc",
        "OutOfMemory",
        "out of memory",
    ),
    "file_size_bytes": ("File too large",),
    "open_files": ("Too many open files",),
}


def exceeded(word: str | None, status: Status, limits: Allowance) -> str | None:
    """Return which limit has certainly ended the run, or None. ``word`` is the report of the supervisor process."""
    if word == "processes":
        return f"it had more than {limits.processes} processes, which is its limit, and was killed"
    number = status.signal or (status.code or 0) - _OF_SHELLS
    if word == "cpu":
        number = signal.SIGKILL
    if limits.cpu_s is not None and (word == "cpu" or number == signal.SIGXCPU):
        return f"{_killed(number)}: it used more than its cpu limit of {int(limits.cpu_s)} s"
    if number == signal.SIGXFSZ and limits.file_size_bytes is not None:
        limit = size_text(limits.file_size_bytes)
        return f"{_killed(number)}: it wrote more into a file than its file_size limit of {limit}"
    return None


def suspicion(stderr: str, limits: Allowance) -> str:
    """Return the limit that a run may have failed at, judged by its stderr, as a suffix for its error. Empty if
    none.
    """
    told = {
        "memory_bytes": f"memory limit is {size_text(limits.memory_bytes or 0)}",
        "file_size_bytes": f"file_size limit is {size_text(limits.file_size_bytes or 0)}",
        "open_files": f"open_files limit is {limits.open_files}",
    }
    for field, marks in _WORDS.items():
        if getattr(limits, field) is not None and any(mark in stderr for mark in marks):
            return f" (its {told[field]})"
    return ""


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a real-time signal"


def _killed(number: int) -> str:
    return f"killed by signal {number} ({signal_name(number)})"
