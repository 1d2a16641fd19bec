"""Days of apps whose keys have exactly one date, as rows of a grid. A day has the state of the job that needs most
attention."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.identifiers import parse_day
from sluice.jobs.states import State
from sluice.ledger.reads.by_partition.submission_grid import DatedKeys
from sluice.ledger.reads.by_partition.table_partitions import CellCounts
from sluice.ops.documents.grid import Strip, most_urgent

DAILY = Calendar("day")
#: Most urgent state of each day on which an app has jobs.
Days: TypeAlias = Mapping[int, State]


def dated_keys(catalogue: Catalogue) -> list[DatedKeys]:
    """Return the apps whose keys have exactly one date, parents first."""
    return [
        DatedKeys(app.name, app.template.delimiter, app.template.names.index(*app.days) + 1)
        for app in sorted(catalogue.values(), key=lambda app: (catalogue.rank(app.name), app.name))
        if app.is_keyed_by_template and len(app.days) == 1
    ]


def urgent_days(counts: Mapping[str, Mapping[State, int]]) -> Days:
    """Return the most urgent state of each day, from the states by the text of the day.

    A key that was made by an earlier template may have no day; then it is left out.
    """
    return {day: most_urgent(of) for text, of in counts.items() if (day := day_of(text)) is not None}


def day_of(text: str) -> int | None:
    try:
        return DAILY.read(parse_day(text).isoformat())
    except ValueError:
        return None


def cells_of(strip: Strip, days: Days) -> Sequence[CellCounts]:
    return [
        CellCounts(Counter(days[day] for day in range(first, last + 1) if day in days))
        for first, last in strip.stretches
    ]
