"""Tower: external events that end or turn back a run: a stop, an abort, a takeover, or a timeout.

Most of them arrive with the journal's reply to an entry. During a long step or pause, the tower polls the journal. If
its worker is leaving, a pause ends immediately.
"""

from sluice.jobs.sagas.abort_reasons import CALLED_OFF, TIMED_OUT
from sluice.jobs.sagas.environment import Means
from sluice.jobs.sagas.journal import Direction, Failure, JournalReply
from sluice.jobs.sagas.result import FlightEnd, RunEnd

#: Seconds between two polls of the journal during a pause. Steps and rules cannot make it poll more often.
HEED_S = 2.0

HANDED_BACK = RunEnd(how=FlightEnd.HANDED_BACK)
LOST = RunEnd(how=FlightEnd.LOST)


class Tower:
    """External state of one run. ``abort_reason`` is the abort reason that was known when the run began, or None."""

    def __init__(self, means: Means, abort_reason: str | None) -> None:
        self._means = means
        self._abort_reason = abort_reason
        self._stands = True
        self._heard_s = means.clock_s()

    @property
    def stops(self) -> bool:
        """True if another worker will continue the flight."""
        return self._means.stopped()

    def hear(self, heard: JournalReply) -> bool:
        """Store the journal's reply and return whether the run still has the flight. The latest reply counts because an
        abort may be withdrawn.
        """
        self._heard_s = self._means.clock_s()
        self._stands, self._abort_reason = heard.stands, heard.abort_reason
        return heard.stands

    def why_back(self, direction: Direction) -> Failure | None:
        """Return the reason to undo the flight now, or None. A flight that is already being undone continues."""
        if direction is not Direction.DO:
            return None
        if self._abort_reason is not None:
            return Failure(type=CALLED_OFF, message=self._abort_reason)
        over_time = self._means.over_time()
        return None if over_time is None else Failure(type=TIMED_OUT, message=over_time)

    def calls_in(self, direction: Direction) -> bool:
        """Return whether ``flight.cancelled`` is true for a step in this direction."""
        return self.stops or not self._asked() or self.why_back(direction) is not None

    def waits(self, pause_s: float, direction: Direction) -> RunEnd | Failure | None:
        """Wait for the next try of a step. Return a landing if the run must stop or was taken over. Return a failure if
        the flight of a do was aborted or is over its timeout.
        """
        until_s = self._means.clock_s() + pause_s
        while True:
            left_s = until_s - self._means.clock_s()
            if self.stops or (left_s > 0 and self._means.pause(min(left_s, HEED_S))):
                return HANDED_BACK
            if not self._asked():
                return LOST
            if why := self.why_back(direction):
                return why
            if until_s <= self._means.clock_s():
                return None

    def _asked(self) -> bool:
        """Return whether the run still has the flight, by the latest reply of the journal."""
        if self._means.clock_s() >= self._heard_s + HEED_S:
            self.hear(self._means.journal.heed())
        return self._stands
