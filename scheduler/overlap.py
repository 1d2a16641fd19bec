"""Due times of a schedule with earlier submissions that are still open.

``overlap_of`` determines the effect of an open submission on the next due times of its schedule. ``Turns`` has the
firings of one schedule in order, each given the submissions that are open by then.
"""

from datetime import datetime

from sluice.jobs.model.app import App
from sluice.jobs.schedules.schedule import (
    Firing,
    FiringOutcome,
    OpenRuns,
    Overlapping,
    Schedule,
    submission_id,
)


def overlap_of(schedule: Schedule, app: App) -> Overlapping:
    """Return the ``overlap`` option of a schedule. If the app does not allow multiple submissions, any open submission
    of the app counts, and the default is ``skip``."""
    if app.chunking is None or app.chunking.allow_multiple_jobs:
        return Overlapping(schedule.overlap)
    return Overlapping(schedule.overlap or "skip", of_app=True)


#: Maximum number of due times that wait for an open submission. Further due times are skipped.
QUEUED_MAX = 10


class Turns:
    """Firings of one schedule. ``firings`` and ``replaced`` are the result."""

    def __init__(self, schedule: Schedule, busy: OpenRuns, overlap: Overlapping) -> None:
        self._schedule = schedule
        self._way = overlap.way
        self._open = bool(busy.own) or (overlap.of_app and busy.app)
        self._own = busy.own
        self._waiting = [*busy.waiting]
        self._firings: list[Firing] = []
        self._replaced: tuple[str, ...] = ()

    @property
    def firings(self) -> tuple[Firing, ...]:
        return tuple(self._firings)

    @property
    def replaced(self) -> tuple[str, ...]:
        return self._replaced

    def release(self) -> None:
        """Fire the waiting due times, as far as open submissions allow."""
        while self._waiting and not self._open:
            self._fire(self._waiting.pop(0))

    def forget(self, why: str) -> None:
        """Skip all waiting due times."""
        for due in self._waiting:
            self.note(due, FiringOutcome.SKIPPED, why)
        self._waiting = []

    def take(self, due: datetime) -> None:
        """Fire a due time, unless an open submission prevents it."""
        if self._way == "replace":
            self._replaced = self._own
            self._fire(due)
        elif self._way == "skip" and self._open:
            self.note(due, FiringOutcome.SKIPPED, "an earlier submission is open")
        elif self._way != "queue" or not (self._open or self._waiting):
            self._fire(due)
        elif len(self._waiting) < QUEUED_MAX:
            self._waiting.append(due)
            self.note(due, FiringOutcome.QUEUED, "until an earlier submission has ended")
        else:
            self.note(due, FiringOutcome.SKIPPED, f"{QUEUED_MAX} are waiting already")

    def note(self, due: datetime, outcome: FiringOutcome, note: str | None) -> None:
        self._firings.append(Firing(schedule=self._schedule.id, due=due, outcome=outcome, note=note))

    def _fire(self, due: datetime) -> None:
        """Fire a due time. If its submission cannot be written, it is faulty and keeps no other due time waiting."""
        try:
            asked = self._schedule.submission(due, submission_id(self._schedule.id, due))
        except (ValueError, OverflowError) as error:
            self.note(due, FiringOutcome.FAULTY, str(error))
            return
        self._open = self._way is not None
        fired = Firing(schedule=self._schedule.id, due=due, outcome=FiringOutcome.FIRED, submission=asked)
        self._firings.append(fired)
