"""Who sees runs from their claims to what they came to, for those who look on: the log, so far as it names jobs."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jobs.errors import Unreachable
from jobs.ref import Claim
from jobs.subject import Subject, speaking_of
from ledger.claims import Claimed
from ledger.connection import Ledger
from ledger.reads.origins import Origin, origins

_LOG = logging.getLogger("sluice.executor")


class Witness:
    """``asks``: whether it asks the ledger what runs began for, by one statement a parcel more."""

    def __init__(self, ledger: Ledger, *, asks: bool = False) -> None:
        self._ledger = ledger
        self._asks = asks

    def take_up(self, jobs: Sequence[Claimed]) -> dict[Claim, Subject]:
        """These have been claimed: what there is to say of each."""
        found = self._origins([job.right for job in jobs]) if self._asks else {}
        return {
            job.right: Subject(
                app=job.app,
                key=job.key,
                round=job.round,
                claim=job.claim,
                submission=found[job.right].submission if job.right in found else None,
            )
            for job in jobs
        }

    def _origins(self, claims: list[Claim]) -> dict[Claim, Origin]:
        """The jobs are to be run, whether or not the ledger can be asked what for."""
        try:
            return self._ledger.transact(lambda tx: origins(tx, claims))
        except Unreachable as error:
            _LOG.warning("what %d runs began for cannot be told: %s", len(claims), error)
            return {}

    @contextmanager
    def at(self, subject: Subject) -> Iterator[None]:
        """The thread is at this job's run until the end of the block."""
        with speaking_of(subject):
            yield
