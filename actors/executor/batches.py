"""Batches of claimed jobs, and the mean durations that determine their size.

A batch (``BatchRun``) has the jobs of one app that a thread has claimed together. It contains the jobs yet to run and
the outcomes yet to record. Short jobs are claimed several at a time, and one run may turn out long. Then the jobs
behind it are handed back for other workers, and the outcomes before it are recorded (``SlowRunWatchdog``). So neither
waits for hours.

``MeanRunTimes`` has the mean duration of the jobs of each app in this process.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import NamedTuple

from sluice.broker.messages import Execute
from sluice.jobs.errors import SluiceError
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.text.units import counted
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.planner.batches import jobs_at_once

_LOG = logging.getLogger("sluice.executor")

#: Seconds after which a run holds up the jobs that were claimed with it.
HELD_UP_S = 0.3
_LOOK_EVERY_S = 0.1

_HELD_UP = Outcome(ending=Ending.NOT_STARTED, error="a run before it in its thread took long")
_HELD_BACK = Outcome(ending=Ending.NOT_STARTED, error="the breaker of its app has opened")


class ClaimedBatch(NamedTuple):
    """Claimed jobs, and the time at which they were requested, by the clock of
    ``actors.executor.claims_in_flight.ClaimsInFlight``."""

    asked_at: float
    jobs: Sequence[ClaimedJob]


NOTHING_TAKEN = ClaimedBatch(0.0, ())


class BatchRun:
    """Jobs of one claim. One thread runs them to the end; another thread may take away the jobs and outcomes that are
    held up."""

    def __init__(self, jobs: Sequence[ClaimedJob]) -> None:
        self.app = jobs[0].app
        self._ahead = deque(jobs)
        self._outcomes: dict[Claim, Outcome] = {}
        self._began_at = time.monotonic()
        self._lock = Lock()

    def next(self) -> ClaimedJob | None:
        """Return the job to run now, or None if none is left."""
        with self._lock:
            self._began_at = time.monotonic()
            return self._ahead.popleft() if self._ahead else None

    def note(self, right: Claim, outcome: Outcome) -> None:
        with self._lock:
            self._outcomes[right] = outcome

    def outcomes(self) -> dict[Claim, Outcome]:
        """Return the outcomes that must be recorded, and remove them, so that no other thread gets them."""
        with self._lock:
            outcomes, self._outcomes = self._outcomes, {}
            return outcomes

    def held_up(self) -> dict[Claim, Outcome]:
        """If the current run takes long, return the outcomes before it, and outcomes that hand back the jobs behind
        it."""
        with self._lock:
            if time.monotonic() - self._began_at < HELD_UP_S:
                return {}
            outcomes, self._outcomes = self._outcomes, {}
            outcomes.update((job.right, _HELD_UP) for job in self._ahead)
            self._ahead.clear()
            return outcomes

    def hold_back(self) -> None:
        """Hand back the jobs that have not begun, because the breaker of their app is open."""
        with self._lock:
            self._outcomes.update((job.right, _HELD_BACK) for job in self._ahead)
            self._ahead.clear()

    @property
    def waits(self) -> bool:
        """True if there are jobs or outcomes that a long run could hold up."""
        with self._lock:
            return bool(self._ahead or self._outcomes)


class SlowRunWatchdog:
    """Thread that passes the outcomes that are held up to ``settle``, by app. It sleeps while no load has more than its
    current job."""

    def __init__(self, settle: Callable[[str, dict[Claim, Outcome]], None]) -> None:
        self._settle = settle
        self._loads: set[BatchRun] = set()
        self._any = Event()
        self._lock = Lock()

    def start(self) -> None:
        """Start the thread, which ends with the process."""
        Thread(target=self._live, name="relief", daemon=True).start()

    def watch(self, load: BatchRun) -> None:
        with self._lock:
            self._loads.add(load)
            self._any.set()

    def forget(self, load: BatchRun) -> None:
        with self._lock:
            self._loads.discard(load)

    def look(self) -> None:
        with self._lock:
            loads = [*self._loads]
            if not loads:
                self._any.clear()
        for load in loads:
            if outcomes := load.held_up():
                self._relieve(load.app, outcomes)
            if not load.waits:
                self.forget(load)

    def _relieve(self, app: str, outcomes: dict[Claim, Outcome]) -> None:
        try:
            self._settle(app, outcomes)
        except SluiceError as error:
            # Once their thread is done, this process does not know the claims any more, and the next heartbeat hands
            # them back.
            _LOG.error("%s could not be recorded: %s", counted(len(outcomes), "result"), error)

    def _live(self) -> None:
        while self._any.wait():
            self.look()
            time.sleep(_LOOK_EVERY_S)


#: Weight of the last run in the mean.
_SHARE = 0.2
#: Minimum number of seconds between two reports about an app. The first report has no delay.
_REPORT_EVERY_S = 1.0


class MeanRunTimes:
    """Mean durations by app. Any thread may note and read. If two threads note at the same time, one run may be lost,
    because a mean does not need every run."""

    def __init__(self) -> None:
        self._mean_s: dict[str, float] = {}
        self._unreported: set[str] = set()
        self._reported_at: dict[str, float] = {}

    def note(self, app: str, took_s: float) -> None:
        mean_s = self._mean_s.get(app, took_s)
        self._mean_s[app] = mean_s + _SHARE * (took_s - mean_s)
        self._unreported.add(app)

    def suppose(self, app: str, took_s: float) -> None:
        """Note the time that an unfinished run has taken so far, if no other run of the app is known."""
        if app not in self._mean_s:
            self.note(app, took_s)

    def at_once(self, app: str) -> int:
        """Return how many jobs of this app to claim together."""
        return jobs_at_once(self._mean_s.get(app))

    def divided(self, message: Execute) -> list[Execute]:
        """Divide a message into messages for as many jobs as to claim together, if the length of runs is known."""
        most = self.at_once(message.app)
        if message.app not in self._mean_s or len(message.jobs) <= most:
            return [message]
        return [
            Execute(app=message.app, jobs=message.jobs[place : place + most])
            for place in range(0, len(message.jobs), most)
        ]

    def is_reported(self, app: str) -> bool:
        """Return whether ``news`` has returned a mean of this app before."""
        return app in self._reported_at

    def news(self) -> dict[str, float]:
        """Return the means that should be written to the ledger now."""
        now = time.monotonic()
        due = [
            app
            for app in tuple(self._unreported)
            if now - self._reported_at.get(app, -_REPORT_EVERY_S) >= _REPORT_EVERY_S
        ]
        self._reported_at.update(dict.fromkeys(due, now))
        self._unreported.difference_update(due)
        return {app: self._mean_s[app] for app in due}
