"""One run of a flight: it is taken up, flies, and lands. Nothing that user code does comes out as an error."""

import logging

from msgspec.structs import replace

from sluice.jobs.job import Claimed
from sluice.jobs.places import Place, reached
from sluice.jobs.sagas.building import build_steps
from sluice.jobs.sagas.context import context_of
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.entry import Failure, Log
from sluice.jobs.sagas.flight import Flight, Seat
from sluice.jobs.sagas.hooks import Hooks
from sluice.jobs.sagas.landing import DISMAL_FAILURE, Landed, Landing
from sluice.jobs.sagas.means import Means
from sluice.jobs.sagas.pilot import Pilot
from sluice.jobs.sagas.saga import Saga


def fly(
    saga: Saga,
    claimed: Claimed,
    means: Means,
    *,
    logger: logging.Logger,
    debug: Debug,
    refusal: Failure | None = None,
) -> Landing:
    """From where the journal says that the flight stands. ``refusal`` is why it cannot be flown under its terms."""
    log = means.journal.read()
    if log is None:
        return Landing(how=Landed.LOST)
    if refusal is not None:
        return _unbuilt(refusal, log, logger)
    reached(Place.FLIGHT_TAKEN_UP)
    seat = Seat()
    try:
        context = context_of(saga.context)
        flight = Flight(claimed, context=context, log=logger, meter=means.journal.meter, seat=seat)
    except BaseException as error:
        # The context is made by user code, which may raise SystemExit and KeyboardInterrupt.
        return _unbuilt(means.blame(error), log, logger)
    steps = build_steps(saga.build, flight, log, means.blame)
    if isinstance(steps, Failure):
        return _unbuilt(steps, log, logger)
    hooks = Hooks(saga.hooks, flight, means.blame)
    return Pilot(steps, flight, seat, log, means, hooks=hooks, debug=debug).fly()


def _unbuilt(why: Failure, log: Log, logger: logging.Logger) -> Landing:
    """One that never began fails like any job; of another nobody can say what is there, and it waits to be mended."""
    if not log.has_begun:
        return Landing(how=Landed.UNDONE, failure=why)
    if log.last is None:
        unsaid = "it was taken up before, and what its first step may have done stands in no journal"
        why = replace(why, message=f"{why.message} ({unsaid})".strip())
    logger.error("%s: it cannot be taken up again: %s", DISMAL_FAILURE, why)
    return Landing(how=Landed.DISMAL, failure=log.failure, trouble=why)
