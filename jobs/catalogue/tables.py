"""A table by its name: who fills it, how its partitions are counted, and which version of them is meant."""

from collections.abc import Iterator
from typing import NamedTuple

from sluice.jobs.app import App
from sluice.jobs.calendar import Calendar
from sluice.jobs.catalogue.definitions import Catalogue
from sluice.jobs.catalogue.faults import nearest
from sluice.jobs.errors import BadRequest


class TableOf(NamedTuple):
    """``app`` fills it, as its definition stands now; where it is None others do, and the version is the unit of the
    partitions."""

    name: str
    app: App | None
    calendar: Calendar

    @property
    def version(self) -> str:
        return self.app.version if self.app else self.calendar.unit


def table_of(catalogue: Catalogue, name: str) -> TableOf:
    """BadRequest where no app fills or reads it."""
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
    """All there are: those that others fill, then those that apps fill, each after what it is made from."""
    yield from (TableOf(name, None, calendar) for name, calendar in sorted(catalogue.externals.items()))
    for app in sorted(catalogue.values(), key=lambda app: (catalogue.rank(app.name), app.name)):
        if app.partitioning and not app.unbounded:
            yield TableOf(app.partitioning.table, app, app.partitioning.calendar)
