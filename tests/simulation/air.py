"""The outside world of sagas: the effects of steps, the order of their calls, and the events that are sent to them.

It knows only the entries of journals that it is shown. Its stores use fencing tokens, as users' stores may: a process
that a later claim has overtaken cannot write any more, even if it does not know that.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct

from sluice.broker.messages import Message, Resume
from sluice.jobs.model.names import JobName
from sluice.jobs.sagas.answers import Answer, Fatal, Rerun, Retry, Wait
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.journal import Direction, EntryResult
from sluice.jobs.sagas.next_step import Leg, next_leg
from sluice.jobs.sagas.spec import Saga
from sluice.jobs.states import RETRY, State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.sagas import journals
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultSource
from tests.simulation.steps import EVENTS, Drawn

_STANDS = f"SELECT state = '{State.RUNNING}' AND claim = %(claim)s FROM job WHERE id = %(job)s"
_LANDED = f"""
SELECT transition.job, transition.claim, verb, target, coalesce(round.error, '')
FROM transition JOIN round ON round.job = transition.job AND round.claim = transition.claim
WHERE transition.id > %(since)s AND source = '{State.EXECUTED}' ORDER BY transition.id
"""
# A repeated event may come after its job was removed. Then it waits for another job with the name.
_KEPT = """
SELECT token FROM saga_signal WHERE token = ANY(%(heard)s)
UNION ALL SELECT token FROM saga_signal_early early WHERE token = ANY(%(heard)s)
  AND NOT EXISTS (SELECT 1 FROM job WHERE job.app = early.app AND job.key = early.key)
