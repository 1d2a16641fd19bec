"""What the jobs of each app take in this process, as far as it has run any."""

import time

from sluice.planner.parcel import jobs_at_once

#: Of what is known, how much the last run counts.
_SHARE = 0.2
#: What there is to tell of an app is told at once, and then no sooner than after this.
_TELL_EVERY_S = 1.0


class Paces:
    """Any thread may note and ask. Of two that note at once one may be forgotten: a mean does not need every run."""

    def __init__(self) -> None:
        self._mean_s: dict[str, float] = {}
        self._untold: set[str] = set()
        self._told_at: dict[str, float] = {}

    def note(self, app: str, took_s: float) -> None:
        mean_s = self._mean_s.get(app, took_s)
        self._mean_s[app] = mean_s + _SHARE * (took_s - mean_s)
        self._untold.add(app)

    def suppose(self, app: str, took_s: float) -> None:
        """What a run takes at the least that is not over, where nothing is known of any other."""
        if app not in self._mean_s:
            self.note(app, took_s)

    def at_once(self, app: str) -> int:
        """How many jobs of this app to take on together."""
        return jobs_at_once(self._mean_s.get(app))

    def news(self) -> dict[str, float]:
        """What is worth being told to others now."""
        now = time.monotonic()
        due = [
            app
            for app in tuple(self._untold)
            if now - self._told_at.get(app, -_TELL_EVERY_S) >= _TELL_EVERY_S
        ]
        self._told_at.update(dict.fromkeys(due, now))
        self._untold.difference_update(due)
        return {app: self._mean_s[app] for app in due}
