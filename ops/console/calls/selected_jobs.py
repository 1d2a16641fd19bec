"""Acts on all jobs that match a condition, one batch for each call."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from sluice.actors import audit_results
from sluice.jobs.keys.key_fields import readings_for
from sluice.jobs.model.submission import JSON
from sluice.jobs.text.filter_parser import parse_condition
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.paging import read_token, write_token
from sluice.ops.console.route import CallArguments, NoParameters, action
from sluice.ops.console.tenancy import NARROWED
from sluice.ops.operations.selected_jobs import (
    BATCH,
    JobOperation,
    archiving,
    cancelling,
    one_batch,
    preview_of,
    retrying,
)


class Selection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs that match ``where``, a condition like that of ``sluice ls``: the newest ones, or those that follow
    ``after``, the ``next`` of the previous answer. With ``dry_run``, nothing changes.
    """

    where: str
    dry_run: bool = False
    after: str | None = None


class ProcessedJobs(Struct, frozen=True, kw_only=True):
    """Number of jobs in this batch, of changed ones, and of those left as they are, by reason. ``first`` names the
    first of the changed jobs, and ``submissions`` are the new submissions of a retry. ``next`` is null after the last
    batch.
    """

    selected: int
    changed: int
    refused: Mapping[str, int]
    first: Sequence[str]
    submissions: Sequence[str]
    next: str | None


_Asked = CallArguments[NoParameters, Selection]


def retry(console: ConsoleContext, asked: _Asked) -> ProcessedJobs:
    client = console.doing(asked.who, "retry", _about(asked), audit_results.submitted)
    return _process(console, asked, retrying(client))


def cancel(console: ConsoleContext, asked: _Asked) -> ProcessedJobs:
    client = console.doing(asked.who, "cancel", _about(asked), audit_results.cancelled)
    return _process(console, asked, cancelling(client, console.ask))


def archive(console: ConsoleContext, asked: _Asked) -> ProcessedJobs:
    ledger = console.ledger_doing(asked.who, "archive", _about(asked), audit_results.jobs_archived)
    return _process(console, asked, archiving(ledger))


def _about(asked: _Asked) -> dict[str, JSON]:
    return {"where": asked.body.where}


def _process(console: ConsoleContext, asked: _Asked, operation: JobOperation) -> ProcessedJobs:
    wanted = asked.body
    where = parse_condition(wanted.where, datetime.now(UTC))
    definitions = (lambda: console.catalogue) if console.has_definitions else None
    batch = one_batch(
        console.ask,
        JobFilter(apps=asked.reach.listed, where=where, readings=readings_for(where, definitions)),
        preview_of(operation) if wanted.dry_run else operation,
        before=None if wanted.after is None else read_token(wanted.after),
        limit=BATCH,
    )
    return ProcessedJobs(
        selected=batch.selected,
        changed=batch.changed,
        refused=batch.refused,
        first=[str(name) for name in batch.first],
        submissions=batch.submissions,
        next=write_token(batch.before),
    )


ROUTES = tuple(
    action(f"/api/jobs/{word}", call, summary, answers=ProcessedJobs, body=Selection, tenancy=NARROWED)
    for word, call, summary in (
        ("retry", retry, "Run the selected jobs that have not succeeded again"),
        ("cancel", cancel, "Cancel the selected jobs, even if several submissions request them"),
        ("archive", archive, "Mark the results of the selected jobs as collected"),
    )
)
