"""The tower: what a run hears from outside while it flies. It is to stop, was called off, taken over, or is over time.

Most of it comes with the journal's answer to an entry. Where a step or a pause takes long, the tower asks; that a
worker is leaving it hears at once, since the pause itself ends then.
"""

from sluice.jobs.sagas.entry import Direction, Failure, Heard
from sluice.jobs.sagas.landing import Landed, Landing
from sluice.jobs.sagas.means import Means
from sluice.jobs.sagas.reasons import CALLED_OFF, TIMED_OUT

#: So long at the most a pause does not look up; and the journal is asked no more often, whatever a step or a rule does.
HEED_S = 2.0

HANDED_BACK = Landing(how=Landed.HANDED_BACK)
LOST = Landing(how=Landed.LOST)


class Tower:
    """``turn_back`` is what was known when the run began."""

    def __init__(self, means: Means, turn_back: str | None) -> None:
        self._means = means
        self._turn_back = turn_back
        self._stands = True
        self._heard_s = means.clock_s()

    @property
    def stops(self) -> bool:
        """Whether somebody else is to go on with the flight."""
        return self._means.stopped()

    def hear(self, heard: Heard) -> bool:
        """Whether the run still has the flight. The latest word counts: who called it off may think better of it."""
        self._heard_s = self._means.clock_s()
        self._stands, self._turn_back = heard.stands, heard.turn_back
        return heard.stands

    def why_back(self, direction: Direction) -> Failure | None:
        """Why a flight that is on its way is to go back now. One that is going back goes on with that."""
        if direction is not Direction.DO:
            return None
        if self._turn_back is not None:
            return Failure(type=CALLED_OFF, message=self._turn_back)
        over_time = self._means.over_time()
        return None if over_time is None else Failure(type=TIMED_OUT, message=over_time)

    def calls_in(self, direction: Direction) -> bool:
        """Whether a step that asks is to come to an end."""
        return self.stops or not self._asked() or self.why_back(direction) is not None

    def waits(self, pause_s: float, direction: Direction) -> Landing | Failure | None:
        """Wait for the next try of a step. Who is to stop, or was taken over, lands; a do that is called off has
        failed."""
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
        """Whether the run still has the flight, as far as was heard lately."""
        if self._means.clock_s() >= self._heard_s + HEED_S:
            self.hear(self._means.journal.heed())
        return self._stands
