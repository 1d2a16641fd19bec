"""JSON document of an app's partitioning: ``partitions`` in the JSON of ``sluice apps show``."""

from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import Offset, Partitioning, TableDependency


def as_document(partitioning: Partitioning) -> dict[str, object]:
    """Return the partitioning under its option names in the definition, written in full. The cut-offs are the first and
    the last partition that is read.
    """
    first = partitioning.first
    return {
        "output_table": partitioning.table,
        "partition": _calendar(partitioning.calendar)
        | {"first": None if first is None else partitioning.calendar.write(first)},
        "step_size": partitioning.step_size,
        "table_dependencies": [
            {
                "table": each.table,
                "app": each.producer,
                "partition": _calendar(each.calendar),
                "start_offset": None if each.start_offset is None else _written(each.start_offset),
                "end_offset": _written(each.end_offset),
                "start_cutoff": first_read(each),
                "end_cutoff": last_read(each),
                "cumulative": each.cumulative,
            }
            for each in partitioning.dependencies
        ],
        "modes": partitioning.modes,
    }


def _calendar(calendar: Calendar) -> dict[str, object]:
    return {"unit": calendar.unit, "format": calendar.pattern}


def _written(offset: Offset) -> int | str:
    return f"{offset.seconds}s" if offset.seconds else offset.partitions


def first_read(dependency: TableDependency) -> str | None:
    calendar, cutoff_s = dependency.calendar, dependency.start_cutoff_s
    return None if cutoff_s is None else calendar.write(calendar.at(cutoff_s))


def last_read(dependency: TableDependency) -> str | None:
    """Return the last partition that is read. It ends where the cut-off begins."""
    calendar, cutoff_s = dependency.calendar, dependency.end_cutoff_s
    return None if cutoff_s is None else calendar.write(calendar.at(cutoff_s - 1))
