"""Outcome of a run: determined by the limit that it reached, or for a command by its app's ``fail_on``."""

from sluice.jobs.allowance import Allowance
from sluice.jobs.job import Assignment
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.policy import Policy
from sluice.jobs.runners.exceeding import exceeded, signal_name, suspicion
from sluice.jobs.runners.excerpt import Excerpt, legible
from sluice.jobs.runners.limits import Halt
from sluice.jobs.runners.process import Exit

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
