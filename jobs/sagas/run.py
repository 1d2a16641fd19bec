"""One run of a flight, from pick-up to landing. No exception of user code leaves this module."""

import logging

from msgspec.structs import replace

from sluice.jobs.model.job import RunContext
from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.engine import Pilot
from sluice.jobs.sagas.environment import Means
from sluice.jobs.sagas.flight import Flight, Seat, context_of
from sluice.jobs.sagas.hooks import FlightHooks
from sluice.jobs.sagas.journal import Failure, Log
from sluice.jobs.sagas.result import DISMAL_FAILURE, FlightEnd, RunEnd
from sluice.jobs.sagas.spec import Saga
from sluice.jobs.sagas.steps import build_steps


def fly(
    saga: Saga,
    claimed: RunContext,
    means: Means,
    *,
    logger: logging.Logger,
    debug: Debug,
    refusal: Failure | None = None,
) -> RunEnd:
    """Run the flight from its position in the journal. ``refusal`` is the reason why its options do not permit a
    run.
    """
    log = means.journal.read()
    if log is None:
        return RunEnd(how=FlightEnd.LOST)
    if refusal is not None:
        return _unbuilt(refusal, log, logger)
    reached(Failpoint.FLIGHT_TAKEN_UP)
    seat = Seat()
    try:
        context = context_of(saga.context)
        flight = Flight(claimed, context=context, log=logger, meter=means.journal.meter, seat=seat)
    except BaseException as error:
        # User code creates the context, and may raise SystemExit and KeyboardInterrupt.
        return _unbuilt(means.blame(error), log, logger)
    steps = build_steps(saga.build, flight, log, means.blame)
    if isinstance(steps, Failure):
        return _unbuilt(steps, log, logger)
    hooks = FlightHooks(saga.hooks, flight, means.blame)
    return Pilot(steps, flight, seat, log, means, hooks=hooks, debug=debug).fly()


def _unbuilt(why: Failure, log: Log, logger: logging.Logger) -> RunEnd:
    """Return the landing of a flight without steps. A flight that never began fails like any job. The effects of
    another flight are unknown, so it becomes ``fatal`` until its definition is fixed.
    """
    if not log.has_begun:
        return RunEnd(how=FlightEnd.UNDONE, failure=why)
    if log.last is None:
        unsaid = "it had started before, and the effects of its first step are not recorded in the journal"
        why = replace(why, message=f"{why.message} ({unsaid})".strip())
    logger.error("%s: the saga cannot be resumed: %s", DISMAL_FAILURE, why)
    return RunEnd(how=FlightEnd.UNDO_FAILED, failure=log.failure, trouble=why)
