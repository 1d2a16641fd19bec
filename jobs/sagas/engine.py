"""Pilot: runs one flight from its position in the journal until the run ends.

``fly`` lists the actions at each boundary, and each other method is such an action. It returns a ``RunEnd`` if the run
is over, or None if the flight continues.

Race: this run against a run that has taken over the flight. The journal decides it at each entry. A crash leaves the
last entry; a do or undo that has begun since then is called again.
"""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.sagas.abort_reasons import WAIT_TIMED_OUT
from sluice.jobs.sagas.answers import Answer, Fatal, Rerun, Retry, Stop, Success, Wait, read_answer
from sluice.jobs.sagas.debug import Debug, Injector
from sluice.jobs.sagas.environment import Means
from sluice.jobs.sagas.flight import Flight, Seat, Working
from sluice.jobs.sagas.hooks import FlightHooks
from sluice.jobs.sagas.interrupts import HANDED_BACK, LOST, Tower
from sluice.jobs.sagas.journal import (
    Await,
    Direction,
    EntryResult,
    Failure,
    JournalEntry,
    JournalReply,
    Log,
)
from sluice.jobs.sagas.next_step import Leg, next_leg
from sluice.jobs.sagas.result import DISMAL_FAILURE, FlightEnd, RunEnd
from sluice.jobs.sagas.step import Step
from sluice.jobs.sagas.step_retry import Tries
from sluice.jobs.sagas.step_transaction import StepTransaction


