"""Thread of the notifier. It routes events, takes due deliveries, and has them attempted by threads of its own.

It looks for them in each period. While this process leads the ticks, the leader's look includes them, and this thread
does not look itself. Otherwise it would cause a tenth of the work of an idle worker.

So neither the groomer nor a worker's slot waits for a receiver. A receiver that hangs occupies at most
``TOGETHER`` of the threads, and none after its next failure until its delay is over.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from math import inf
from threading import Event, Lock, Thread
from time import monotonic

from sluice.actors.notifier.senders import Sender
from sluice.actors.worker.logs import ErrorThrottle
from sluice.broker.messages import Message, Plan
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.submission import Submission
from sluice.jobs.observe.failpoints import TransactionKind
from sluice.jobs.observe.outages import missed
from sluice.jobs.programs.errors import one_line
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle import submissions
from sluice.ledger.notifications import deliveries
from sluice.ledger.notifications.deliveries import DeliveryAttempt, DueDelivery, RecordedAttempts

_LOG = logging.getLogger("sluice.notifier")
#: Name of this thread among the parts of a process that an outage of the ledger affects.
_PART = "notifier"

#: Deliveries that one process attempts at the same time, and the share of one receiver.
THREADS = 16
TOGETHER = 4
#: Events that one transaction routes.
ROUTED = 1000
#: Periods after a look of the leader in which the notifier does not look itself: 3. In the second one the leader looks
#: again, unless it waits for a broker that does not answer.
LOOK_HOLDS_PERIODS = 3
#: Seconds that the end of the process waits for attempts in progress. Later attempts repeat the ones in progress.
GOODBYE_S = 2.0


class Notifier:
    """Notifier of one process. Several may run: each takes deliveries that no other has taken."""

    def __init__(
        self,
        ledger: Ledger,
        sender: Sender,
        publish: Callable[[Sequence[Message]], None],
        ended: Event,
        *,
        period_s: float,
        pool: Executor | None = None,
    ) -> None:
        """``ended`` is set when the notifier ends; ``sender`` stops then. ``publish`` has submissions planned. Attempts
        run in ``pool``. Default: threads of its own.
        """
        self._ledger = ledger
        self._sender = sender
        self._publish = publish
        self._period_s = period_s
        self._busy: Counter[int] = Counter()
        self._lock = Lock()
        self._ended = ended
        self._wake = Event()
        self._looked_at = -inf
        self._complaints = ErrorThrottle(_LOG, "notifications are delayed")
        self._pool = pool or ThreadPoolExecutor(THREADS, thread_name_prefix="notifier")
        self._thread = Thread(target=self._live, name="notifier", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Take no more deliveries. Attempts in progress are stopped soon."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(GOODBYE_S)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def looked(self, is_due: bool) -> None:  # noqa: FBT001 - the leader passes the result of its look
        """Note that the leader has looked. If ``is_due``, a step follows at once."""
        self._looked_at = monotonic()
        if is_due:
            self._wake.set()

    def step(self) -> list[Future[None]]:
        """Route events, and start the attempts of due deliveries, as far as threads are free."""
        if not self._ledger.run_alone(deliveries.is_due):
            return []
        self._ledger.transact(lambda tx: deliveries.route(tx, ROUTED))
        with self._lock:
            busy = dict(self._busy)
        room = THREADS - sum(busy.values())
        if room <= 0:
            return []
        taken = self._ledger.transact(
            lambda tx: deliveries.take(tx, room, together=TOGETHER, busy=busy), TransactionKind.NOTIFY
        )
        with self._lock:
            self._busy.update(each.receiver for each in taken)
        return [self._pool.submit(self._attempt, each) for each in taken]

    def _attempt(self, delivery: DueDelivery) -> None:
        try:
            self._publish(attempt(self._ledger, delivery, self._sender))
        except Unreachable as error:
            missed(error, "deliveries of events repeated later")
        except Exception:
            _LOG.exception("a notification was not recorded, it will be repeated")
        finally:
            with self._lock:
                self._busy[delivery.receiver] -= 1
                self._busy += Counter()
            self._wake.set()

    def _live(self) -> None:
        while not self._ended.is_set():
            self._wake.clear()
            self._try()
            self._wait()

    def _wait(self) -> None:
        """Wait until something may be due. A backlog continues as soon as a thread is free."""
        wait_s = self._period_s
        while not self._wake.wait(wait_s):
            wait_s = self._looked_at + LOOK_HOLDS_PERIODS * self._period_s - monotonic()
            if wait_s <= 0:
                return

    def _try(self) -> None:
        try:
            self.step()
        except Unreachable as error:
            self._ledger.outages.failed(error, part=_PART)
        except Exception as error:
            self._complaints.log(error)
        else:
            self._complaints.forget()
            self._ledger.outages.answered(part=_PART)


def attempt(ledger: Ledger, delivery: DueDelivery, sender: Sender) -> Sequence[Message]:
    """Attempt a delivery, and record the result. If the process dies in between, another one repeats it.

    Return the messages that follow. An app gets its event in the transaction that records it.
    """
    submission = sender.submission_of(delivery) if delivery.target.app is not None else None
    error = sender.send(delivery) if submission is None else None
    result = DeliveryAttempt(delivery=delivery, error=error)
    recorded = ledger.transact(lambda tx: _record(tx, result, submission), TransactionKind.DELIVER)
    _log(delivery, error, is_dead=bool(recorded.dead))
    return [Plan(submissions=(submission.require_id(),))] if submission else []


def _record(tx: Tx, result: DeliveryAttempt, submission: Submission | None) -> RecordedAttempts:
    """Record the result, and admit the submission of an app. If its id exists already, it was submitted before."""
    if submission:
        submissions.admit(tx, [submission])
    return deliveries.record(tx, [result])


def _log(delivery: DueDelivery, error: str | None, *, is_dead: bool) -> None:
    """Log the first failed attempt of a delivery, and the last one. Of a command's output the log has the beginning."""
    reason = one_line(error or "")
    about = (delivery.event, f"{delivery.app}/{delivery.key}", delivery.target.label, reason)
    if is_dead:
        _LOG.error("the event %s of %s was not delivered to %s, given up: %s", *about)
    elif error and delivery.attempts == 1:
        _LOG.warning("the event %s of %s was not delivered to %s, it will be repeated: %s", *about)
