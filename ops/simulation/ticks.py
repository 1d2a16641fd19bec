"""Ticks, polls of schedules and heartbeats, only when they make a difference. Hours in which nothing can happen cost
nothing.

The ledger itself determines when something is due next. It is read as of a later time, to see whether the groomer
or the scheduler would find work. Work that is due stays due while nothing happens, so the first such time is found
by bisection. A worker that lives has a lease whenever it is checked. For a dead or frozen worker, the end of its
lease is known.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from sluice.actors.scheduler.leader import ADMIT_S_MIN
from sluice.broker.messages import Look, Tick
from sluice.ledger import schedules
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.limits import rate_limits
from sluice.ledger.notifications import deliveries
from sluice.ledger.recovery import groomer_steps
from sluice.ledger.recovery.groomer_steps import Chore
from sluice.ops.simulation.installation import SimulatedInstallation

TICK = timedelta(seconds=1)


class Upkeep:
    """Groomer ticks, polls of schedules, notifications and heartbeats of a simulation. ``as_of`` sets the time at which
    ``ledger`` reads. ``notify`` delivers the notifications that are due.
    """

    def __init__(
        self,
        installation: SimulatedInstallation,
        ledger: Ledger,
        as_of: Callable[[datetime | None], None],
        notify: Callable[[], None],
    ) -> None:
        self._installation = installation
        self._notify = notify
        self._agenda = installation.agenda
        self._ledger = ledger
        self._as_of = as_of
        self._tick_at: datetime | None = self._agenda.now
        self._asked_until: datetime | None = None
        self._ask_from = self._agenda.now

    def step(self, limit: datetime) -> bool:
        """Perform the next event. If nothing happens up to ``limit``, advance to it and return False."""
        if self._installation.ledger.has_written:
            self._stir()
        next_at = self._agenda.next_at
        until = min(limit, next_at) if next_at else limit
        tick_at = self._next_tick(until)
        if tick_at is None or tick_at > until:
            return self._go_on(next_at, limit)
        self._agenda.skip_to(tick_at)
        self._beat()
        # The tick may be lost, so due work is checked again in the next second.
        self._tick_at = self._asked_until = None
        self._ask_from = tick_at + TICK
        if self._ledger.transact(deliveries.is_due):
            self._notify()
        self._installation.send([Tick(), *([Look()] if self._installation.catalogue.schedules else [])])
        return True

    def _go_on(self, next_at: datetime | None, limit: datetime) -> bool:
        if next_at is None or next_at > limit:
            self._agenda.skip_to(limit)
            return False
        self._agenda.skip_to(next_at)
        self._beat()
        self._installation.step()
        return True

    def _stir(self) -> None:
        """Note that a transaction has written, so that more may happen soon."""
        self._installation.ledger.has_written = False
        self._asked_until = None
        soon = self._agenda.now + min(TICK, self._token_in())
        self._tick_at = min(self._tick_at, soon) if self._tick_at else soon

    def _token_in(self) -> timedelta:
        """Return the time after which a waiting job finds a token of its rate limit. The leader looks for it then."""
        if not any(app.rate_limit for app in self._installation.catalogue.values()):
            return TICK
        _, seconds = self._ledger.transact(rate_limits.next_s)
        return TICK if seconds is None else timedelta(seconds=max(seconds, ADMIT_S_MIN))

    def _next_tick(self, until: datetime) -> datetime | None:
        """Return the time of the next tick, if it is known up to ``until``."""
        if self._tick_at is not None or until < self._ask_from:
            return self._tick_at
        ends = [end for end in self._installation.leases_end if end > self._agenda.now]
        until = min(until, *(end + TICK for end in ends)) if ends else until
        if self._asked_until is None or until > self._asked_until:
            self._tick_at = self._first_due(until)
            self._asked_until = until
        if self._tick_at is None and ends and until >= min(ends) + TICK:
            self._tick_at = until
        return self._tick_at

    def _first_due(self, until: datetime) -> datetime | None:
        if self._is_overdue():
            return max(self._agenda.now, self._ask_from)
        early, span = max(self._agenda.now, self._ask_from - TICK), TICK
        while not self._is_due(late := min(early + span, until)):
            if late >= until:
                return None
            early, span = late, 2 * span
        while late - early > TICK:
            middle = early + (late - early) / 2
            early, late = (early, middle) if self._is_due(middle) else (middle, late)
        return late

    def _is_due(self, at: datetime) -> bool:
        self._as_of(at)
        try:
            return self._ledger.transact(lambda tx: _due(tx) or self._has_strays(tx))
        finally:
            self._as_of(None)

    def _has_strays(self, tx: Tx) -> bool:
        """Return whether a worker has claims that it does not know, because a claim was repeated after its commit. Its
        heartbeat gives them back."""
        return any(worker.has_strays(tx) for worker in self._installation.workers)

    def _is_overdue(self) -> bool:
        """Return whether a lost worker still holds jobs, because the tick that would take them back was lost.

        This can be read only for the present: a read as of a later time does not have the future heartbeats of live
        workers.
        """
        if all(end > self._agenda.now for end in self._installation.leases_end):
            return False
        self._beat()
        return Chore.TAKE_LOST in self._ledger.transact(groomer_steps.due)

    def _beat(self) -> None:
        """Send the heartbeats that are due. This is not an event that could cause another event."""
        for worker in [*self._installation.workers]:
            worker.beat_if_due()


def _due(tx: Tx) -> bool:
    chores = groomer_steps.due(tx) - {Chore.TAKE_LOST, Chore.UPDATE_RATE_LIMITS}
    return bool(chores) or schedules.any_due(tx) or deliveries.is_due(tx)
