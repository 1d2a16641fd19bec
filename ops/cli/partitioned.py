"""Texts about an app keyed by partition: the table that it fills, and the tables that it reads."""

from sluice.jobs.keys.partitions import Offset, Partitioning, TableDependency
from sluice.ops.cli.page import Block, Table
from sluice.ops.partitioning_document import first_read, last_read
from sluice.ops.times import span


def size_of(partitioning: Partitioning) -> str:
    """Return how many partitions one job makes."""
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
        (each.table, each.producer or "external", _from(each, unit), _to(each, unit))
        for each in partitioning.dependencies
    ]
    return Table(("reads", "filled by", "from", "to"), rows, prose=True, empty="It reads no table.")


def _from(dependency: TableDependency, unit: str) -> str:
    cutoff = first_read(dependency)
    if dependency.start_offset is None:
        return cutoff or "the beginning"
    told = _before(dependency.start_offset, unit, "the start")
    return f"{told}, or {cutoff}" if cutoff else told


def _to(dependency: TableDependency, unit: str) -> str:
    cutoff = last_read(dependency)
    told = _before(dependency.end_offset, unit, "the end")
    told = f"{told}, or {cutoff}" if cutoff else told
    return f"{told}; any later one is accepted" if dependency.cumulative else told


def _before(offset: Offset, unit: str, end: str) -> str:
    if offset == Offset():
        return end
    if offset.seconds:
        return f"{span(offset.seconds)} before {end}"
    return f"{offset.partitions:,} {unit}{'s' if offset.partitions > 1 else ''} before {end}"
