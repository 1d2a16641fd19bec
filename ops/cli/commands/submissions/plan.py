"""Command ``sluice plan``: show which jobs a submission would plan. It changes nothing. With --facts it needs no
ledger.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.work_id_selection import select
from sluice.jobs.keys.partitions import with_slice, without_slice
from sluice.jobs.keys.work_ids import short_text_of
from sluice.jobs.model.pool import spoken
from sluice.jobs.model.submission import Submission
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import all_option, excerpt
from sluice.ops.cli.page import Block, Paragraph, Table
from sluice.ops.cli.submission_options import moment_option, submission_of, submission_options
from sluice.ops.documents.chunk_plan_document import as_chunk_document, nothing_to_do
from sluice.ops.documents.partition_plan_document import as_partition_document
from sluice.ops.documents.plan_document import (
    GateDocument,
    PlanDocument,
    PlanEntry,
    PlannedDocument,
    as_document,
)
from sluice.ops.documents.plan_facts import GivenFacts, GivenPast, no_facts, read_facts
from sluice.ops.operations.submission_checks import check
from sluice.ops.text import span
from sluice.planner.keyspaces.chunks.chunk_keys import is_by_chunk
from sluice.planner.keyspaces.chunks.chunk_plan import chunk
from sluice.planner.keyspaces.partitions.partition_keys import meant
from sluice.planner.preview.preview import preview
from sluice.planner.preview.pushes import chunks_with_pushed, with_pushed
from sluice.planner.preview.table_preview import preview_tables

#: Maximum number of parents of one app or table that are named individually. Only parents outside the plan have names
#: here.
NAMED_MAX = 3
#: Number of jobs shown at each end of a critical path that is longer than both together.
ENDS_MAX = 3
#: Maximum number of pools shown. There may be a pool for each customer.
POOLS_MAX = 5


def options(parser: argparse.ArgumentParser) -> None:
    submission_options(parser)
    parser.add_argument(
        "--facts",
        metavar="FILE",
        help="JSON file that replaces the data of the ledger; - is stdin; default: the data of the ledger",
    )
    parser.add_argument("--now", metavar="T", type=moment_option, help="plan as of this time; default: now")
    all_option(parser)


def run(context: CommandContext, options: Options) -> int:
    submission = replace(submission_of(options), id="preview")
    catalogue = _catalogue(context, submission)
    given = _given(context, options.facts, catalogue)
    now = datetime.fromisoformat(options.now) if options.now else None
    submission = meant(catalogue, submission)
    app = catalogue.app(submission.app)
    if app.partitioning or catalogue.may_need_others(app.name):
        document = _of_partitions(context, catalogue, submission, given, now)
    elif is_by_chunk(app, submission):
        document = _of_chunks(context, submission, given, now)
    else:
        document = _of_keys(context, submission, given, now)
    context.output.answer(document, *_page(document, whole=options.whole))
    return DONE


def _given(context: CommandContext, file: str | None, catalogue: Catalogue) -> GivenFacts | None:
    """Return the facts that replace a ledger. None if the ledger is used."""
    if file:
        return read_facts(file, catalogue)
    if context.has_ledger:
        return None
    context.output.note(Paragraph("There is no ledger here yet, so nothing counts as done.", "yellow"))
    return no_facts(catalogue)


def _catalogue(context: CommandContext, submission: Submission) -> Catalogue:
    """Return the definitions by which the submission is planned."""
    if submission.branch is None:
        check(context.catalogue, submission)
        return context.catalogue
    from sluice.ops.cli.plan_knowledge import known_branch  # noqa: PLC0415 - it takes longer than to plan on given facts

    return known_branch(context, submission.branch)


def _of_keys(
    context: CommandContext, submission: Submission, given: GivenFacts | None, now: datetime | None
) -> PlanDocument:
    if given:
        at = now or datetime.now(UTC)
        found = preview(context.catalogue, submission, given.look_up, at)
        past = GivenPast(at, given)
        return as_document(with_pushed(context.catalogue, submission, found, given.look_up, past), {}, now=at)
    from sluice.ops.cli.plan_knowledge import known_preview  # noqa: PLC0415 - it takes longer than to plan on given facts

    found, paces_s, at = known_preview(context, submission, now)
    return as_document(found, paces_s, now=at)


def _of_chunks(
    context: CommandContext, submission: Submission, given: GivenFacts | None, now: datetime | None
) -> PlanDocument:
    selected = select(context.catalogue.app(submission.app), submission)
    if not selected.work_ids:
        return nothing_to_do(submission.app)
    if given:
        past = GivenPast(now or datetime.now(UTC), given)
        handed_on = replace(submission, kwargs=selected.kwargs)
        found = chunk(context.catalogue, handed_on, selected.work_ids, past)
        whole = chunks_with_pushed(context.catalogue, handed_on, found, given.look_up, past)
        return as_chunk_document(found, whole, {}, now=past.now)
    from sluice.ops.cli.plan_knowledge import known_chunks  # noqa: PLC0415 - it takes longer than to plan on given facts

    found, whole, paces_s, at = known_chunks(context, submission, selected, now)
    return as_chunk_document(found, whole, paces_s, now=at)


def _of_partitions(
    context: CommandContext,
    catalogue: Catalogue,
    submission: Submission,
    given: GivenFacts | None,
    now: datetime | None,
) -> PlanDocument:
    if given:
        at = now or datetime.now(UTC)
        past = GivenPast(at, given)
        found = preview_tables(catalogue, submission, given.tables, given.look_up, past)
        return as_partition_document(found, {}, now=at)
    from sluice.ops.cli.plan_knowledge import known_tables  # noqa: PLC0415 - it takes longer than to plan on given facts

    found, paces_s, at = known_tables(context, catalogue, submission, now)
    return as_partition_document(found, paces_s, now=at)


class PlanRow(NamedTuple):
    job: str
    key: str
    state: str
    after: str


def _page(document: PlanDocument, *, whole: bool) -> Iterator[Block]:
    pushed = [] if document.pushed is UNSET else [*document.pushed]
    every = [*document.jobs, *pushed]
    jobs = [PlanRow(job.ref, _key(job), _state(job), _after(job.gates)) for job in every]
    rows = excerpt(
        jobs,
        alike=lambda row: (row.job.partition("#")[0], row.state),
        rest=lambda row, words: row._replace(key=words, after=""),
        whole=whole,
    )
    yield Table(("job", "key", "state", "after"), list(rows), prose=True)
    yield from _pools(every)
    again = (
        PlanEntry(ref=job.ref, app=job.app, key=job.key, span=job.span, why=job.why)
        for job in document.jobs
        if job.why and job.work_ids is UNSET
    )
    yield from _told(again, "runs again", "yellow", whole=whole)
    under_way = (job for job in document.waits_for if not job.table)
    yield from _told(under_way, "is under way", "cyan", whole=whole)
    to_come = (job for job in document.waits_for if job.table)
    yield from _told(to_come, "is awaited", "cyan", whole=whole)
    yield from _told(document.satisfied, "need not run", "bright_black", whole=whole)
    yield from _told(document.errors, "cannot run", "red", whole=whole)
    held = () if document.held is UNSET else document.held
    yield from _told(held, "would be pushed", "bright_black", whole=whole)
    would = _would(len(jobs), len(pushed))
    known = f", about {span(document.estimated_s)} of work" if document.estimated_s is not UNSET else ""
    yield Paragraph(f"{would}{known}.", "bold")
    yield from _critical_path(document, whole=whole)


def _would(jobs: int, pushed: int) -> str:
    would = "1 job would run" if jobs == 1 else f"{jobs} jobs would run"
    return f"{would}, {pushed} of them pushed" if pushed else would


def _state(job: PlannedDocument) -> str:
    return f"{job.state}, pushed" if job.pushed is True else job.state


def _critical_path(document: PlanDocument, *, whole: bool) -> Iterator[Block]:
    """Yield the critical path, unless no job waits for another one."""
    path, widest = document.critical_path, document.widest_level
    if path is UNSET or widest is UNSET or len(path.jobs) < 2:
        return
    named = jobs = path.jobs
    if not whole and len(jobs) > 2 * ENDS_MAX + 1:
        named = [*jobs[:ENDS_MAX], f"… {len(jobs) - 2 * ENDS_MAX} more …", *jobs[-ENDS_MAX:]]
    time = f", about {span(path.estimated_s)}" if path.estimated_s is not UNSET else ""
    together = f"{widest} jobs, which can run at once" if widest > 1 else "1 job"
    yield Paragraph(f"Critical path: {' -> '.join(named)} ({len(jobs)} jobs{time}).")
    yield Paragraph(f"Widest level: {together}.")


def _pools(jobs: Sequence[PlannedDocument]) -> Iterator[Block]:
    """Yield the pools of the jobs with their limits. Each job has the limit with which it is planned."""
    refs: dict[tuple[str, int], list[str]] = {}
    for job in jobs:
        if job.pool is not UNSET and job.pool_limit is not UNSET:
            refs.setdefault((job.pool, job.pool_limit), []).append(job.ref)
    for (pool, limit), of in islice(refs.items(), POOLS_MAX):
        yield Paragraph(f"{_shortened(of)}: {limit} at once in {spoken(pool)}", "cyan")
    if len(refs) > POOLS_MAX:
        yield Paragraph(f"… and {len(refs) - POOLS_MAX} more pools", "cyan")


def _told(jobs: Iterable[PlanEntry], fate: str, style: str, *, whole: bool) -> Iterator[Block]:
    shown = excerpt(
        jobs,
        alike=lambda job: (_whose(job), _reason(job)),
        rest=lambda job, words: PlanEntry(app=_whose(job), key=words, why=_reason(job)),
        whole=whole,
    )
    for job in shown:
        yield Paragraph(f"{_named(job)} {fate} ({_reason(job)})", style)


def _named(job: PlanEntry) -> str:
    if job.ref:
        return f"{job.ref} {_key(job)}"
    if job.work_ids is not UNSET:
        return f"{job.app} {short_text_of(job.work_ids)}"
    if job.span:
        return f"{_whose(job)} {_key(job)}"
    return f"{job.app}/{job.key}" if job.key is not UNSET else str(job.what)


def _whose(job: PlanEntry) -> str:
    return str(job.app or job.table)


def _reason(job: PlanEntry) -> str:
    return str(job.why or job.what)


def _key(job: PlannedDocument | PlanEntry) -> str:
    """Return the key. For a partition job return the partitions without the version, which is that of the loaded
    definitions.
    """
    if not job.span:
        return str(job.key)
    first, last = job.span
    value, _ = without_slice(job.key) if job.key else (None, "")
    return with_slice(first if first == last else f"{first}..{last}", value)


def _after(gates: Sequence[GateDocument]) -> str:
    """Return the parents by dependency group. Groups are alternatives."""
    several = len(gates) > 1
    return " | ".join(f"{gate.name}: {_needs(gate)}" if several else _needs(gate) for gate in gates)


def _needs(gate: GateDocument) -> str:
    """Return the parents of a group: first those with the condition ``succeeded``, then the others with their
    conditions.
    """
    unusual = gate.when or {}
    told = [_shortened([ref for ref in gate.needs if ref not in unusual])]
    for when in sorted(set(unusual.values())):
        told.append(f"{_shortened([ref for ref in unusual if unusual[ref] == when])} {when}")
    return ", ".join(filter(None, told)) or "nothing"


def _shortened(references: list[str]) -> str:
    """Return references as text, like ``fetch#1-6, clean#2``. Consecutive numbers of an app are a range."""
    named = [ref for ref in references if "/" in ref]
    split = (ref.split("#") for ref in references if "/" not in ref)
    numbered = sorted((app, int(number)) for app, number in split)
    runs = groupby(enumerate(numbered), key=lambda item: (item[1][0], item[1][1] - item[0]))
    told = []
    for (app, _), members in runs:
        first, *rest = [number for _, (_, number) in members]
        told.append(f"{app}#{first}-{rest[-1]}" if rest else f"{app}#{first}")
    return ", ".join([*told, *_folded(named)])


def _folded(named: list[str]) -> Iterator[str]:
    """Yield names as text. Many names of one table become a range, like ``events/2024-04-03 … 2024-04-09 (7)``."""
    for _, group in groupby(named, key=lambda name: name.partition("/")[0]):
        first, *rest = group
        if len(rest) < NAMED_MAX:
            yield from (first, *rest)
        else:
            yield f"{first} … {rest[-1].partition('/')[2]} ({len(rest) + 1})"