class Pilot:
    """One run of one flight, from the state in ``log``. ``seat`` holds the values that ``flight`` shows to the
    steps.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        flight: Flight,
        seat: Seat,
        log: Log,
        means: Means,
        *,
        hooks: FlightHooks,
        debug: Debug,
    ) -> None:
        self._steps = steps
        self._flight = flight
        self._seat = seat
        self._log = log
        self._means = means
        self._hooks = hooks
        self._injector = Injector(debug)
        self._restarts = debug.restart_each_step
        self._last = log.last
        self._failure = log.failure
        self._tower = Tower(means, log.abort_reason)
        #: Whether this run wrote the last entry. Then no other run can have begun the step after it.
        self._is_own = False
        self._own: StepTransaction | None = None
        seat.working = Working(log.last.working if log.last else {})
        seat.events = {event.name or "": event.payload for event in log.events if event.taken}
        seat.cancelled = lambda: self._tower.calls_in(seat.direction)

    def fly(self) -> RunEnd:
        self._hooks.start_flight()
        landing = self._end_wait() or self._fly_on()
        self._hooks.end_flight(landing.how)
        return landing

    def _fly_on(self) -> RunEnd:
        while True:
            leg = next_leg(self._last)
            if leg.step < 0:
                return RunEnd(how=FlightEnd.UNDONE, failure=self._failure)
            if leg.step >= len(self._steps):
                return RunEnd(how=FlightEnd.SUCCEEDED)
            if self._tower.stops or (self._restarts and self._is_own):
                return HANDED_BACK
            why = self._tower.why_back(leg.direction)
            landing = self._switch(self._begun(leg), why) if why else self._take(leg)
            if landing is not None:
                return landing

    def _end_wait(self) -> RunEnd | None:
        """End the wait of the flight if it is over. Return a landing if it continues."""
        last = self._last
        if last is None or last.result is not EntryResult.AWAITS or last.awaits is None:
            return None
        event = next((each for each in self._log.events if each.ends(last.awaits)), None)
        if event is not None:
            self._seat.events[event.name or ""] = event.payload
            return self._write(replace(self._entry(last), result=EntryResult.CAME, event=event.id))
        if why := self._tower.why_back(last.direction):
            return self._switch(last.step, why)
        if not self._log.overdue:
            return RunEnd(how=FlightEnd.SUSPENDED, awaits=last.awaits)
        if last.direction is Direction.DO and last.awaits.otherwise == "undo":
            return self._switch(last.step, _waited_for_nothing(last.awaits))
        return self._write(replace(self._entry(last), result=EntryResult.CAME))

    def _begun(self, leg: Leg) -> int:
        """Return the last step that may have begun its do, if ``leg`` is next."""
        return self._last.step if self._is_own and self._last else leg.step

    def _take(self, leg: Leg) -> RunEnd | None:
        """Call one step until it has a final answer, and write that to the journal."""
        step = self._steps[leg.step]
        self._seat.step, self._seat.name, self._seat.direction = leg.step, step.name, leg.direction
        answer = self._answered(leg, step)
        if isinstance(answer, RunEnd):
            return answer
        if isinstance(answer, Failure):
            return self._failed(leg, answer)
        own = self._own
        landing = (
            self._noted(own.entry, own.reply)
            if own and own.entry
            else self._write(_marked(self._entry_of(leg), answer))
        )
        if landing is None and isinstance(answer, Wait):
            return RunEnd(how=FlightEnd.SUSPENDED, awaits=_await(answer))
        return HANDED_BACK if landing is None and isinstance(answer, Stop) else landing

    def _answered(self, leg: Leg, step: Step) -> Answer | Failure | RunEnd:
        """Return the final answer of a step. After a ``Retry``, the step's rule determines the next try.

        A run that must stop does not use the rule: the next run starts the rule again. So a leaving worker never causes
        an undo.
        """
        try:
            tries = Tries(step.retry, self._means)
        except BaseException as error:
            # A rule may also be user code.
            return self._means.blame(error)
        while True:
            answer, failure = self._tried(leg, step)
            if not isinstance(answer, Retry):
                return failure or answer
            if self._tower.stops:
                return HANDED_BACK
            failure = failure or self._means.blame(answer)
            pause_s = tries.pause_s(failure, answer.after_s)
            if isinstance(pause_s, Failure):
                return pause_s
            self._flight.log.info("%s is tried again in %g s: %s", step.name, pause_s, failure)
            ended = self._tower.waits(pause_s, leg.direction)
            if ended is not None:
                return ended

    def _tried(self, leg: Leg, step: Step) -> tuple[Answer, Failure | None]:
        """Make one try. Return its answer, and its failure if it has failed."""
        self._hooks.start_step()
        failure: Failure | None = None
        is_last = leg.step == len(self._steps) - 1
        replaced = partial(self._injector.replaced, leg, step.name, is_last=is_last)
        self._own = own = StepTransaction(
            self._means.journal, lambda said: _marked(self._entry_of(leg), said), replaced
        )
        self._seat.transaction = own.open
        try:
            function = step.do if leg.direction is Direction.DO else step.undo
            reached(Failpoint.DO_BEGINS if leg.direction is Direction.DO else Failpoint.UNDO_BEGINS)
            answer = read_answer(self._means.call(function, self._flight))
        except (Retry, Fatal) as error:
            answer, failure = error, self._means.blame(error)
        except BaseException as error:
            # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
            failure = self._means.blame(error)
            answer = Fatal(str(failure))
        if own.entry is not None and own.answer is not None:
            self._after_commit(own.entry, own.answer, failure or answer)
            answer, failure = own.answer, None
        elif (counts := replaced(answer)) is not answer:
            answer, failure = counts, None
        if isinstance(answer, Fatal) and failure is None:
            failure = self._means.blame(answer)
        reached(Failpoint.DO_ANSWERED if leg.direction is Direction.DO else Failpoint.UNDO_ANSWERED)
        self._hooks.end_step(answer.word)
        return answer, failure

    def _after_commit(self, entry: JournalEntry, committed: Answer, ended: Answer | Failure) -> None:
        """Log an end of the step, and values in its map, that its committed entry does not have."""
        log = self._flight.log
        if not isinstance(ended, Success | type(committed)):
            what = ended if isinstance(ended, Failure) else ended.word
            log.error(
                "%s is done, because its transaction is committed; this has no effect: %s", entry.name, what
            )
        if self._flight.working.kept() != entry.working:
            log.error("%s has changed flight.working after its commit; the changes are dropped", entry.name)
            self._seat.working = Working(entry.working)

    def _failed(self, leg: Leg, failure: Failure) -> RunEnd | None:
        if leg.direction is Direction.DO:
            return self._switch(leg.step, failure)
        failure = replace(failure, step=self._steps[leg.step].name)
        self._flight.log.error("%s: undo of %s failed: %s", DISMAL_FAILURE, failure.step, failure)
        entry = replace(self._entry_of(leg), result=EntryResult.UNDO_FAILED, failure=failure)
        return self._write(entry) or RunEnd(how=FlightEnd.UNDO_FAILED, failure=self._failure, trouble=failure)

    def _switch(self, step: int, why: Failure) -> RunEnd | None:
        """Switch to undo, beginning with this step."""
        self._failure = why = replace(why, step=self._steps[step].name)
        self._flight.log.warning("The flight is being undone from %s on: %s", why.step, why)
        entry = self._entry_of(Leg(step, Direction.DO))
        return self._write(replace(entry, direction=Direction.SWITCH, failure=why))

    def _entry_of(self, leg: Leg) -> JournalEntry:
        return JournalEntry(
            seq=self._last.seq + 1 if self._last else 1,
            step=leg.step,
            name=self._steps[leg.step].name,
            steps=len(self._steps),
            direction=leg.direction,
            working=self._flight.working.kept(),
        )

    def _entry(self, last: JournalEntry) -> JournalEntry:
        """Return a new entry about the same step."""
        return self._entry_of(Leg(last.step, last.direction))

    def _write(self, entry: JournalEntry) -> RunEnd | None:
        return self._noted(entry, self._means.journal.write(entry))

    def _noted(self, entry: JournalEntry, reply: JournalReply) -> RunEnd | None:
        """Note an entry that is written."""
        if not self._tower.hear(reply):
            return LOST
        self._last, self._is_own = entry, True
        return None


def _marked(entry: JournalEntry, answer: Answer) -> JournalEntry:
    if isinstance(answer, Rerun):
        return replace(entry, result=EntryResult.AGAIN)
    if isinstance(answer, Wait):
        return replace(entry, result=EntryResult.AWAITS, awaits=_await(answer))
    return entry


def _await(answer: Wait) -> Await:
    return Await(event=answer.event, within_s=answer.timeout_s, otherwise=answer.otherwise)


def _waited_for_nothing(awaits: Await) -> Failure:
    what = awaits.event or "an event"
    return Failure(type=WAIT_TIMED_OUT, message=f"{what} has not arrived within {awaits.within_s:.12g} s")
