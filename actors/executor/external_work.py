"""Polls of external work that no worker stays with: get its status, or end it if its job is over.

A poll holds no claim and no lease. Its result is recorded under the claim that it was made for, and refused if that
claim is over by then (see ``ledger.external_work``).
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from sluice.actors.executor import transactions
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.broker.delivery import Delivery
from sluice.broker.messages import Message, Watch
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.job import Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.observe.log_context import Speaking, Subject, log_about_jobs, of_claim
from sluice.jobs.runners import external
from sluice.jobs.runners.external import Maker
from sluice.ledger import external_work
from sluice.ledger.database.connection import Ledger
from sluice.ledger.external_work import PolledWork, PollOutcome

_LOG = logging.getLogger("sluice.executor")

#: Seconds that results of polls may wait to be recorded together.
WRITE_WITHIN_S = 0.1


class ExternalWorkPoller:
    """Polls by this process. ``send`` publishes notifications; it may fail without harm.

    A manager that never answers holds one thread of each process, not one more with each poll.
    """

    def __init__(
        self,
        ledger: Ledger,
        catalogue: Callable[[], Catalogue],
        holdings: ClaimsInFlight,
        send: Callable[[Sequence[Message]], None],
    ) -> None:
        self._ledger = ledger
        self._catalogue = catalogue
        self._holdings = holdings
        self._send = send
        self._looked_at: set[int] = set()
        self._lock = Lock()

    def watch(self, message: Watch, delivery: Delivery) -> None:
        """Make the polls that a message requests. If this does not finish, they become due again by themselves."""
        if self._holdings.draining:
            delivery.give_back()
            return
        app = self._catalogue().get(message.app)
        if app is None or app.manager is None:
            _LOG.warning("%s has no job manager here any more, so its work is not polled", message.app)
            delivery.acknowledge()
            return
        with self._only_here(message.jobs) as mine:
            taken = self._ledger.transact(lambda tx: external_work.take_announced(tx, message.app, mine))
            delivery.acknowledge()
            self._look_at(app.manager, taken)

    @contextmanager
    def _only_here(self, jobs: Sequence[int]) -> Iterator[list[int]]:
        """Yield the jobs that no other thread of this process is polling."""
        with self._lock:
            mine = [job for job in jobs if job not in self._looked_at]
            self._looked_at.update(mine)
        try:
            yield mine
        finally:
            with self._lock:
                self._looked_at.difference_update(mine)

    def _look_at(self, make: Maker, jobs: Sequence[PolledWork]) -> None:
        seen: list[PollOutcome] = []
        outcomes: dict[Claim, Outcome] = {}
        written_at = time.monotonic()
        for job in jobs:
            if self._holdings.draining:
                break
            with Speaking(_subject(job)):
                if job.is_over:
                    seen += self._end(make, job)
                else:
                    look = external.look(make, job.name, job.handle, failed_polls=job.failed_polls)
                    if look.outcome is not None:
                        outcomes[job.right] = look.outcome
                    else:
                        seen.append(_seen(job, look))
            if time.monotonic() - written_at > WRITE_WITHIN_S:
                self._write(jobs, seen, outcomes)
                seen, outcomes, written_at = [], {}, time.monotonic()
        self._write(jobs, seen, outcomes)

    def _end(self, make: Maker, job: PolledWork) -> list[PollOutcome]:
        """End the work of a job that is over. Return nothing if that succeeded: its handle is removed."""
        trouble = external.end(make, job.handle)
        if trouble is None:
            self._ledger.transact(lambda tx: external_work.remove_handle(tx, job.right, job.handle))
            return []
        _LOG.warning(
            "%s has ended, but its work could not be ended: %s", job.name, trouble.partition("\n")[0]
        )
        external_status = external.short(trouble)
        return [
            PollOutcome(
                right=job.right,
                is_over=True,
                missed=True,
                external_status=external_status,
                line=f"{external_status}\n",
            )
        ]

    def _write(
        self, jobs: Sequence[PolledWork], seen: list[PollOutcome], outcomes: dict[Claim, Outcome]
    ) -> None:
        if seen:
            self._ledger.transact(lambda tx: external_work.record_polls(tx, seen))
        if not outcomes:
            return
        messages, refused = transactions.record(self._ledger, outcomes)
        subjects = {job.right: _subject(job) for job in jobs}
        log_about_jobs(
            _LOG,
            [of_claim(claim, subjects.get(claim)) for claim in refused],
            "the external work of %s ended after the job was taken back or cancelled; its result is dropped",
            "the external work of %s ended after the jobs were taken back or cancelled; its results are dropped",
        )
        self._send(messages)


def _subject(job: PolledWork) -> Subject:
    return Subject(app=job.app, key=job.key, claim=job.claim)


def _seen(job: PolledWork, look: external.PollResult) -> PollOutcome:
    return PollOutcome(
        right=job.right,
        is_over=False,
        poll_interval_s=look.poll_s,
        missed=look.missed,
        external_status=look.external_status,
        line=look.line,
    )
