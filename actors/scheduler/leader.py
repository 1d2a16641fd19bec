"""Thread of the scheduler. The leader sends Tick messages to the groomer and Look messages to the scheduler, and
updates the state counts itself.

If nothing is due in the ledger it sends nothing for a while. Two messages per second, handled by two processes, would
be most of the work of an idle installation. The two kinds pause independently: a groomer that always finds work must
not keep new schedules from being found.

While jobs wait for a rate limit, the leader also admits them between the ticks: at the time at which the next token is
refilled, but at most every ``ADMIT_S`` seconds after an admission. If no app has a rate limit, this costs nothing.

While it leads, it also listens for submissions by SQL (``actors.scheduler.submission_listener``).
"""

import logging
from collections.abc import Callable, Sequence
from threading import Event, Thread
from time import monotonic
from uuid import UUID

from sluice.actors.groomer import ticks
from sluice.actors.scheduler.submission_listener import SubmissionListener
from sluice.actors.worker.logs import ErrorThrottle
from sluice.broker.messages import SCHEDULER, Look, Message, Tick
from sluice.jobs.errors import Unreachable
from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.policy.rate_limit import BURST_S
from sluice.ledger import due_work
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.due_work import DueWork
from sluice.ledger.limits import rate_limits
from sluice.ledger.recovery import leases
from sluice.ledger.stats import state_counts
from sluice.scheduler.tick_clock import Ticks

_LOG = logging.getLogger("sluice.scheduler")
#: Name of this thread among the parts of a process that an outage of the ledger affects.
_PART = "ticker"

#: Number of periods without a heartbeat after which a leader is replaced.
TERM_PERIODS = 3
#: Number of periods after which a message is sent even if nothing seems due. Changed definitions are visible only to
#: the processes that have loaded them.
CALM_PERIODS = 5
#: Number of periods after which a tick also looks for lost notifications in backlogs, and at all active submissions: a
#: minute, 60. The first counts the ready jobs of each app with a backlog. Each takes about 0.1 seconds for 100,000.
BACKLOG_PERIODS = 60
#: Seconds after an admission, or while all tokens are reserved, before the leader looks for tokens again.
ADMIT_S = BURST_S
#: Least number of seconds between two looks for tokens.
ADMIT_S_MIN = 0.005


class Ticker:
    """Ticks of one process. Of all processes that have a ticker, one leads. If two believe that they lead, this costs
    one extra tick. ``submissions`` is the listener that is active while this process leads. ``looked`` is called in
    each period in which it leads, with whether a notification has to be routed or delivered."""

    def __init__(
        self,
        ledger: Ledger,
        holder: UUID,
        send: Callable[[Sequence[Message]], None],
        *,
        period_s: float,
        submissions: SubmissionListener | None = None,
        looked: Callable[[bool], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._holder = holder
        self._send = send
        self._submissions = submissions
        self._looked = looked
        self._ticks = Ticks(period_s, monotonic())
        self._calm: dict[type[Message], int] = {Tick: 0, Look: 0}
        self._without_backlogs = 0
        self._admit_s: float | None = None
        self._complaints = ErrorThrottle(_LOG, "no tick")
        self._ended = Event()
        self._thread = Thread(target=self._live, name="ticker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        if self._submissions:
            self._submissions.end()

    def tick(self) -> None:
        """Do the work of one period, if this process leads."""
        self._admit_s = None
        term_s = self._ticks.period_s * TERM_PERIODS
        leads = self._ledger.run_alone(
            lambda tx: leases.take_leadership(tx, SCHEDULER, self._holder, term_s=term_s)
        )
        self._listen(leads=leads)
        if leads:
            reached(Failpoint.TICK_LED)
            due = self._ledger.run_alone(due_work.look)
            self._looked(due.deliveries)
            messages = self._messages(due)
            sent = {type(message) for message in messages}
            self._calm = {kind: 0 if kind in sent else calm + 1 for kind, calm in self._calm.items()}
            self._send(messages)
            reached(Failpoint.TICK_SENT)
            if due.counts:
                self._ledger.transact(state_counts.count)
            if due.has_rate_limits:
                self.admit()

    def admit(self) -> None:
        """Admit jobs whose rate limits have tokens left, and set in how many seconds to do so again."""
        self._admit_s, messages = self._ledger.transact(_admit)
        self._send(messages)

    def _listen(self, *, leads: bool) -> None:
        if self._submissions is None:
            return
        if leads:
            self._submissions.begin()
        else:
            self._submissions.end(wait=False)

    def _live(self) -> None:
        while True:
            tick_at_s = self._ticks.after(monotonic())
            while self._admit_s is not None and monotonic() + self._admit_s < tick_at_s:
                if self._ended.wait(self._admit_s):
                    return
                self._try(self.admit)
            if self._ended.wait(max(tick_at_s - monotonic(), 0.0)):
                return
            self._try(self.tick)

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Unreachable as error:
            self._admit_s = None
            self._ledger.outages.failed(error, part=_PART)
        except Exception as error:
            # Without ticks nothing is repaired, and no other process takes over while this one is alive.
            self._admit_s = None
            self._complaints.log(error)
        else:
            self._complaints.forget()
            self._ledger.outages.answered(part=_PART)

    def _messages(self, due: DueWork) -> list[Message]:
        self._without_backlogs += 1
        tick = self._is_overdue(Tick) or due.chores
        look = self._is_overdue(Look) or due.schedules
        return [*([self._next_tick()] if tick else []), *([Look()] if look else [])]

    def _next_tick(self) -> Tick:
        backlogs = self._without_backlogs >= BACKLOG_PERIODS
        if backlogs:
            self._without_backlogs = 0
        return Tick(backlogs=backlogs)

    def _is_overdue(self, kind: type[Message]) -> bool:
        return self._calm[kind] >= CALM_PERIODS


def _admit(tx: Tx) -> tuple[float | None, Sequence[Message]]:
    """Return in how many seconds to look again, and the messages for the jobs that were admitted. None if no job waits
    for a rate limit."""
    is_awaited, seconds = rate_limits.next_s(tx)
    if not is_awaited:
        return None, []
    if seconds == 0:
        return ADMIT_S, ticks.admit(tx)
    return ADMIT_S if seconds is None else max(seconds, ADMIT_S_MIN), []
