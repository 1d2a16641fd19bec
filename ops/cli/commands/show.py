"""``sluice show``: everything the ledger knows of one job."""

from collections.abc import Iterable, Iterator

import msgspec

from jobs.states import State
from ledger.reads.dossier import Child, Dossier, Parent, Round
from ops.cli.command import Options
from ops.cli.desk import Desk
from ops.cli.exits import DONE
from ops.cli.installation import Installation
from ops.cli.naming import job_options
from ops.cli.page import Block, Line, Table, colour
from ops.cli.records import dossier_of
from ops.dossier import as_document
from ops.times import moment, precise, span
from ops.words import first_line

options = job_options


def run(desk: Desk, options: Options) -> int:
    found = dossier_of(desk, Installation(desk), options.app, options.key)
    desk.output.answer(as_document(found), *_page(found))
    return DONE


def _page(found: Dossier) -> Iterator[Block]:
    job = found.job
    yield Line(f"{job.name} {job.state} since {moment(job.changed_at)} UTC", f"bold {colour(job.state)}")
    yield from (Line(text, indent=2) for text in _facts(found))
    if found.rounds:
        yield from _part(
            ("round", "worker", "began (UTC)", "took", "ending", "error"), map(_round, found.rounds)
        )
    steps = (
        (precise(each.at), each.source, State(each.target), each.by, each.round, each.note or each.verb)
        for each in found.history
    )
    yield from _part(("at (UTC)", "from", "to", "by", "round", "note"), steps)
    if found.parents:
        yield from _part(("parent", "state", "group"), map(_parent, found.parents))
    if found.children:
        yield from _part(("child", "state"), map(_child, found.children))


def _facts(found: Dossier) -> Iterator[str]:
    job = found.job
    yield f"round {job.round}: {job.fails} fails, {job.timeouts} timeouts, {job.losses} losses"
    if job.priority:
        yield f"priority {job.priority}"
    if job.not_before:
        yield f"not before {moment(job.not_before)} UTC"
    if job.end_before:
        yield f"end before {moment(job.end_before)} UTC"
    if job.handle is not None:
        yield f"its work elsewhere: {msgspec.json.encode(job.handle).decode()}"
    if found.submissions:
        yield f"wanted by {', '.join(found.submissions)}"


def _part(headings: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[Block]:
    yield Line()
    yield Table(headings, rows, prose=True)


def _round(each: Round) -> tuple[object, ...]:
    error = first_line(each.error)
    code = f" {each.exit_code}" if each.exit_code is not None else ""
    took = span(_took_s(each))
    return each.round, each.worker, precise(each.running_at), took, f"{each.ending or ''}{code}", error


def _took_s(each: Round) -> float | None:
    if each.took_s is not None or each.executed_at is None:
        return each.took_s
    return (each.executed_at - each.running_at).total_seconds()


def _parent(each: Parent) -> tuple[object, ...]:
    wish = "" if each.condition == "succeeded" else f", to be {each.condition}"
    return f"{each.app}/{each.key}", each.state, f"{each.name}{wish}"


def _child(each: Child) -> tuple[object, ...]:
    return f"{each.app}/{each.key}", each.state
