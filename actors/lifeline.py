"""One process's life as the ledger sees it: it joins, beats, and leaves."""

import logging
import os
import socket
import time
from collections.abc import Callable
from threading import Event, Thread
from uuid import UUID

from actors.complaints import Complaints
from actors.holdings import Holdings
from actors.meter import Meter
from jobs.catalogue.known import KnownDefinitions
from jobs.errors import Unreachable
from jobs.ref import Claim
from jobs.subject import about
from ledger import workers
from ledger.connection import Ledger, Tx

_LOG = logging.getLogger("sluice.worker")


class Lifeline:
    """Renews the lease at a third of its length, and learns which claims were lost meanwhile.

    A process that cannot renew, for whatever reason, stops its runs before the lease ends by the ledger's clock: it
    counts from the moment it began its last successful beat, so it stops early rather than late. It tries again as long
    as it lives, for what it may claim depends on it. ``give_back`` returns claims
    that are this worker's by the ledger alone: they are as old as a lease and nobody here knows of them.
    """

    def __init__(
        self,
        ledger: Ledger,
        holdings: Holdings,
        id: UUID,
        *,
        queues: list[str],
        threads: int,
        code: str | None,
        lease_s: float,
        give_back: Callable[[list[Claim]], None],
        known: Callable[[], KnownDefinitions],
        meter: Meter | None = None,
    ) -> None:
        self.id = id
        self._ledger = ledger
        self._holdings = holdings
        self._queues = queues
        self._threads = threads
        self._code = code
        self._lease_s = lease_s
        self._give_back = give_back
        self._known = known
        self._recorded: KnownDefinitions | None = None
        self._meter = meter or Meter(ledger)
        self._trusted_until = 0.0
        self._complaints = Complaints(_LOG, "a beat came to nothing")
        self._ended = Event()
        self._thread = Thread(target=self._live, name="lifeline", daemon=True)

    def start(self) -> None:
        """Join; no claim is accepted before. Unreachable if the ledger does not answer."""
        began = time.monotonic()
        host, pid = socket.gethostname(), os.getpid()
        known = self._known()

        def join(tx: Tx) -> None:
            workers.join(
                tx,
                self.id,
                host=host,
                pid=pid,
                queues=self._queues,
                threads=self._threads,
                code=self._code,
                lease_s=self._lease_s,
            )
            workers.know(tx, self.id, known)

        self._ledger.transact(join)
        self._recorded = known
        self._trusted_until = began + self._lease_s
        self._thread.start()

    def end(self) -> None:
        """Leave. What is still held after this is the groomer's to give to others."""
        self._ended.set()
        self._thread.join()
        try:
            self._ledger.transact(lambda tx: workers.leave(tx, self.id))
            self._meter.read()
        except Unreachable as error:
            _LOG.warning("left without saying so; the lease ends by itself: %s", error)
        except Exception:
            # Whoever ends the process has more to close.
            _LOG.exception("left without saying all; the lease ends by itself")

    def _live(self) -> None:
        while not self._ended.wait(self._lease_s / 3):
            try:
                self._beat()
            except Unreachable as error:
                _LOG.warning("the lease could not be renewed: %s", error)
                self._mistrust()
            except Exception as error:
                self._complaints.tell(error)
                self._mistrust()
            else:
                self._complaints.forget()

    def _beat(self) -> None:
        began = time.monotonic()
        held, known = self._holdings.claims(), self._holdings.known()
        standing = self._ledger.transact(lambda tx: workers.beat(tx, self.id, held, lease_s=self._lease_s))
        self._trusted_until = began + self._lease_s
        for claim in self._holdings.keep_only(standing, held):
            _LOG.warning(
                "claim %d of job %d is gone; its run is stopped and its result dropped",
                claim.number,
                claim.job,
                extra=about(self._holdings.subject_of(claim)),
            )
        strays = self._ledger.transact(lambda tx: workers.strays(tx, self.id, known, grace_s=self._lease_s))
        if strays:
            self._give_back(strays)
        self._record_definitions()
        self._meter.read()

    def _record_definitions(self) -> None:
        """If they have changed since they were recorded."""
        known = self._known()
        if known is not self._recorded:
            self._ledger.transact(lambda tx: workers.know(tx, self.id, known))
            self._recorded = known

    def _mistrust(self) -> None:
        """Stop the runs if the lease may have ended before the next beat."""
        if time.monotonic() + self._lease_s / 3 >= self._trusted_until:
            self._holdings.stop_all()
