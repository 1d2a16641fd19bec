"""Attempts of this process to plan submissions, and decisions based on the attempts of other workers.

A submission may end the process that plans it, by its size or by users' code that it calls. It stays ``received`` then,
and the next planner takes it. So it is planned alone after the first planner died, and refused after the third.

A submission that is planned quickly and soon after it came costs nothing. A thread checks every half second, and
records the submissions that it finds for the second time. Submissions that have waited for long are recorded before
planning, because planners may have died of them within half a second.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread
from uuid import UUID

from sluice.actors.worker.logs import ErrorThrottle
from sluice.broker.messages import Message, Plan
from sluice.jobs.errors import Unreachable
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import plan_attempts, submissions
from sluice.ledger.lifecycle.plan_attempts import Attempt
from sluice.ledger.lifecycle.submissions import ReceivedSubmission

_LOG = logging.getLogger("sluice.planner")

#: Seconds between two checks: 0.5. So planning is recorded after half a second to a second.
LOOK_S = 0.5
#: A submission is refused after it ended this number of planners: 3. One or two may have died for another reason.
LOST_MAX = 3
#: Seconds until a planner tries a submission again that cannot be planned yet: 2, a small part of a lease.
RETRY_S = 2.0
UNDECIDED = (
    "A planner took it and has not planned it. Another planner plans it when that planner's lease has ended."
)
NOT_ITS_TURN = (
    "Planning it ended a planner. Such submissions are planned one at a time,"
    " and another one is being planned."
)


class Underway:
    """The submissions that one thread is planning, by number."""

    def __init__(self, attempts: "PlanAttempts") -> None:
        self._attempts = attempts
        self.submissions: frozenset[int] = frozenset()

    @property
    def worker(self) -> UUID | None:
        return self._attempts.worker

    def begin(self, received: Iterable[ReceivedSubmission]) -> None:
        """Note that these submissions are being planned from now on, and no others."""
        received = [*received]
        self.submissions = frozenset(each.number for each in received)
        if any(each.late for each in received):
            self._attempts.record(at_once=self.submissions)


class PlanAttempts:
    """Attempts of one process, recorded under its ``worker``. Without a worker, nothing is recorded."""

    def __init__(self, ledger: Ledger, worker: UUID | None = None) -> None:
        self._ledger = ledger
        self.worker = worker
        self._lock = Lock()
        self._recording = Lock()
        self._underway: set[Underway] = set()
        self._seen: frozenset[int] = frozenset()
        #: None if it is not known, because the answer of the ledger was lost.
        self._recorded: frozenset[int] | None = frozenset()
        self._complaints = ErrorThrottle(_LOG, "attempts at planning were not recorded")
        self._busy = Event()
        self._ended = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = Thread(target=self._live, name="plan attempts", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Record nothing from now on. The worker's attempts are removed when it leaves."""
        self._ended.set()
        self._busy.set()
        if self._thread:
            self._thread.join()

    @contextmanager
    def underway(self) -> Iterator[Underway]:
        """Track the planning within the block, which calls ``begin``."""
        made = Underway(self)
        with self._lock:
            self._underway.add(made)
        self._busy.set()
        try:
            yield made
        finally:
            with self._lock:
                self._underway.remove(made)

    def record(self, *, at_once: frozenset[int] = frozenset()) -> None:
        """Record in the ledger the submissions that were being planned at the last check and still are, and those in
        ``at_once``."""
        if (worker := self.worker) is None:
            return
        with self._recording:
            with self._lock:
                current = frozenset(number for each in self._underway for number in each.submissions)
            lasting, self._seen = current & self._seen | at_once, current
            if lasting == self._recorded:
                return
            self._recorded = None
            self._ledger.transact(lambda tx: plan_attempts.keep(tx, worker, sorted(lasting)))
            self._recorded = lasting

    def _live(self) -> None:
        while not self._ended.is_set():
            self._busy.wait()
            if self._ended.wait(LOOK_S):
                return
            self._busy.clear()
            try:
                self.record()
            except Unreachable as error:
                _LOG.debug("attempts at planning will be recorded at the next check: %s", error)
            except Exception as error:
                self._complaints.log(error)
            else:
                self._complaints.forget()
            if self._underway or self._recorded != frozenset():
                self._busy.set()


def sort_out(
    tx: Tx, held: list[ReceivedSubmission], worker: UUID | None
) -> tuple[list[ReceivedSubmission], list[Message]]:
    """Return the submissions that this transaction may plan, and messages about the submissions that it leaves.

    A submission that ended a planner is planned by itself, so that it does not affect others.
    """
    attempts = _attempts_by_others(tx, held, worker)
    fresh = [each for each in held if each.number not in attempts]
    again = [each for each in held if each.number in attempts and _may_try(tx, each, attempts[each.number])]
    if fresh or len(again) > 1:
        return fresh, [Plan(submissions=(each.id,)) for each in again]
    if again and not plan_attempts.take_turn(tx):
        submissions.set_aside(tx, [again[0].number], for_s=RETRY_S, reason=NOT_ITS_TURN)
        return [], []
    return again, []


def _attempts_by_others(
    tx: Tx, held: Iterable[ReceivedSubmission], worker: UUID | None
) -> dict[int, list[Attempt]]:
    """Return the attempts of other workers at these submissions, by the number of the submission."""
    attempts: dict[int, list[Attempt]] = {}
    if attempted := [each.number for each in held if each.attempted]:
        for attempt in plan_attempts.by_others(tx, attempted, worker):
            attempts.setdefault(attempt.submission, []).append(attempt)
    return attempts


def _may_try(tx: Tx, received: ReceivedSubmission, attempts: Sequence[Attempt]) -> bool:
    """Return whether a submission may be planned now. After too many attempts it is refused. While the end of the last
    attempt is unknown, it is put off."""
    lost = [attempt for attempt in attempts if attempt.is_lost]
    if len(lost) >= LOST_MAX:
        submissions.refuse(tx, received.number, _refusal(lost))
        plan_attempts.forget(tx, received.number)
        return False
    if len(lost) < len(attempts):
        submissions.set_aside(tx, [received.number], for_s=RETRY_S, reason=UNDECIDED)
        return False
    return True


def _refusal(lost: Sequence[Attempt]) -> str:
    processes = ", ".join(f"{attempt.pid} on {attempt.host}" for attempt in lost)
    return (
        f"Planning it ended {len(lost)} planners, which were killed or crashed (processes {processes}). "
        "Request less in one submission, or give planners more memory; then submit it again."
    )
