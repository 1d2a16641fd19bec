"""Runner of sagas in the worker's own thread, and the failures of their steps.

One run continues a flight from the point where the last run left it. ``blame`` converts an exception or an answer to
the failure of a step, as the journal stores it.
"""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.policy.policy import Policy
from sluice.jobs.runners.function.call import settled, traced
from sluice.jobs.runners.output import job_log, legible, worker_log
from sluice.jobs.runners.run_outcome import of_halt
from sluice.jobs.runners.run_output import RunOutput
from sluice.jobs.runners.stop_signal import Halt, Limits
from sluice.jobs.sagas.abort_reasons import CALLED_OFF
from sluice.jobs.sagas.environment import Means
from sluice.jobs.sagas.journal import Failure, Journal, MemoryJournal
from sluice.jobs.sagas.result import DISMAL_FAILURE, FlightEnd, RunEnd
from sluice.jobs.sagas.run import fly
from sluice.jobs.sagas.spec import Saga

_ENDINGS = {
    FlightEnd.SUCCEEDED: Ending.DONE,
    FlightEnd.UNDONE: Ending.ERROR,
    FlightEnd.UNDO_FAILED: Ending.UNDO_FAILED,
    FlightEnd.SUSPENDED: Ending.SUSPENDED,
    FlightEnd.HANDED_BACK: Ending.HANDED_BACK,
    FlightEnd.LOST: Ending.HANDED_BACK,
}


#: Creates the means of a run (a thread, a clock, randomness) from a journal, the assignment and the run's stop.
MeansOf = Callable[[Journal, Assignment, threading.Event], Means]


def means_of_this_thread(journal: Journal, assignment: Assignment, stop: threading.Event) -> Means:
    """Return the means for a run in the calling thread, with the real clock."""
    limits = Limits(stop, assignment.timeout_s)

    def over_time() -> str | None:
        return of_halt(Halt.TIMED_OUT, limits.timeout_s)[1] if limits.reached() is Halt.TIMED_OUT else None

    return Means(
        journal=journal,
        clock_s=time.monotonic,
        chance=random.random,
        pause=stop.wait,
        stopped=stop.is_set,
        over_time=over_time,
        call=call,
        blame=blame,
    )


class SagaRunner:
    """Runner of a saga. Without a journal of the ledger, the flight is recorded in memory and ends with this run."""

    def __init__(self, saga: Saga, means_of: MeansOf = means_of_this_thread) -> None:
        self._saga = saga
        self._means_of = means_of

    def run(
        self,
        assignment: Assignment,
        *,
        stop: threading.Event,
        journal: Journal | None = None,
        **_: object,
    ) -> Outcome:
        with RunOutput(assignment.echo) as output:
            landing = fly(
                self._saga,
                assignment,
                self._means_of(MemoryJournal() if journal is None else journal, assignment, stop),
                logger=job_log(assignment.name, write=output.log, tell=worker_log(assignment.name)),
                debug=assignment.policy.debug,
                refusal=_refusal(assignment.policy),
            )
        return output.of(_outcome(landing))


def _refusal(policy: Policy) -> Failure | None:
    if policy.env or policy.cwd or policy.limits or policy.keep_output:
        what = "a flight has env, cwd, limits or keep_output, which a thread cannot have; leave them out"
        return Failure(type="BadRequest", message=what)
    return None


def call(function: Callable[..., Any], flight: Any) -> object:
    """Return the answer of a do or an undo. The awaitable of an ``async def`` is awaited."""
    return settled(function(flight))


def _outcome(landing: RunEnd) -> Outcome:
    awaits = landing.awaits
    return Outcome(
        ending=_ENDINGS[landing.how],
        error=_error(landing),
        event=None if awaits is None else awaits.event,
        waits_s=None if awaits is None else awaits.within_s,
    )


def _error(landing: RunEnd) -> str | None:
    if landing.how is FlightEnd.LOST:
        return "Its flight was taken over by another worker."
    lines: list[str] = []
    if landing.trouble is not None:
        what = f"undo of {landing.trouble.step}" if landing.trouble.step else "resuming it"
        lines.append(f"{DISMAL_FAILURE}: {what} failed: {_told(landing.trouble)}")
    if landing.failure is not None:
        lines.append(_beginning(landing.failure))
    return legible("\n".join(lines)) if lines else None


def _beginning(why: Failure) -> str:
    """Return the sentence about the reason for the undo."""
    if why.type == CALLED_OFF:
        return f"It was cancelled, and undone from {why.step} on: {why.message}"
    return f"{why.step or 'Starting it'} failed: {_told(why)}"


def _told(failure: Failure) -> str:
    return f"{failure}\n{failure.traceback}".strip()


#: Types of these modules are shown by their bare names. Other types have their module in front, as in a traceback.
_WELL_KNOWN = ("builtins", "__main__", "sluice.jobs.errors", "sluice.jobs.sagas.answers")


def blame(error: BaseException) -> Failure:
    """Return the failure of this exception or answer. An answer that was returned has no traceback."""
    kind, told = type(error), traced(error)
    module = "" if kind.__module__ in _WELL_KNOWN else f"{kind.__module__}."
    return Failure(
        type=f"{module}{kind.__qualname__}",
        message=legible(str(told)),
        traceback=legible("".join(told.format())) if error.__traceback__ else "",
    )
