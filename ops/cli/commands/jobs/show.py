"""Command ``sluice show``: show all data that the ledger has of one job."""

import argparse
from collections.abc import Iterable, Iterator

import msgspec

from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.work_ids import ids_of, short_text_of
from sluice.jobs.model.history import Round, Transition
from sluice.jobs.model.job import Ending
from sluice.jobs.model.pool import UNLIMITED, spoken, spoken_rate
from sluice.jobs.states import LIVE, State
from sluice.jobs.text.redaction import masked_kwargs, masked_value
from sluice.jobs.text.units import counted
from sluice.ledger.reads.job_details import RELATIVES_MAX, Child, Dossier, Half, JobRow, Parent
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.flight_page import facts, steps
from sluice.ops.cli.output import all_option, excerpt, watch_option
from sluice.ops.cli.page import Block, Paragraph, Table, colour
from sluice.ops.cli.parser import job_options
from sluice.ops.documents.job_document import done, removed, result, result_pending
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.job_answers import calendar_of, document_of
from sluice.ops.operations.job_records import dossier_of
from sluice.ops.operations.sagas import is_saga
from sluice.ops.text import command, first_line, moment, precise, span

#: Maximum number of submissions named that request the job. The latest are named.
SUBMISSIONS_MAX = 5
#: Characters of a result that are shown: two or three lines of a terminal.
RESULT_CHARS_MAX = 200


def options(parser: argparse.ArgumentParser) -> None:
    watch_option(parser)
    job_options(parser)
    all_option(parser)


def run(context: CommandContext, options: Options) -> int:
    found = dossier_of(context, Installation(context), options.app, options.key)
    calendar = calendar_of(context, found.job.app)
    page = _page(found, calendar, is_saga=is_saga(context, found), whole=options.whole)
    context.output.answer(document_of(context, found), *page)
    return DONE


def _page(found: Dossier, calendar: Calendar | None, *, is_saga: bool, whole: bool) -> Iterator[Block]:
    job = found.job
    paused = ", paused by `sluice pause`," if job.is_held_back else ""
    yield Paragraph(
        f"{job.name} {job.state}{paused} since {moment(job.changed_at)} UTC", f"bold {colour(job.state)}"
    )
    yield from (Paragraph(text, indent=2) for text in _facts(found))
    if found.job.span and calendar:
        yield Paragraph(f"existing partitions: {', '.join(done(found, calendar)) or 'nothing'}", indent=2)
    if is_saga:
        yield from (Paragraph(text, indent=2) for text in facts(found.flight, job.state))
        if not job.is_pruned:
            yield Paragraph()
            yield steps(found.flight, job.state)
    if found.rounds:
        yield from _part(
            ("round", "worker", "began (UTC)", "took", "ending", "error"), map(_round, found.rounds)
        )
    if found.history:
        yield from _part(("at (UTC)", "from", "to", "by", "round", "note"), map(_move, found.history))
    yield from _relatives(
        ("parent", "state", "group", "must have"), map(_parent, _sorted(found.parents)), whole=whole
    )
    yield from _relatives(("child", "state"), map(_child, found.children), whole=whole)
    yield from _relatives(("half", "state"), map(_child, found.halves), whole=whole)
    if RELATIVES_MAX in (len(found.parents), len(found.children)):
        yield Paragraph(f"At most {RELATIVES_MAX} parents and as many children are shown.", "bright_black")


def _facts(found: Dossier) -> Iterator[str]:
    job = found.job
    fails, losses = counted(job.fails, "fail"), counted(job.losses, "lost worker")
    yield f"round {job.round}: {fails}, {counted(job.timeouts, 'timeout')}, {losses}"
    if job.priority:
        yield f"priority {job.priority}"
    yield from _times_and_places(job)
    yield from _collecting(job)
    yield from filter(None, [removed(job)])
    if job.work_ids is not None:
        yield f"work IDs {short_text_of(tuple(ids_of(job.work_ids)))}"
    if job.kwargs:
        yield f"kwargs {msgspec.json.encode(masked_kwargs(job.kwargs)).decode()}"
    yield from _result(found)
    if found.rounds and (code := found.rounds[-1].code):
        yield f"last run by code {code}"
    if job.handle is not None:
        yield f"external work: {msgspec.json.encode(masked_value(job.handle)).decode()}"
    yield from _looks(job)
    yield from _added(found)
    if found.bisected_from:
        yield f"half of {found.bisected_from.app}/{found.bisected_from.key}, which was split"
    if job.compensated_by:
        yield f"compensated by {job.compensated_by.name}, which is {job.compensated_by.state}"
    if job.compensates:
        yield f"compensates {job.compensates.name}, which is {job.compensates.state}"
    if found.submissions:
        named = found.submissions[-SUBMISSIONS_MAX:]
        more = len(found.submissions) - len(named)
        yield f"requested by {', '.join(named)}{f' and {more} earlier' if more else ''}"


