"""The claims that this process holds, for how long their lease can be trusted, and the events that stop their runs."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Event, Lock

from sluice.jobs.ref import Claim
from sluice.jobs.subject import Subject, of_claim


class Holdings:
    """Thread-safe. A claim's event is set when the run should end as fast as it can. Another one is set before that,
    when the process is to leave, for runs that somebody else can go on with in the middle: sagas.

    A claim is held until its run is over, and known until the ledger has heard how it ended.

    A lease of ``lease_s`` that was renewed is trusted for two thirds of its length, by ``clock``, a monotonic one. The
    last third is the time in which runs stop: a command has two seconds between SIGTERM and SIGKILL. A lease that was
    never renewed is not trusted. Default: a lease without end.
    """

    def __init__(self, *, lease_s: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self.lease_s = lease_s
        self.clock = clock
        self._renewed_at = -math.inf if math.isfinite(lease_s) else 0.0
        self._trusted_since = -math.inf
        self._stops: dict[Claim, Event] = {}
        self._leaves: dict[Claim, Event] = {}
        self._known: dict[Claim, Subject | None] = {}
        self._gone: set[Claim] = set()
        self._draining = False
        self._lock = Lock()

    @property
    def trusted_for_s(self) -> float:
        """Seconds for which the lease can still be trusted; zero or less once it cannot."""
        return self._renewed_at + self.lease_s * 2 / 3 - self.clock()

    def renew(self, at: float) -> None:
        """Trust the lease that the ledger has renewed. ``at`` is when that was asked for, so the lease ends later."""
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
        """Hold these claims from now on: the event of each. ``subjects`` say of which jobs they are.

        ``asked_at`` is when the claims were asked for. Their events are set if they may be lost already: the lease
        cannot be trusted, or could not be at some time since then, or the answer took as long as a lease, after which
        the heartbeat hands back claims that are unknown here.
        """
        stops = {claim: Event() for claim in claims}
        with self._lock:
            self._stops.update(stops)
            self._known.update((claim, (subjects or {}).get(claim)) for claim in stops)
        came_late = self.clock() >= asked_at + self.lease_s
        if came_late or asked_at < self._trusted_since or self.trusted_for_s <= 0:
            self._stop(stops)
        return stops

    @property
    def may_begin(self) -> bool:
        """Whether runs may begin: the lease can be trusted, and the process is not about to leave."""
        return not self._draining and self.trusted_for_s > 0

    def leave_of(self, claim: Claim) -> Event:
        """Set when the process is to leave, or the run to end at once. The claim is held."""
        with self._lock:
            leave = self._leaves.setdefault(claim, Event())
            if self._draining or self._stops[claim].is_set():
                leave.set()
            return leave

    def release(self, claims: Iterable[Claim]) -> None:
        """These runs are over; what became of them is on its way to the ledger, and nobody need ask any more."""
        with self._lock:
            for claim in claims:
                self._stops.pop(claim, None)
                self._leaves.pop(claim, None)

    def forget(self, claims: Iterable[Claim]) -> None:
        """Nobody here will do anything about these claims any more."""
        claims = list(claims)
        self.release(claims)
        with self._lock:
            for claim in claims:
                self._known.pop(claim, None)
            self._gone.difference_update(claims)

    def known(self) -> list[Claim]:
        """What this process holds, or has yet to report."""
        with self._lock:
            return list(self._known)

    def subject_of(self, claim: Claim) -> Subject:
        """What is known here of a claim's job, for whoever speaks of it."""
        return of_claim(claim, self._known.get(claim))

    @property
    def draining(self) -> bool:
        """Whether what has not started should not start any more."""
        return self._draining

    def drain(self) -> None:
        with self._lock:
            self._draining = True
            leaves = [*self._leaves.values()]
        for leave in leaves:
            leave.set()

    def claims(self) -> list[Claim]:
        with self._lock:
            return list(self._stops)

    def keep_only(self, standing: set[Claim], asked: list[Claim]) -> list[Claim]:
        """Stop the runs of claims that were asked about and do not stand any more; those that nobody knew it of."""
        with self._lock:
            gone = [claim for claim in asked if claim not in standing and claim in self._stops]
        self._stop(gone)
        return self.note_gone(gone)

    def note_gone(self, claims: Iterable[Claim]) -> list[Claim]:
        """These claims are others' by now; those that are news. Who finds out says so, and nobody says it again."""
        with self._lock:
            news = [claim for claim in claims if claim not in self._gone]
            self._gone.update(news)
        return news

    def stop_all(self) -> int:
        """Stop all runs; how many there are."""
        claims = self.claims()
        self._stop(claims)
        return len(claims)

    def _stop(self, claims: Iterable[Claim]) -> None:
        with self._lock:
            stops = [
                events[claim] for claim in claims for events in (self._stops, self._leaves) if claim in events
            ]
        for stop in stops:
            stop.set()
