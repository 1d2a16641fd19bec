"""Command ``sluice parents``: list the jobs that a job needs, by dependency group. It reads only the definitions."""

import argparse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sluice.jobs.keys.identifiers import Values
from sluice.jobs.keys.work_ids import in_order, parts_of, short_text_of
from sluice.jobs.model.dependency import Gate, Need
from sluice.jobs.model.names import JobName
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import all_option, excerpt
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.cli.parser import job_options
from sluice.ops.cli.partition_texts import AND_BEFORE, is_of_partitions, partition_parents, with_read
from sluice.ops.operations.job_names import related
from sluice.ops.text import span
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.chunks.chunk_readers import WorkIdRelation
from sluice.planner.keyspaces.partitions.partition_relation import Relatives, parents_of_job

#: Maximum number of values shown for an identifier of a group.
VALUES_MAX = 12


class ParentRow(NamedTuple):
    group: str
    app: str
    key: str
    when: str


def options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    all_option(parser)


def run(context: CommandContext, options: Options) -> int:
    if is_of_partitions(context.catalogue, options.app):
        context.output.answer(
            *partition_parents(context.catalogue, options.app, options.key, whole=options.whole)
        )
        return DONE
    name = related(context, options.app, options.key)
    app = context.catalogue[name.app]
    gates = keyspace_of(app, context.catalogue).gates(app, name.key)
    read = list(parents_of_job(context.catalogue, name))
    if read:
        gates = with_read(gates, read)
    endless = {"and_before": tables} if (tables := [each.table for each in read if each.endless]) else {}
    needed = {
        of: sorted(each.work_ids, key=in_order)
        for of, each in WorkIdRelation(context.catalogue).needed(name).items()
    }
    named = {"work_ids": {of: parts_of(ids) for of, ids in needed.items()}} if needed else {}
    context.output.answer(
        [
            {"group": gate.name, "jobs": [need.parent for need in gate.needs], **endless, **named}
            for gate in gates
        ],
        *(_page(gates, read, is_alone=not needed, whole=options.whole) if gates else _reasons(context, name)),
        *(Paragraph(f"Work IDs of {of} that it needs: {short_text_of(ids)}") for of, ids in needed.items()),
    )
    return DONE


def _page(
    gates: Sequence[Gate], read: Sequence[Relatives], *, is_alone: bool, whole: bool
) -> Iterator[Block]:
    """Yield the parents by group. ``is_alone``: the job needs no work IDs beside them."""
    rows = [ParentRow(gate.name, *need.parent, _must(need)) for gate in gates for need in gate.needs]
    rows += [
        ParentRow(gate.name, each.maker, AND_BEFORE, each.when)
        for gate in gates
        for each in read
        if each.endless
    ]
    shown = excerpt(
        rows,
        alike=lambda row: (row.group, row.app, row.when),
        rest=lambda row, words: row._replace(key=words),
        whole=whole,
    )
    yield Table(("group", "app", "key", "must have"), list(shown))
    for gate in gates:
        if is_alone and not gate.needs:
            yield Paragraph(f"Group {gate.name} needs no other job.")
    if len(gates) > 1:
        yield Paragraph(f"The {len(gates)} groups are alternatives: any of them is enough.", "bright_black")


def _must(need: Need) -> str:
    """Return the condition on a parent, like ``succeeded`` or ``succeeded within 6 h 0 min``."""
    if need.lag_s_max is None:
        return need.when
    return f"{need.when} within {span(need.lag_s_max)}" if need.lag_s_max else f"{need.when} again"


def _reasons(context: CommandContext, name: JobName) -> Iterator[Block]:
    """Yield the reason why there are no parents."""
    app = context.catalogue[name.app]
    if not keyspace_of(app, context.catalogue).unmatched(app, name.key):
        yield Paragraph(f"{name} needs no other job: {app.name} has no depends_on.")
        return
    yield Paragraph(f"{name} fits none of the groups of {app.name}; submit refuses it.", "yellow")
    for alternative in context.catalogue.alternatives(app.name):
        domains = (f"{word} {_listed(values)}" for word, values in alternative.domains.items())
        yield Paragraph(
            f"group {alternative.name} is for {'; '.join(domains) or 'keys that fit its parents'}", indent=2
        )


def _listed(values: Values) -> str:
    if len(values) <= VALUES_MAX:
        return ", ".join(map(str, values))
    *_, last = values
    return f"{next(iter(values))} … {last}"