def _added(found: Dossier) -> Iterator[str]:
    """Yield the jobs that this job has added, counted by app and state, and the jobs that have added this job."""
    if found.added and not found.added.is_planned:
        yield "it adds jobs that are not planned yet"
    for group in found.added.groups if found.added else ():
        states = ", ".join(f"{count} {state}" for state, count in sorted(group.states.items()))
        yield f"added {sum(group.states.values())} of {group.app}: {states}"
    for each in found.added.then if found.added else ():
        yield f"followed by {each.app}/{each.key}, which is {each.state}"
    for each in found.added_by:
        yield f"added by {each.app}/{each.key}, which is {each.state}"


def _result(found: Dossier) -> Iterator[str]:
    if found.result and found.result.result is not None:
        text = msgspec.json.encode(result(found)).decode()
        cut = f" … of {len(text)} characters; --json has all" if len(text) > RESULT_CHARS_MAX else ""
        yield f"result {text[:RESULT_CHARS_MAX]}{cut}"
    if found.result_blob is not None:
        yield f"result in blob {found.result_blob}"
    if (reason := result_pending(found)) is not None:
        yield f"no result: {reason}"


def _collecting(job: JobRow) -> Iterator[str]:
    if job.is_uncollected:
        yield f"uncollected; `{command('archive', job.name)}` marks it as collected"
    if job.archived_at:
        yield f"archived {moment(job.archived_at)} UTC"


def _times_and_places(job: JobRow) -> Iterator[str]:
    """Yield the times and the pool that limit when the job may run."""
    if job.not_before:
        yield f"not before {moment(job.not_before)} UTC"
    if job.end_before:
        yield f"end before {moment(job.end_before)} UTC"
    if job.late_at:
        word = "late from" if not job.late else "late since" if job.state in LIVE else "ended late, after"
        yield f"{word} {moment(job.late_at)} UTC"
    if job.pool is not None and job.pool_limit != UNLIMITED:
        yield f"{spoken(job.pool)}, {job.pool_limit} at once{', waiting for a slot' if job.waiting_for_slot else ''}"
    if job.rate_bucket is not None:
        yield f"{spoken_rate(job.rate_bucket)}{', waiting for its turn' if job.waiting_for_slot else ''}"


def _looks(job: JobRow) -> Iterator[str]:
    if job.is_left:
        every, at = span(job.poll_interval_s), moment(job.next_poll_at)
        yield f"polled every {every}, next at {at} UTC; started again {_times(job.round)}"
    if job.is_to_be_ended:
        again = f", next try at {moment(job.next_poll_at)} UTC" if job.next_poll_at else ""
        yield f"external work must still be ended{again}"
    if job.external_status and (job.is_left or job.is_to_be_ended):
        yield f"last status: {first_line(job.external_status)}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _part(headings: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[Block]:
    yield Paragraph()
    yield Table(headings, rows, prose=True)


def _round(each: Round) -> tuple[object, ...]:
    has_failed = each.ending != Ending.DONE
    error = first_line(each.error if has_failed else each.error_after_commit)
    code = f" {each.exit_code}" if each.exit_code is not None else ""
    took = span(_took_s(each))
    return each.round, each.worker, precise(each.running_at), took, f"{each.ending or ''}{code}", error


def _took_s(each: Round) -> float | None:
    if each.took_s is not None or each.executed_at is None:
        return each.took_s
    return (each.executed_at - each.running_at).total_seconds()


def _move(each: Transition) -> tuple[object, ...]:
    return precise(each.at), each.source, State(each.target), each.by, each.round, each.note or each.verb


def _relatives(
    headings: tuple[str, ...], rows: Iterable[tuple[object, ...]], *, whole: bool
) -> Iterator[Block]:
    shown = list(
        excerpt(rows, alike=lambda row: row[1:], rest=lambda row, words: (words, *row[1:]), whole=whole)
    )
    if shown:
        yield from _part(headings, shown)


def _sorted(parents: Iterable[Parent]) -> list[Parent]:
    """Sort the parents by group. In a group, parents that have not succeeded come first, because they are the
    interesting ones.
    """
    return sorted(parents, key=lambda each: (each.gate, each.state is State.SUCCEEDED, each.state))


def _parent(each: Parent) -> tuple[object, ...]:
    return f"{each.app}/{each.key}", each.state, each.name, each.condition


def _child(each: Child | Half) -> tuple[object, ...]:
    return f"{each.app}/{each.key}", each.state
