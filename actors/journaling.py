"""Connection between a run and the journal of its flight (see ``jobs.sagas.journal``).

The ledger decides whether the claim still holds. While the ledger is unreachable, the lease decides.
"""

import logging
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from sluice.jobs.errors import Unreachable
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.places import Place, reached
from sluice.jobs.sagas.entry import Entry, Heard, Log
from sluice.jobs.sagas.journal import Journal
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.lifecycle.claims import Claimed
from sluice.ledger.sagas import journals

_LOG = logging.getLogger("sluice.executor")

#: Seconds between two attempts to write an entry while the ledger is unreachable. They end when the lease is no longer
#: trusted.
OFFER_AGAIN_S = 1.0

_NOT_READ = Outcome(ending=Ending.NOT_BEGUN, error="its worker could not read its journal")

T = TypeVar("T")


class Journaling:
    """Journal of one run. While its ``stop`` event is not set, the claim is trusted, and the run waits for an
    unreachable ledger.

    The wait is necessary because the run must not continue beyond an entry that is not written.
    """

    def __init__(self, ledger: Ledger, job: Claimed, stop: Event) -> None:
        self._ledger = ledger
        self._job = job
        self._stop = stop
        self._turn_back: str | None = None

    def read(self) -> Log | None:
        return self._asked(lambda tx: journals.read(tx, self._job.right, self._job.flight))

    def write(self, entry: Entry) -> Heard:
        def work(tx: Tx) -> Heard:
            heard = journals.write(tx, self._job.right, self._job.flight, entry)
            reached(Place.ENTRY_WRITTEN)
            return heard

        heard = self._asked(work)
        reached(Place.ENTRY_COMMITTED)
        return self._noted(heard or Heard(stands=False))

    def heed(self) -> Heard:
        """Return whether the claim stands and whether the flight was called off. If the ledger is unreachable, return
        the last known answer, because the caller can ask again."""
        try:
            return self._noted(self._ledger.transact(lambda tx: journals.heed(tx, self._job.right)))
        except Unreachable as error:
            _LOG.warning("whether %s was cancelled is unknown: %s", self._job.name, error)
            return Heard(stands=not self._stop.is_set(), turn_back=self._turn_back)

    def meter(self, name: str, done: int, total: int | None) -> None:
        right, flight = self._job.right, self._job.flight
        try:
            self._ledger.transact(lambda tx: journals.meter(tx, right, flight, name, done=done, total=total))
        except Unreachable as error:
            _LOG.warning("the progress of %s cannot be recorded: %s", self._job.name, error)

    def _asked(self, ask: Callable[[Tx], T]) -> T | None:
        while True:
            try:
                return self._ledger.transact(ask)
            except Unreachable as error:
                _LOG.warning("the journal of %s waits for the ledger: %s", self._job.name, error)
                if self._stop.wait(OFFER_AGAIN_S):
                    return None

    def _noted(self, heard: Heard) -> Heard:
        self._turn_back = heard.turn_back
        return heard


def not_taken_up(journal: Journal | None, why: str) -> Outcome:
    """Return the outcome of a job that cannot be run: ``ERROR``, or ``DISMAL`` for a saga that has begun.

    Such a saga can be undone once the cause is fixed. If its journal cannot be read, the job is handed back.
    """
    if journal is None:
        return Outcome(ending=Ending.ERROR, error=why)
    log = journal.read()
    if log is None:
        return _NOT_READ
    return Outcome(ending=Ending.DISMAL if log.has_begun else Ending.ERROR, error=why)
