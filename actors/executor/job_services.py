"""Services of the ledger for a run: finished partitions, handles, the journal, transactions of the user.

- ``PartitionAcknowledger``: ``job.done(partition)`` acknowledges a partition of a running step. It stays made even if
  the rest fails.
- ``WorkAttachment``: connection between a run and the external work that it started (see ``jobs.model.external_work``).
- ``RunJournal``: connection between a run and the journal of its flight (see ``jobs.sagas.journal``).
- ``user_transaction``: with ``job.transaction()``, the user's writes and the job's success commit together, or neither
  does (see ``jobs.own_success``).

For handles and the journal, the ledger decides whether the claim still holds. While the ledger is unreachable, the
lease decides.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event
from typing import TypeVar

from sluice.actors.executor import transactions
from sluice.actors.executor.ledger_retry import while_unreachable
from sluice.broker.messages import Message
from sluice.jobs.errors import SluiceError, Unreachable
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.model.external_work import WorkOwner
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.model.submission import JSON
from sluice.jobs.observe.failpoints import Failpoint, TransactionKind, reached
from sluice.jobs.observe.outages import missed
from sluice.jobs.sagas.journal import Journal, JournalEntry, JournalReply, JournalTransaction, Log
from sluice.ledger import external_work
from sluice.ledger.database.connection import Ledger, Tx, UserConnection
from sluice.ledger.keyspaces import partitions
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.sagas import journals

_LOG = logging.getLogger("sluice.executor")


class PartitionAcknowledger:
    """Acknowledgements of one run. Each is in the ledger before the run continues; while the ledger is unreachable, the
    run waits."""

    def __init__(self, ledger: Ledger, right: Claim, calendar: Calendar, stop: Event) -> None:
        self._ledger = ledger
        self._right = right
        self._calendar = calendar
        self._stop = stop

    def acknowledge(self, text: str) -> None:
        """Acknowledge a partition of this step.

        ClaimLost if the claim was taken over, or if the partition is not this job's to make. Unreachable if the run is
        stopped while it waits for the ledger.
        """
        note = partial(partitions.acknowledge, right=self._right, partition=self._calendar.read(text))
        held = while_unreachable(
            partial(self._ledger.transact, note), self._stop, "partitions acknowledged late"
        )
        if held is None:
            raise Unreachable(f"The run was stopped before partition {text} was acknowledged.")
        if not held:
            raise ClaimLost(f"Claim {self._right.number} was taken over; another run makes {text} now.")


class WorkAttachment:
    """Attachment of one run. While its ``stop`` event is not set, the claim is trusted. ``send`` publishes
    notifications for jobs that waited for the work to start."""

    def __init__(
        self, ledger: Ledger, job: ClaimedJob, stop: Event, send: Callable[[Sequence[Message]], None]
    ) -> None:
        self.handle = job.handle
        self._ledger = ledger
        self._job = job
        self._stop = stop
        self._send = send

    def keep(self, handle: JSON, *, look_every_s: float | None = None, external_status: str = "") -> bool:
        def write() -> bool:
            if look_every_s is None:
                return self._ledger.transact(
                    lambda tx: external_work.store_handle(tx, self._job.right, handle)
                )
            return self._leave(handle, look_every_s, external_status)

        return bool(while_unreachable(write, self._stop, "handles of external work stored late"))

    def keeper(self, handle: JSON) -> WorkOwner:
        """Return the keeper of the work. If the ledger is unreachable, the answer lets the run end its work because of
        its own timeout, but not because of a stop."""
        try:
            return self._ledger.transact(lambda tx: external_work.owner_of(tx, self._job.right, handle))
        except Unreachable as error:
            missed(error, "checks for the owner of external work not answered")
            return WorkOwner.ANOTHER if self._stop.is_set() else WorkOwner.OURS

    def ended(self, handle: JSON) -> None:
        try:
            self._ledger.transact(lambda tx: external_work.remove_handle(tx, self._job.right, handle))
        except Unreachable as error:
            _LOG.warning(
                "the work of %s was ended, but its handle could not be removed: %s", self._job.name, error
            )

    def not_ended(self, handle: JSON) -> None:
        try:
            self._ledger.transact(lambda tx: external_work.store_orphaned_handle(tx, self._job.right, handle))
        except Unreachable as error:
            _LOG.warning("the work of %s, %s, could not be ended: %s", self._job.name, handle, error)

    def _leave(self, handle: JSON, every_s: float, external_status: str) -> bool:
        messages = transactions.detach(
            self._ledger, self._job.right, handle, every_s=every_s, external_status=external_status
        )
        if messages is None:
            return False
        self._send(messages)
        return True


_NOT_READ = Outcome(ending=Ending.NOT_STARTED, error="its worker could not read its journal")

T = TypeVar("T")


class RunJournal:
    """Journal of one run. While its ``stop`` event is not set, the claim is trusted, and the run waits for an
    unreachable ledger.

    The wait is necessary because the run must not continue beyond an entry that is not written.
    """

    def __init__(self, ledger: Ledger, job: ClaimedJob, stop: Event) -> None:
        self._ledger = ledger
        self._job = job
        self._stop = stop
        self._abort_reason: str | None = None

    def read(self) -> Log | None:
        def work(tx: Tx) -> Log | None:
            return journals.read(tx, self._job.right, self._job.flight)

        return self._when_reachable(partial(self._ledger.transact, work))

    def write(self, entry: JournalEntry) -> JournalReply:
        def work(tx: Tx) -> JournalReply:
            return journals.write(tx, self._job.right, self._job.flight, entry)

        heard = self._when_reachable(lambda: self._ledger.run_alone(work, TransactionKind.ENTRY))
        return self._noted(heard or JournalReply(stands=False))

    @contextmanager
    def transaction(self) -> Iterator[JournalTransaction]:
        with self._ledger.transaction() as tx:

            def write(entry: JournalEntry) -> JournalReply:
                tx.restore_idle_timeout()
                heard = self._noted(journals.write(tx, self._job.right, self._job.flight, entry))
                if not heard.stands:
                    raise ClaimLost(f"Claim {self._job.claim} was taken over; its writes are rolled back.")
                reached(Failpoint.STEP_WRITTEN)
                return heard

            yield JournalTransaction(tx.connection, write)
        reached(Failpoint.STEP_COMMITTED)

    def heed(self) -> JournalReply:
        """Return whether the claim stands and whether the flight was called off. If the ledger is unreachable, return
        the last known answer, because the caller can ask again."""
        try:
            return self._noted(self._ledger.run_alone(lambda tx: journals.check(tx, self._job.right)))
        except Unreachable as error:
            missed(error, "checks for a cancellation not answered")
            return JournalReply(stands=not self._stop.is_set(), abort_reason=self._abort_reason)

    def meter(self, name: str, done: int, total: int | None) -> None:
        right, flight = self._job.right, self._job.flight
        try:
            self._ledger.transact(
                lambda tx: journals.record_progress(tx, right, flight, name, done=done, total=total)
            )
        except Unreachable as error:
            missed(error, "records of progress left out")

    def _when_reachable(self, act: Callable[[], T]) -> T | None:
        return while_unreachable(act, self._stop, "journal entries of sagas written late")

    def _noted(self, heard: JournalReply) -> JournalReply:
        self._abort_reason = heard.abort_reason
        return heard


def not_taken_up(journal: Journal | None, why: str) -> Outcome:
    """Return the outcome of a job that cannot be run: ``ERROR``, or ``UNDO_FAILED`` for a saga that has begun.

    Such a saga can be undone once the cause is fixed. If its journal cannot be read, the job is handed back.
    """
    if journal is None:
        return Outcome(ending=Ending.ERROR, error=why)
    log = journal.read()
    if log is None:
        return _NOT_READ
    return Outcome(ending=Ending.UNDO_FAILED if log.has_begun else Ending.ERROR, error=why)


class ClaimLost(SluiceError):
    """Raised when the job was taken over, so that nothing that this run wrote may stay."""


@contextmanager
def user_transaction(ledger: Ledger, succeed: Callable[[UserConnection], None]) -> Iterator[UserConnection]:
    """Yield a connection to the ledger's own database. ``succeed`` records the success of the job at the end."""
    with ledger.transaction() as tx:
        yield tx.connection
        tx.restore_idle_timeout()
        succeed(tx.connection)
        reached(Failpoint.USER_WRITTEN)
    reached(Failpoint.USER_COMMITTED)
