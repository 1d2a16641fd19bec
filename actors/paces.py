"""What the jobs of each app take in this process, as far as it has run any."""

from planner.parcel import jobs_at_once

#: Of what is known, how much the last run counts.
_SHARE = 0.2


class Paces:
    """Any thread may note and ask. Of two that note at once one may be forgotten: a mean does not need every run."""

    def __init__(self) -> None:
        self._mean_s: dict[str, float] = {}

    def note(self, app: str, took_s: float) -> None:
        mean_s = self._mean_s.get(app, took_s)
        self._mean_s[app] = mean_s + _SHARE * (took_s - mean_s)

    def at_once(self, app: str) -> int:
        """How many jobs of this app to take on together."""
        return jobs_at_once(self._mean_s.get(app))
