"""Mean duration of the jobs of each app in this process."""

import time

from sluice.planner.parcel import jobs_at_once

#: Weight of the last run in the mean.
_SHARE = 0.2
#: Minimum number of seconds between two reports about an app. The first report has no delay.
_TELL_EVERY_S = 1.0


class Paces:
    """Mean durations by app. Any thread may note and read. If two threads note at the same time, one run may be lost,
    because a mean does not need every run."""

    def __init__(self) -> None:
        self._mean_s: dict[str, float] = {}
        self._untold: set[str] = set()
        self._told_at: dict[str, float] = {}

    def note(self, app: str, took_s: float) -> None:
        mean_s = self._mean_s.get(app, took_s)
        self._mean_s[app] = mean_s + _SHARE * (took_s - mean_s)
        self._untold.add(app)

    def suppose(self, app: str, took_s: float) -> None:
        """Note the time that an unfinished run has taken so far, if no other run of the app is known."""
        if app not in self._mean_s:
            self.note(app, took_s)

    def at_once(self, app: str) -> int:
        """Return how many jobs of this app to claim together."""
        return jobs_at_once(self._mean_s.get(app))

    def news(self) -> dict[str, float]:
        """Return the means that should be written to the ledger now."""
        now = time.monotonic()
        due = [
            app
            for app in tuple(self._untold)
            if now - self._told_at.get(app, -_TELL_EVERY_S) >= _TELL_EVERY_S
        ]
        self._told_at.update(dict.fromkeys(due, now))
        self._untold.difference_update(due)
        return {app: self._mean_s[app] for app in due}
