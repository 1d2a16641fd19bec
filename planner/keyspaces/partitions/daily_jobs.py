"""Tables that are made by jobs with keys: all jobs of an app of one day together make the partition of this day.

Jobs that the app's filter rejects are not among them. The relation is read from both ends: ``on`` and ``of_day`` return
the jobs of a day, ``day_of`` the day of a job.
"""

from collections.abc import Iterator
from datetime import date

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.identifiers import parse_day
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.template_keys import TemplateKeyspace

#: Calendar of all tables that are made by jobs with keys.
DAYS = Calendar("day")
_EPOCH = date(1970, 1, 1).toordinal()


class DailyJobs:
    """Jobs of one app, by day. Days are numbered like partitions."""

    def __init__(self, catalogue: Catalogue, app: App) -> None:
        self.app = app
        self._keyspace = TemplateKeyspace(catalogue)
        self._by_day: dict[int, tuple[JobName, ...]] = {}

    def of_day(self, day: int) -> tuple[JobName, ...]:
        """Return the jobs that make this day, in canonical order. BadRequest if there are none."""
        if found := self.on(day):
            return found
        text = DAYS.write(day)
        raise BadRequest(
            f"No job of {self.app.name} on {text} passes the app's filter, so none makes {text} of"
            f" {self.app.table_of_days}.",
            where=self.app.name,
        )

    def on(self, day: int) -> tuple[JobName, ...]:
        """Return the jobs of this day, in canonical order."""
        if day not in self._by_day:
            self._by_day[day] = tuple(self._on(DAYS.write(day)))
        return self._by_day[day]

    def _on(self, text: str) -> Iterator[JobName]:
        asked = Submission(app=self.app.name, start=text, end=text)
        for key in sorted(self._keyspace.expand(self.app, asked)):
            if self._keyspace.passes(self.app, key):
                yield JobName(self.app.name, key)


def day_of(app: App, key: str) -> int:
    """Return the day that a job of an app with a ``table_of_days`` takes part in. BadKey if the key does not fit."""
    (name,) = app.days
    return parse_day(str(app.read_key(key)[name])).toordinal() - _EPOCH
