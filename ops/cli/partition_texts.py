"""Texts about partitions, their tables, and the partitions upstream and downstream of them.

``facts_of`` and ``tables_of`` are about an app keyed by partition: the table that it fills, and the tables that it
reads.

``partition_parents`` and ``partition_children`` find the upstream and downstream partitions by the definitions alone.
Each partition is listed by itself, whether it exists or not. Its job is known only after planning.
"""

from collections.abc import Iterable, Iterator, Sequence

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, table_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Span
from sluice.jobs.keys.partitions import UNBOUNDED, Offset, Partitioning, TableDependency, read_landing_key
from sluice.jobs.model.app import App
from sluice.jobs.model.dependency import Gate, Need
from sluice.jobs.model.names import JobName
from sluice.ops.cli.output import excerpt
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.documents.app_document import first_read, last_read
from sluice.ops.text import span
from sluice.planner.keyspaces.partitions.partition_keys import (
    app_of_key,
    canonical_key,
    partitioning_of,
    read_key,
)
from sluice.planner.keyspaces.partitions.partition_relation import Relatives, children, parents


def size_of(partitioning: Partitioning) -> str:
    """Return how many partitions one job makes."""
    unit = partitioning.calendar.unit
    return f"one {unit}" if partitioning.step_size == 1 else f"up to {partitioning.step_size:,} {unit}s"


def facts_of(partitioning: Partitioning, version: str) -> dict[str, str]:
    calendar = partitioning.calendar
    return {
        "fills": f"{partitioning.table}, by {calendar.unit}, like {calendar.example}",
        "by": f"{partitioning.by.name}: {', '.join(partitioning.by.values)}" if partitioning.by else "",
        "first": "" if partitioning.first is None else calendar.write(partitioning.first),
        "modes": ", ".join(partitioning.modes),
        "version": version,
    }


def tables_of(partitioning: Partitioning) -> Block:
    unit = partitioning.calendar.unit
    rows = [
        (_read(each), each.producer or each.daily_maker or "external", _from(each, unit), _to(each, unit))
        for each in partitioning.dependencies
    ]
    return Table(("reads", "filled by", "from", "to"), rows, prose=True, empty="It reads no table.")


def _read(dependency: TableDependency) -> str:
    """Return the table, and which slices of it are read."""
    if dependency.by is None:
        return dependency.table
    return f"{dependency.table}, {'every' if dependency.all_slices else 'same'} {dependency.by.name}"


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


_GATE = "default"
#: In place of a key: the earlier partitions of a table are needed, too.
AND_BEFORE = "and all before"


def is_of_partitions(catalogue: Catalogue, name: str) -> bool:
    """Return whether the name is an app keyed by partition, or an external table."""
    return catalogue[name].partitioning is not None if name in catalogue else name in catalogue.externals


def partition_parents(
    catalogue: Catalogue, name: str, key: str, *, whole: bool
) -> tuple[list[dict[str, object]], Block]:
    """Return the parents as a document and for people. ``and_before`` has the tables that are read from their
    beginning.
    """
    found = list(parents(catalogue, *_located(catalogue[name], key))) if name in catalogue else []
    if not found:
        return [], Paragraph(f"{name}/{key} is made from no other partition.")
    gate: dict[str, object] = {"group": _GATE, "jobs": sorted(_names(found))}
    if unusual := {str(job): each.when for each in found if each.when != "succeeded" for job in each.names}:
        gate["when"] = unusual
    if endless := [each.table for each in found if each.endless]:
        gate["and_before"] = endless
    rows = [row for each in found for row in _rows(each, AND_BEFORE)]
    shown = excerpt(
        rows, alike=lambda row: (row[0], row[2]), rest=lambda row, words: (row[0], words, row[2]), whole=whole
    )
    return [gate], Table(("app", "key", "must have"), list(shown))


def with_read(gates: Sequence[Gate], read: Sequence[Relatives]) -> tuple[Gate, ...]:
    """Return the groups of a job with a key, each with the partitions that the job reads."""
    needs = tuple(Need(job, each.when) for each in read for job in each.names)
    return tuple(Gate(gate.name, (*gate.needs, *needs)) for gate in gates or (Gate(_GATE, ()),))


def partition_children(
    catalogue: Catalogue, name: str, key: str, *, whole: bool
) -> tuple[list[JobName], Block]:
    """Return the children as a document and for people. If all later partitions are children too, the document has only
    the first.
    """
    table, made = _made(catalogue, name, key)
    found = list(children(catalogue, table, made))
    if not found:
        return [], Paragraph(f"Nothing is made from {name}/{key}.")
    rows = [(app, key) for each in found for app, key, _ in _rows(each, "and all later")]
    shown = excerpt(rows, alike=lambda row: row[0], rest=lambda row, words: (row[0], words), whole=whole)
    return sorted(_names(found)), Table(("app", "key"), list(shown))


def _located(app: App, key: str) -> tuple[App, Span]:
    """Return the app for the slice of this key, and the partitions that it names."""
    if app.unbounded:
        raise BadRequest(
            f"{app.name} never ends, so its partitions have no parents and children of their own.",
            advice=f"`sluice show {app.name} {UNBOUNDED}` shows its parents and children.",
        )
    found = app_of_key(app, canonical_key(app, key))
    return found, read_key(found, key)


def _made(catalogue: Catalogue, name: str, key: str) -> tuple[TableOf, Span]:
    if name in catalogue:
        app, made = _located(catalogue[name], key)
        return table_of(catalogue, partitioning_of(app).table), made
    table = table_of(catalogue, name)
    try:
        partition, _ = read_landing_key(table.calendar, key)
    except ValueError as error:
        raise BadRequest(f"The key is not a partition of {name}: {error}.", where=name) from None
    return table, Span(partition, partition)


def _names(found: Iterable[Relatives]) -> Iterator[JobName]:
    return iter({job for each in found for job in each.names})


def _rows(each: Relatives, endless: str) -> Iterator[tuple[str, str, str]]:
    for job in each.names:
        yield job.app, job.key, each.when
    if each.endless:
        yield each.maker, endless, each.when
