"""Registration of one process in the ledger: it joins, sends heartbeats, and leaves."""

import logging
import os
import socket
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from threading import Event, Lock, Thread
from uuid import UUID

from msgspec import Struct

from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.telemetry.counters import ProcessCounters
from sluice.actors.worker.health_file import HealthFile
from sluice.actors.worker.logs import ErrorThrottle
from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.names import Claim
from sluice.jobs.observe.log_context import log_about_jobs, some_names
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.recovery import leases

_LOG = logging.getLogger("sluice.worker")

#: Name of the heartbeat in the log of outages of the ledger.
_PART = "heartbeat"
#: Seconds that a thread must wake up too late for the log to say that its process stood still.
STOOD_STILL_S = 1.0

#: Seconds between two checks for lost claims: 0.5, so that code notices within a second that its job was cancelled.
CHECK_EVERY_S = 0.5


class WorkerTerms(Struct, frozen=True, kw_only=True):
    """Queues that a process serves, as they were given to it, the number of jobs that it runs at a time, and the
    version of its code."""

    queues: Sequence[str]
    threads: int
    code: str | None


class Heartbeat:
    """Heartbeat of a worker: renews its lease every third of its length, and stops the runs of lost claims.

    Another thread asks for the lost claims more often, so that the code of a cancelled job is notified within a second.
    It asks only while a run has taken ``CHECK_EVERY_S``, so short jobs cost nothing. If heartbeats come as often, it
    does not exist.

    A third thread stops all runs once the lease can no longer be trusted (``ClaimsInFlight``). It waits only for its
    clock. So it works even if a heartbeat neither returns nor fails, for example on a connection that is open and
    silent. The threads go on as long as the process lives: once the lease is renewed, runs may begin again.

    ``give_back`` hands back claims that are this worker's according to the ledger, are as old as a lease, and are
    unknown here.
    """

    def __init__(
        self,
        ledger: Ledger,
        holdings: ClaimsInFlight,
        id: UUID,
        *,
        terms: WorkerTerms,
        give_back: Callable[[list[Claim]], None],
        known: Callable[[], KnownDefinitions],
        meter: ProcessCounters | None = None,
        health_file: Path | None = None,
    ) -> None:
        self.id = id
        self._ledger = ledger
        self._holdings = holdings
        self._terms = terms
        self._lease_s = holdings.lease_s
        self._give_back = give_back
        self._known = known
        self._recorded: KnownDefinitions | None = None
        self._meter = meter or ProcessCounters(ledger)
        self._health = HealthFile(health_file, id, holdings.lease_s)
        self._complaints = ErrorThrottle(_LOG, "a heartbeat failed")
        self._check_complaints = ErrorThrottle(_LOG, "a check for lost claims failed")
        self._renewed_at = 0.0
        self._failed = False
        self._lapsed = False
        self._is_hurried = False
        self._asked_at = inf
        self._lock = Lock()
        self._ended = Event()
        self._loops = [
            Thread(target=self._live, name="heartbeat", daemon=True),
            Thread(target=self._watch_lease, name="lease", daemon=True),
        ]
        if self._lease_s / 3 > CHECK_EVERY_S:
            self._loops.append(Thread(target=self._watch_claims, name="lost claims", daemon=True))

    def start(self) -> None:
        """Join. No claim is accepted before. Unreachable if the ledger does not answer."""
        self._health.remove()
        began = self._holdings.clock()
        host, pid = socket.gethostname(), os.getpid()
        known = self._known()

        def join(tx: Tx) -> None:
            leases.join(
                tx,
                self.id,
                host=host,
                pid=pid,
                queues=list(self._terms.queues),
                threads=self._terms.threads,
                code=self._terms.code,
                lease_s=self._lease_s,
            )
            leases.record_definitions(tx, self.id, known)

        self._ledger.drop_outdated_plans()
        self._ledger.transact(join)
        self._recorded = known
        self._renewed_at = began
        self._renewed(began)
        self._health.renewed()
        for thread in self._loops:
            thread.start()

    def end(self) -> None:
        """Leave. The groomer gives jobs that are still held after this to other workers."""
        self._ended.set()
        self._holdings.any_held.set()
        for thread in self._loops:
            thread.join()
        self._holdings.late_results.log(at_once=True)
        self._health.remove()
        try:
            self._ledger.transact(lambda tx: leases.leave(tx, self.id))
            self._meter.read()
        except Unreachable as error:
            _LOG.warning(
                "the worker left without reporting it to the ledger; its lease will expire: %s", error
            )
        except Exception:
            # The caller has more to close.
            _LOG.exception(
                "the worker left without reporting everything to the ledger; its lease will expire"
            )

    def enforce(self, *, stood_still_s: float = 0.0) -> None:
        """Stop all runs if the lease can no longer be trusted, and log that once until the lease is renewed.

        ``stood_still_s`` is the time for which this process could not run: its machine was paused, or it was stopped.
        """
        with self._lock:
            now = self._holdings.clock()
            if self._holdings.trusted_for_s > 0:
                return
            silent_s, is_known, self._lapsed = now - self._renewed_at, self._lapsed, True
            stopped = [] if is_known else self._holdings.stop_all()
            # The line below names their jobs, so that no other line need name them when their results are refused.
            self._holdings.note_gone(stopped)
            is_to_log = bool(stopped) or (stood_still_s >= STOOD_STILL_S and not is_known)
            self._failed |= is_to_log
        # A request that this process made just before it stood still, or after it, may be answered any moment.
        if now - self._asked_at > stood_still_s + self._lease_s / 6:
            self._ledger.outages.failed(f"no answer for {silent_s:.1f} s", part=_PART)
        if is_to_log:
            self._log_stopped(stopped, silent_s, stood_still_s)

    def beat(self) -> None:
        """Renew the lease once, stop the runs of lost claims, and hand back claims that are unknown here."""
        began = self._holdings.clock()
        held = self._holdings.claims()
        standing = self._ledger.transact(lambda tx: leases.renew(tx, self.id, held, lease_s=self._lease_s))
        self._stop_lost(standing, held)
        self._renewed(began)
        self._health.renewed()
        # After a late answer little trust is left, and the next renewal must come before the rest. But not twice in
        # succession: if all answers come late, the rest must be done too.
        self._is_hurried = not self._is_hurried and self.pause_s() <= 0
        if self._is_hurried:
            return
        self._return_strays()
        self._record_definitions()
        self._ledger.drop_outdated_plans()
        self._meter.read()

    def pause_s(self) -> float:
        """Return the time until the next heartbeat: a third of the lease after the request of the last one, because the
        lease is trusted from its request on. After a late answer it follows at once.
        """
        third_s = self._lease_s / 3
        return min(third_s, max(0.0, self._holdings.trusted_for_s - third_s))

    def check_claims(self) -> None:
        """Stop the runs of lost claims, among the runs that have taken some time."""
        if held := self._holdings.claims(older_than_s=CHECK_EVERY_S):
            self._stop_lost(self._ledger.transact(lambda tx: leases.standing(tx, held)), held)

    def _log_stopped(self, stopped: list[Claim], silent_s: float, stood_still_s: float) -> None:
        names = some_names(map(self._holdings.subject_of, stopped))
        _LOG.warning(
            "%sthe lease has not been renewed for %.1f s, so %s stopped before it ends;"
            " no run begins until it is renewed%s",
            f"this process stood still for {stood_still_s:.1f} s: " if stood_still_s >= STOOD_STILL_S else "",
            silent_s,
            "1 run is" if len(stopped) == 1 else f"{len(stopped)} runs are",
            f": {names}" if names else "",
        )

    def _stop_lost(self, standing: set[Claim], held: list[Claim]) -> None:
        log_about_jobs(
            _LOG,
            [self._holdings.subject_of(claim) for claim in self._holdings.keep_only(standing, held)],
            "the run of %s is stopped and its result dropped, because the job was taken back or cancelled",
            "the runs of %s are stopped and their results dropped, because the jobs were taken back or cancelled",
        )

    def _record_definitions(self) -> None:
        """Record the definitions if they have changed since the last time."""
        known = self._known()
        if known is not self._recorded:
            self._ledger.transact(lambda tx: leases.record_definitions(tx, self.id, known))
            self._recorded = known

    def _watch_lease(self) -> None:
        """Call ``enforce`` when it is due. While the lease cannot be trusted, only a heartbeat changes that."""
        wait_s = self._holdings.trusted_for_s
        asleep_at = self._holdings.clock()
        while not self._ended.wait(wait_s):
            self.enforce(stood_still_s=self._holdings.clock() - asleep_at - wait_s)
            trusted_for_s = self._holdings.trusted_for_s
            wait_s = trusted_for_s if trusted_for_s > 0 else self._lease_s / 3
            asleep_at = self._holdings.clock()

    def _live(self) -> None:
        wait_s = self._lease_s / 3
        while not self._ended.wait(wait_s):
            wait_s = self._lease_s / 3
            self._asked_at = self._holdings.clock()
            try:
                self.beat()
            except Unreachable as error:
                self._ledger.outages.failed(error, part=_PART)
                self._health.write(ready=self._holdings.trusted_for_s > 0)
            except Exception as error:
                self._failed = True
                self._complaints.log(error)
            else:
                self._complaints.forget()
                wait_s = self.pause_s()
            finally:
                self._asked_at = inf
            self._holdings.late_results.log()

    def _watch_claims(self) -> None:
        """Check for lost claims while any claim is held. ``rest`` comes before the check whether to end, so the end
        wakes this thread."""
        while not self._ended.is_set():
            self._holdings.any_held.wait()
            if self._ended.wait(CHECK_EVERY_S):
                return
            try:
                self.check_claims()
            except Unreachable as error:
                _LOG.debug("lost claims are not known while the ledger is away: %s", error)
            except Exception as error:
                self._check_complaints.log(error)
            else:
                self._check_complaints.forget()
            self._holdings.rest()

    def _return_strays(self) -> None:
        known = self._holdings.known()
        strays = self._ledger.transact(lambda tx: leases.strays(tx, self.id, known, grace_s=self._lease_s))
        # Answers to claims may have come since the first read. If the answer comes later than this, its run does not
        # begin.
        known = self._holdings.known()
        if strays := [claim for claim in strays if claim not in known]:
            self._give_back(strays)

    def _renewed(self, at: float) -> None:
        """Trust the lease from ``at`` on. Log that if runs were stopped, or if a heartbeat failed by an error that is
        no outage."""
        with self._lock:
            self._holdings.renew(at)
            if self._holdings.trusted_for_s <= 0:
                return
            before, self._renewed_at = self._renewed_at, at
            was_away = self._failed
            self._failed = self._lapsed = False
        self._ledger.outages.answered(part=_PART)
        if was_away:
            _LOG.info("the lease is renewed, after %.1f s; runs begin again", at - before)
