"""Upstream and downstream partitions of a partition, by the definitions alone. Each partition is listed by itself,
whether it exists or not. Its job is known only after planning.
"""

from collections.abc import Iterable, Iterator

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import TableOf, table_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Span
from sluice.jobs.keys.partitions import UNBOUNDED, read_landing_key
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.ops.cli.excerpt import excerpt
from sluice.ops.cli.page import Block, Line, Table
from sluice.planner.keyspaces.partitions.partition_keys import partitioning_of, read_key
from sluice.planner.keyspaces.partitions.partition_relation import Relatives, children, parents

_GATE = "default"


def is_of_partitions(catalogue: Catalogue, name: str) -> bool:
    """Return whether the name is an app keyed by partition, or an external table."""
    return catalogue[name].partitioning is not None if name in catalogue else name in catalogue.externals


def partition_parents(
    catalogue: Catalogue, name: str, key: str, *, whole: bool
) -> tuple[list[dict[str, object]], Block]:
    """Return the parents as a document and for people. ``and_before`` has the tables that are read from their
    beginning.
    """
    found = (
        list(parents(catalogue, catalogue[name], _bounded(catalogue[name], key))) if name in catalogue else []
    )
    if not found:
        return [], Line(f"{name}/{key} is made from no other partition.")
    gate: dict[str, object] = {"group": _GATE, "jobs": sorted(_names(found))}
    if unusual := {str(job): each.when for each in found if each.when != "succeeded" for job in each.names}:
        gate["when"] = unusual
    if endless := [each.table for each in found if each.endless]:
        gate["and_before"] = endless
    rows = [row for each in found for row in _rows(each, "and all before")]
    shown = excerpt(
        rows, alike=lambda row: (row[0], row[2]), rest=lambda row, words: (row[0], words, row[2]), whole=whole
    )
    return [gate], Table(("app", "key", "must have"), list(shown))


def partition_children(
    catalogue: Catalogue, name: str, key: str, *, whole: bool
) -> tuple[list[JobName], Block]:
    """Return the children as a document and for people. If all later partitions are children too, the document has only
    the first.
    """
    table, made = _made(catalogue, name, key)
    found = list(children(catalogue, table, made))
    if not found:
        return [], Line(f"Nothing is made from {name}/{key}.")
    rows = [(app, key) for each in found for app, key, _ in _rows(each, "and all later")]
    shown = excerpt(rows, alike=lambda row: row[0], rest=lambda row, words: (row[0], words), whole=whole)
    return sorted(_names(found)), Table(("app", "key"), list(shown))


def _bounded(app: App, key: str) -> Span:
    if app.unbounded:
        raise BadRequest(
            f"{app.name} never ends, so its partitions have no parents and children of their own.",
            advice=f"`sluice show {app.name} {UNBOUNDED}` shows its parents and children.",
        )
    return read_key(app, key)


def _made(catalogue: Catalogue, name: str, key: str) -> tuple[TableOf, Span]:
    if name in catalogue:
        app = catalogue[name]
        return table_of(catalogue, partitioning_of(app).table), _bounded(app, key)
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
        yield each.app.name if each.app else each.table, endless, each.when
