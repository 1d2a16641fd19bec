"""Outcome of a run, and limits that it exceeded.

The outcome is determined by the limit that the run reached, or for a command by its app's ``fail_on``. The message
about a resource limit that a run has exceeded is one line (``exceeded``, ``suspicion``).
"""

import signal

from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.runners.output import Excerpt, legible
from sluice.jobs.runners.process.group import ExitStatus
from sluice.jobs.runners.process.process import Exit
from sluice.jobs.runners.stop_signal import Halt
from sluice.jobs.text.units import size_text

_LINE_CHARS = 300


def failed(error: str) -> Outcome:
    """Return the outcome of a run that could not begin."""
    return Outcome(ending=Ending.ERROR, error=legible(error))


def of_command(exit_: Exit, assignment: Assignment) -> Outcome:
    """Return the outcome of a command that was started. It always has the output and the exit code."""
    if exit_.halt is not None:
        return of_exit(exit_, *of_halt(exit_.halt, assignment.timeout_s))
    error = violent_end(exit_, assignment.policy.limits) or _broken_rule(exit_, assignment.policy)
    return of_exit(exit_, Ending.DONE if error is None else Ending.ERROR, error)


def of_exit(exit_: Exit, ending: Ending, error: str | None) -> Outcome:
    """Return the outcome of a process with the given ending."""
    return Outcome(
        ending=ending,
        error=error,
        exit_code=exit_.status.code,
        output=exit_.stdout.text(),
        stderr=exit_.stderr.text(),
    )


def of_halt(halt: Halt, timeout_s: float | None) -> tuple[Ending, str]:
    """Return the ending and the error text of a run that was ended from outside."""
    if halt is Halt.TIMED_OUT:
        return Ending.TIMED_OUT, f"It ran over its timeout of {timeout_s:g} s."
    return (
        Ending.HANDED_BACK,
        "It was stopped before its end: cancelled, taken over, or its worker is stopping.",
    )


def violent_end(exit_: Exit, limits: Allowance) -> str | None:
    """Return why a process failed regardless of ``fail_on``: an exceeded limit, a signal, or an unknown exit status.
    None if it exited by itself.
    """
    status = exit_.status
    told = exceeded(exit_.exceeded, status, limits)
    if told is not None:
        return told
    if status.signal is not None:
        return f"killed by signal {status.signal} ({signal_name(status.signal)})"
    if status.code is None:
        return "its exit status is unknown: other code in the worker waits for all children (os.wait)"
    return None


def _broken_rule(exit_: Exit, policy: Policy) -> str | None:
    """Return why the run failed by ``fail_on``, or None. White space on stderr counts as text, as in the system that
    the option comes from.
    """
    if exit_.status.code and policy.fail_on in {"exit", "either"}:
        error = f"exited with {exit_.status.code}{_last_line(exit_.stderr)}"
    elif exit_.stderr.size and policy.fail_on in {"stderr", "either"}:
        error = f"wrote to stderr{_last_line(exit_.stderr)}"
    else:
        return None
    return error + suspicion(exit_.stderr.text(), policy.limits)


def _last_line(stderr: Excerpt) -> str:
    lines = stderr.text().strip().splitlines()
    return f": {lines[-1].strip()[:_LINE_CHARS]}" if lines else ""


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


def exceeded(word: str | None, status: ExitStatus, limits: Allowance) -> str | None:
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
