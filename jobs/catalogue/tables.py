"""Tables by name: the app that fills each, its calendar, and its current version."""

from collections.abc import Iterator
from typing import NamedTuple

from sluice.jobs.app import App
from sluice.jobs.calendar import Calendar
from sluice.jobs.catalogue.definitions import Catalogue
from sluice.jobs.catalogue.faults import nearest
from sluice.jobs.errors import BadRequest


class TableOf(NamedTuple):
    """A table.

    ``app`` fills it, in its current definition. If it is None, an external process fills the table, and the version
    is the unit of the partitions.
    """

    name: str
    app: App | None
    calendar: Calendar

    @property
    def version(self) -> str:
        return self.app.version if self.app else self.calendar.unit


def table_of(catalogue: Catalogue, name: str) -> TableOf:
    """Return the table of this name. Raises BadRequest if no app fills or reads it."""
    app = catalogue.fills(name)
    if app and app.partitioning:
        return TableOf(name, app, app.partitioning.calendar)
    if name in catalogue.externals:
        return TableOf(name, None, catalogue.externals[name])
    raise BadRequest(
        f"No app fills or reads a table {name!r}{nearest(name, [each.name for each in tables_of(catalogue)])}.",
        advice="`sluice partitions ls` lists the tables that apps fill and read.",
    )


def tables_of(catalogue: Catalogue) -> Iterator[TableOf]:
    """Yield all tables: first the external ones, then the tables of apps, each after its inputs."""
    yield from (TableOf(name, None, calendar) for name, calendar in sorted(catalogue.externals.items()))
    for app in sorted(catalogue.values(), key=lambda app: (catalogue.rank(app.name), app.name)):
        if app.partitioning and not app.unbounded:
            yield TableOf(app.partitioning.table, app, app.partitioning.calendar)
