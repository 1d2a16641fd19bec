"""Claims that this process holds, the time for which their lease can be trusted, and the events that stop their
runs."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Event, Lock

from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.observe.log_context import Subject, log_about_jobs, of_claim

_LOG = logging.getLogger("sluice.executor")

#: Seconds for which late results are gathered for one log line, after a line about the first. After an outage many
#: threads record theirs within a second.
GATHER_S = 1.0


class LateResults:
    """Results that the ledger has refused, because their jobs were taken back or cancelled, on their way to the log.

    The first is logged at once, unless others will follow. Later ones are logged together, at the first call of ``log``
    after ``GATHER_S``.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._gathered: list[Subject] = []
        self._logged_at = -math.inf

    def log(
        self, subjects: Iterable[Subject] = (), *, others_follow: bool = False, at_once: bool = False
    ) -> None:
        """Add results, and log what is due; with ``at_once``, everything. ``others_follow``: an outage has delayed
        these, so other late results come soon."""
        with self._lock:
            now = self._clock()
            if others_follow and not self._gathered:
                self._logged_at = now
            self._gathered += subjects
            if not self._gathered or (now < self._logged_at + GATHER_S and not at_once):
                return
            due, self._gathered, self._logged_at = self._gathered, [], now
        log_about_jobs(
            _LOG,
            due,
            "the result of %s came too late and is dropped, because the job was taken back or cancelled",
            "the results of %s came too late and are dropped, because the jobs were taken back or cancelled",
        )


