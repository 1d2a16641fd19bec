"""Command ``sluice ls``: list jobs by common properties."""

import argparse
from collections.abc import Sequence

from msgspec import structs

from sluice.jobs.errors import BadRequest
from sluice.jobs.states import State
from sluice.jobs.text.paging import Order, OrderBy
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import job_lists, submission_progress
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import watch_option
from sluice.ops.cli.page import Paragraph, Table
from sluice.ops.cli.selection import selected_by, where_option
from sluice.ops.cli.submission_options import past_option
from sluice.ops.operations.installation import Installation
from sluice.ops.text import moment

#: Value of ``--page`` for the first page, which has no token.
FIRST = "first"
#: Largest limit that the ledger accepts, because its integers have 64 bits.
LIMIT_MAX = 2**63 - 1


def options(parser: argparse.ArgumentParser) -> None:
    watch_option(parser)
    parser.add_argument("--app", dest="of_app", metavar="APP", help="only jobs of this app; default: all")
    parser.add_argument(
        "--state",
        action="append",
        choices=[str(state) for state in State],
        metavar="STATE",
        help="only jobs in this state; may be repeated; default: all; values: " + ", ".join(State),
    )
    parser.add_argument(
        "--submission", metavar="ID", help="only jobs that this submission requested; default: all"
    )
    parser.add_argument(
        "--since",
        type=past_option,
        metavar="T",
        help="only jobs changed since this; a time, or an age like 10m; default: all",
    )
    parser.add_argument("--uncollected", action="store_true", help="only finished jobs that are not archived")
    parser.add_argument(
        "--late", action="store_true", help="only jobs that are late, or were late when they ended"
    )
    where_option(
        parser, "only jobs that match a condition like: state = failed and inputs.num > 9; default: all"
    )
    _order_options(parser)


def _order_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--order", choices=[*OrderBy], default=OrderBy.CHANGED, help="time to order by; default: changed"
    )
    direction = parser.add_mutually_exclusive_group()
    direction.add_argument("--desc", dest="ascending", action="store_false", help="last first, the default")
    direction.add_argument("--asc", dest="ascending", action="store_true", help="first first")
    parser.set_defaults(ascending=False)
    parser.add_argument(
        "--page",
        metavar="TOKEN",
        help="show one page: first, or the token of the next page; default: the first jobs, without pages",
    )
    parser.add_argument(
        "-n", "--limit", type=int, default=100, metavar="N", help="maximum number of jobs; default: 100"
    )


def run(context: CommandContext, options: Options) -> int:
    condition = JobFilter() if options.where is None else selected_by(context, options.where)
    wanted = structs.replace(
        condition,
        app=options.of_app,
        states=tuple(State(word) for word in options.state or ()),
        submission=options.submission,
        since=options.since,
        uncollected=options.uncollected,
        late=options.late,
    )
    order = Order(by=OrderBy(options.order), descending=not options.ascending)
    limit = min(max(options.limit, 0), LIMIT_MAX)
    if options.page is None:
        return _list(context, wanted, order, limit)
    return _turn(context, wanted, order, limit, None if options.page == FIRST else options.page)


def _list(context: CommandContext, wanted: JobFilter, order: Order, limit: int) -> int:
    found = Installation(context).ask(
        lambda tx: job_lists.jobs(_known(tx, wanted), wanted, order=order, limit=limit)
    )
    context.output.answer([_document(job) for job in found], _table(found, order))
    if found and len(found) == limit:
        context.output.note(Paragraph(f"There may be more; --limit shows more than {limit}.", "bright_black"))
    return DONE


def _turn(context: CommandContext, wanted: JobFilter, order: Order, limit: int, token: str | None) -> int:
    """Show one page."""
    found = Installation(context).ask(
        lambda tx: job_lists.page(_known(tx, wanted), wanted, token, order=order, limit=limit)
    )
    document = {"jobs": [_document(job) for job in found.jobs], "total": found.total, "next": found.next}
    context.output.answer(document, _table(found.jobs, order))
    if not context.output.is_document:
        rest = "" if found.next is None else f" The next page: --page {found.next}"
        context.output.note(Paragraph(f"{len(found.jobs)} of {found.total}.{rest}", "bright_black"))
    return DONE


def _table(found: Sequence[job_lists.ListedJob], order: Order) -> Table:
    """Return the jobs as a table. The last column has the time by which they are ordered."""
    if order.by is OrderBy.CREATED:
        heading, times = "created (UTC)", [job.created_at for job in found]
    else:
        heading, times = "since (UTC)", [job.changed_at for job in found]
    return Table(
        ("app", "key", "state", "round", heading),
        [
            (job.app, job.key, _state(job), job.round, moment(at))
            for job, at in zip(found, times, strict=True)
        ],
        empty="No jobs.",
    )


def _document(job: job_lists.ListedJob) -> dict[str, object]:
    """Return a job as a document. A partition job also has its partitions."""
    told = {word: value for word, value in structs.asdict(job).items() if word not in ("id", "output_table")}
    return told if job.span is None else {**told, "span": job.span}


def _state(job: job_lists.ListedJob) -> str:
    marks = [
        word
        for word, applies in (
            ("uncollected", job.uncollected),
            ("paused", job.paused and not job.uncollected),
            ("late", job.late),
        )
        if applies
    ]
    return ", ".join([job.state, *marks])


def _known(tx: Tx, wanted: JobFilter) -> Tx:
    """Return the transaction. BadRequest if the submission in the filter does not exist."""
    if wanted.submission is not None and submission_progress.status(tx, wanted.submission) is None:
        raise BadRequest(
            f"There is no submission {wanted.submission}.",
            advice="`sluice submissions` lists the submissions.",
        )
    return tx
