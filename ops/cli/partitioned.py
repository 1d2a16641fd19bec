"""What is told of an app that is keyed by partition: the table that it fills, and those that it reads."""

from jobs.calendar import Calendar
from jobs.partitioning import Offset, Partitioning, TableDependency
from ops.cli.page import Block, Table
from ops.times import span


def size_of(partitioning: Partitioning) -> str:
    """What one job makes."""
    unit = partitioning.calendar.unit
    return f"one {unit}" if partitioning.step_size == 1 else f"up to {partitioning.step_size:,} {unit}s"


def facts_of(partitioning: Partitioning, version: str) -> dict[str, str]:
    calendar = partitioning.calendar
    return {
        "fills": f"{partitioning.table}, by {calendar.unit}, like {calendar.example}",
        "first": "" if partitioning.first is None else calendar.write(partitioning.first),
        "modes": ", ".join(partitioning.modes),
        "version": version,
    }


def tables_of(partitioning: Partitioning) -> Block:
    unit = partitioning.calendar.unit
    rows = [
        (each.table, each.producer or "others", _from(each, unit), _to(each, unit))
        for each in partitioning.dependencies
    ]
    return Table(("reads", "filled by", "from", "to"), rows, prose=True, empty="It reads no table.")


def document_of(partitioning: Partitioning) -> dict[str, object]:
    """In the words of the definition, spelled out. The cut-offs are the first and the last partition to be read."""
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
                "start_cutoff": _first(each),
                "end_cutoff": _last(each),
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


def _first(dependency: TableDependency) -> str | None:
    calendar, cutoff_s = dependency.calendar, dependency.start_cutoff_s
    return None if cutoff_s is None else calendar.write(calendar.at(cutoff_s))


def _last(dependency: TableDependency) -> str | None:
    """What is cut off begins where this one ends."""
    calendar, cutoff_s = dependency.calendar, dependency.end_cutoff_s
    return None if cutoff_s is None else calendar.write(calendar.at(cutoff_s - 1))


def _from(dependency: TableDependency, unit: str) -> str:
    cutoff = _first(dependency)
    if dependency.start_offset is None:
        return cutoff or "the beginning"
    told = _before(dependency.start_offset, unit, "the start")
    return f"{told}, or {cutoff}" if cutoff else told


def _to(dependency: TableDependency, unit: str) -> str:
    cutoff = _last(dependency)
    told = _before(dependency.end_offset, unit, "the end")
    told = f"{told}, or {cutoff}" if cutoff else told
    return f"{told}; any later one does" if dependency.cumulative else told


def _before(offset: Offset, unit: str, end: str) -> str:
    if offset == Offset():
        return end
    if offset.seconds:
        return f"{span(offset.seconds)} before {end}"
    return f"{offset.partitions:,} {unit}{'s' if offset.partitions > 1 else ''} before {end}"