"""
_FORCED = f"""
SELECT step FROM saga_journal WHERE job = %(job)s AND flight = %(flight)s AND result = '{EntryResult.FORCED}'
"""


class FlightNo(NamedTuple):
    job: int
    number: int


class Call(Struct, kw_only=True):
    """One call of a ``do`` or an ``undo``.

    ``answer`` is None while it has not returned, and if its process died before.
    """

    flight: FlightNo
    claim: int
    leg: Leg
    comes_to: Answer | Exception
    answer: Answer | Exception | None = None

    @property
    def is_over(self) -> bool:
        """True if its answer is final, so that it need not be called again."""
        return isinstance(self.answer, Answer) and not isinstance(self.answer, Retry | Fatal | Rerun)


class Air:
    """The outside world. ``wrong`` collects violations: an exception in a step would count as the step's answer."""

    def __init__(
        self, fate: FaultSource, agenda: Agenda, plain: Ledger, send: Callable[[Message], None]
    ) -> None:
        self.wrong: list[str] = []
        self._fate = fate
        self._rng = fate.rng("air")
        self._agenda = agenda
        self._plain = plain
        self._send = send
        self._events = 0
        self._heard: set[str] = set()
        self._fences: dict[int, int] = {}
        self._steps: dict[FlightNo, int] = {}
        self._of_claims: dict[tuple[int, int], FlightNo] = {}
        self._calls: dict[FlightNo, list[Call]] = {}
        self._there: dict[FlightNo, set[int]] = {}
        self._ended: dict[FlightNo, State] = {}

    def takes_off(self, claimed: ClaimedJob, saga: Saga) -> None:
        """Note that this claim runs a flight, with the number of its steps."""
        flight = FlightNo(claimed.id, claimed.flight)
        self._of_claims[claimed.right] = flight
        self._steps[flight] = len(saga.build(None))

    def begin(self, claimed: ClaimedJob, function: Callable[..., Any], flight: Flight) -> Call:
        """Call a step, and leave its effects."""
        step: Drawn = function.__self__  # type: ignore[attr-defined]  # A step's do or undo is a bound method.
        undoing = flight.undoing
        # Drawn by the name of the call, so that the result does not depend on other calls.
        self._rng = self._fate.rng(f"the call of {claimed.name} at {flight.step}, undoing {undoing}")
        call = Call(
            flight=FlightNo(claimed.id, claimed.flight),
            claim=claimed.claim,
            leg=Leg(flight.step, Direction.UNDO if undoing else Direction.DO),
            comes_to=step.answer(self._rng, undoing=undoing),
        )
        if self._is_overtaken(call):
            return call
        self._fences[claimed.id] = claimed.claim
        calls = self._calls.setdefault(call.flight, [])
        self.wrong += self._plain.transact(lambda tx: self._out_of_order(tx, calls, call, flight))
        calls.append(call)
        flight.working[str(flight.step)] = len(calls)
        self._leave_traces(call)
        if isinstance(call.comes_to, Wait):
            self._tell(claimed.name, call.comes_to)
        return call

    def end(self, call: Call) -> object:
        """Return or raise the answer of the call. The answer of an overtaken claim is ignored."""
        if not self._is_overtaken(call):
            call.answer = call.comes_to
        if isinstance(call.comes_to, Exception) and self._rng.random() < 0.5:
            raise call.comes_to
        return call.comes_to

    def rest_s(self, fate: FaultSource, claimed: ClaimedJob) -> float:
        rng = fate.rng(f"the time between two things that {claimed.name} does")
        return rng.choice((0.01, 0.5, 3.0)) * rng.random() if rng.random() < 0.4 else 0.0

    def takes_s(self, claimed: ClaimedJob) -> float:
        return 0.0

    def hears(self, said: Resume) -> None:
        """Note an event that was sent to a flight and not refused."""
        self._heard.add(said.id)

    def unheard(self, tx: Tx) -> list[str]:
        """Return the events that were not refused and are not stored."""
        heard, self._heard = self._heard, set()
        kept = set(tx.column(_KEPT, heard=sorted(heard))) if heard else set()
        return [f"{each} was sent to a flight, and is lost" for each in sorted(heard - kept)]

    def landed(self, tx: Tx, since: int) -> list[str]:
        """Return the violations of flights that ended after this transition."""
        wrong: list[str] = []
        for job, claim, verb, target, error in tx.rows(_LANDED, since=since):
            flight = self._of_claims.get((job, claim))
            if flight is None:
                continue
            self._ended[flight] = ended = State.FAILED if verb == RETRY.name else State(target)
            there = sorted(self._there.get(flight, set()) - _forced(tx, flight))
            steps = self._steps[flight]
            called = _told(self._calls.get(flight, []))
            if ended is State.SUCCEEDED and there != [*range(steps)]:
                wrong.append(f"{flight} has succeeded, and of {steps} steps {there} are done: {called}")
            if ended is State.FATAL and not ("DISMAL FAILURE" in error and self._fails_at(flight)):
                wrong.append(f"{flight} is fatal without an undo that failed: {error!r}: {called}")
            if ended not in {State.SUCCEEDED, State.FATAL} and there:
                wrong.append(f"{flight} is undone ({ended}), and steps {there} are left: {called}")
        return wrong

    def unended(self) -> list[str]:
        """Return the flights that have begun and not ended, in a world at rest."""
        return [f"{flight} has begun and not ended" for flight in self._calls if flight not in self._ended]

    def _is_overtaken(self, call: Call) -> bool:
        return self._fences.get(call.flight.job, 0) > call.claim

    def _out_of_order(self, tx: Tx, calls: list[Call], call: Call, flight: Flight) -> list[str]:
        """Return the violations of this call by the calls before it, and by the present journal."""
        wrong: list[str] = []
        if not _follows(calls, call, _forced(tx, call.flight)):
            wrong.append(f"{call.flight}: {_told(calls)} is followed by {_told([call])}")
        if any(tx.column(_STANDS, job=call.flight.job, claim=call.claim)):
            last = journals.last(tx, call.flight.job)
            if last is None or last.result is not EntryResult.AWAITS:
                if next_leg(last) != call.leg:
                    wrong.append(f"{call.flight}: {_told([call])} is called after {last}")
            else:
                wrong.append(f"{call.flight}: {_told([call])} is called although the flight waits: {last}")
            if not _is_retry(calls, call) and flight.working.kept() != (last.working if last else {}):
                wrong.append(f"{call.flight}: {_told([call])} finds {flight.working} after {last}")
        return wrong

    def _leave_traces(self, call: Call) -> None:
        there = self._there.setdefault(call.flight, set())
        is_over = isinstance(call.comes_to, Answer) and not isinstance(call.comes_to, Retry | Fatal | Rerun)
        if not is_over and self._rng.random() < 0.5:
            return
        if call.leg.direction is Direction.DO:
            there.add(call.leg.step)
        else:
            there.discard(call.leg.step)

    def _tell(self, name: JobName, wait: Wait) -> None:
        """Send the event for which a step waits.

        It comes before the wait begins, soon, late, twice, or with others. If the wait has a timeout, it may never
        come.
        """
        if wait.timeout_s is not None and self._rng.random() < 0.4:
            return
        self._say(name, wait.event)
        if self._rng.random() < 0.2:
            self._say(name, self._rng.choice(EVENTS))

    def _say(self, name: JobName, event: str | None) -> None:
        self._events += 1
        said = Resume(app=name.app, key=name.key, event=event, id=f"event {self._events}")
        for _ in range(self._rng.choice((1, 1, 2))):
            after_s = self._rng.choice((0.0, 0.5, 6.0, 30.0)) * self._rng.random()
            self._agenda.after(after_s, lambda: self._send(said), about=said.id)

    def _fails_at(self, flight: FlightNo) -> bool:
        calls = self._calls.get(flight, [])
        last = calls[-1] if calls else None
        return last is not None and last.leg.direction is Direction.UNDO and not last.is_over


def _forced(tx: Tx, flight: FlightNo) -> set[int]:
    """Return the steps that an operator has forced."""
    return set(tx.column(_FORCED, job=flight.job, flight=flight.number))


def _follows(calls: list[Call], call: Call, forced: set[int]) -> bool:
    """Return whether this call may come next.

    A ``do`` follows the one before it, and an ``undo`` the one after it. No step is passed that is not done or undone.
    """
    last = calls[-1] if calls else None
    step, direction = call.leg.step, call.leg.direction
    if last is None:
        return step == 0
    if last.leg.direction is direction:
        onward = 1 if direction is Direction.DO else -1
        has_passed = last.is_over or (direction is Direction.UNDO and last.leg.step in forced)
        return step == last.leg.step or (has_passed and step == last.leg.step + onward)
    if direction is Direction.DO:
        return False
    return step == last.leg.step or (last.is_over and step == last.leg.step + 1)


def _is_retry(calls: list[Call], call: Call) -> bool:
    """Return whether the same run has just made this call. Then its changes to the working map are still visible."""
    last = calls[-1] if calls else None
    return last is not None and (last.claim, last.leg) == (call.claim, call.leg)


def _told(calls: list[Call]) -> str:
    return " ".join(
        f"{call.leg.direction}{call.leg.step}:{type(call.answer).__name__}@{call.claim}" for call in calls
    )