class ClaimsInFlight:
    """Claims of one process, thread-safe. The stop event of a claim is set when its run must end as fast as it can.

    The leave event is set earlier, when the process is about to exit. It is for runs that another worker can continue
    in the middle: sagas.

    A claim is held until its run is over, and known until its outcome is in the ledger.

    A renewed lease of ``lease_s`` is trusted for two thirds of its length, by ``clock``, a monotonic one. The last
    third is the time in which runs stop: a command has two seconds between SIGTERM and SIGKILL. A lease that was never
    renewed is not trusted. Default: a lease without end.
    """

    def __init__(self, *, lease_s: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self.lease_s = lease_s
        self.clock = clock
        self._renewed_at = -math.inf if math.isfinite(lease_s) else 0.0
        self._trusted_since = -math.inf
        self._stops: dict[Claim, Event] = {}
        self._taken_at: dict[Claim, float] = {}
        self._leaves: dict[Claim, Event] = {}
        self._known: dict[Claim, Subject | None] = {}
        self._gone: set[Claim] = set()
        self._draining = False
        self._lock = Lock()
        self.late_results = LateResults(clock)
        #: Set when a claim is held. ``rest`` clears it.
        self.any_held = Event()

    @property
    def trusted_for_s(self) -> float:
        """Time in seconds for which the lease can still be trusted. Zero or less: it cannot."""
        return self._renewed_at + self.lease_s * 2 / 3 - self.clock()

    def renew(self, at: float) -> None:
        """Trust the lease that the ledger has renewed. ``at`` is the time of the request, so the lease in the ledger
        ends later."""
        if self.trusted_for_s <= 0:
            self._trusted_since = self.clock()
        self._renewed_at = at

    def take(
        self,
        claims: Iterable[Claim],
        subjects: Mapping[Claim, Subject] | None = None,
        *,
        asked_at: float = math.inf,
    ) -> dict[Claim, Event]:
        """Hold these claims from now on, and return the stop event of each. ``subjects`` names their jobs for the log.

        ``asked_at`` is the time at which the claims were requested. Their events are set immediately if they may
        already be lost. That is so if the lease cannot be trusted, or could not be at some time since then. It is also
        so if the answer took as long as a lease, after which the heartbeat hands back claims that are unknown here.
        """
        stops = {claim: Event() for claim in claims}
        with self._lock:
            self._stops.update(stops)
            self._taken_at.update(dict.fromkeys(stops, self.clock()))
            self._known.update((claim, (subjects or {}).get(claim)) for claim in stops)
            if stops and not self.any_held.is_set():
                self.any_held.set()
        came_late = self.clock() >= asked_at + self.lease_s
        if came_late or asked_at < self._trusted_since or self.trusted_for_s <= 0:
            self._stop(stops)
        return stops

    @property
    def may_begin(self) -> bool:
        """True if runs may begin: the lease can be trusted, and the process is not about to exit."""
        return not self._draining and self.trusted_for_s > 0

    def leave_of(self, claim: Claim) -> Event:
        """Return the leave event of a held claim. It is set when the process is about to exit, or the run must end
        immediately."""
        with self._lock:
            leave = self._leaves.setdefault(claim, Event())
            if self._draining or self._stops[claim].is_set():
                leave.set()
            return leave

    def release(self, claims: Iterable[Claim]) -> None:
        """Note that these runs are over. Their outcomes are being recorded, so their claims need not be checked any
        more."""
        with self._lock:
            for claim in claims:
                self._stops.pop(claim, None)
                self._taken_at.pop(claim, None)
                self._leaves.pop(claim, None)

    def forget(self, claims: Iterable[Claim]) -> None:
        """Drop these claims, because this process will do nothing more about them."""
        claims = list(claims)
        self.release(claims)
        with self._lock:
            for claim in claims:
                self._known.pop(claim, None)
            self._gone.difference_update(claims)

    def rest(self) -> None:
        """Clear ``any_held`` if no claim is held. Only for the thread that waits for it."""
        with self._lock:
            if not self._stops:
                self.any_held.clear()

    def known(self) -> list[Claim]:
        """Return the claims that this process holds or has yet to record."""
        with self._lock:
            return list(self._known)

    def subject_of(self, claim: Claim) -> Subject:
        """Return the known facts about a claim's job. The log names them."""
        return of_claim(claim, self._known.get(claim))

    def names_of(self, claims: Iterable[Claim]) -> dict[int, JobName]:
        """Return the names of the jobs of these claims, as far as they are known."""
        subjects = [(claim.job, self.subject_of(claim)) for claim in claims]
        return {job: JobName(its.app, its.key) for job, its in subjects if its.app and its.key is not None}

    @property
    def draining(self) -> bool:
        """True if runs that have not begun must not begin any more."""
        return self._draining

    def drain(self) -> None:
        with self._lock:
            self._draining = True
            leaves = [*self._leaves.values()]
        for leave in leaves:
            leave.set()

    def claims(self, *, older_than_s: float = 0.0) -> list[Claim]:
        """Return the held claims, or only the claims that were held for this long."""
        with self._lock:
            if not older_than_s:
                return list(self._stops)
            latest = self.clock() - older_than_s
            return [claim for claim, taken_at in self._taken_at.items() if taken_at <= latest]

    def keep_only(self, standing: set[Claim], asked: list[Claim]) -> list[Claim]:
        """Stop the runs of claims that were checked (``asked``) and no longer stand. Return the claims that were not
        known to be lost."""
        with self._lock:
            gone = [claim for claim in asked if claim not in standing and claim in self._stops]
        self._stop(gone)
        return self.note_gone(gone)

    def note_gone(self, claims: Iterable[Claim]) -> list[Claim]:
        """Note that these claims are lost, and return the claims that are news. So only the first thread to find out
        logs it."""
        with self._lock:
            news = [claim for claim in claims if claim not in self._gone]
            self._gone.update(news)
        return news

    def stop_all(self) -> list[Claim]:
        """Stop all runs, and return their claims."""
        claims = self.claims()
        self._stop(claims)
        return claims

    def _stop(self, claims: Iterable[Claim]) -> None:
        with self._lock:
            stops = [
                events[claim] for claim in claims for events in (self._stops, self._leaves) if claim in events
            ]
        for stop in stops:
            stop.set()
