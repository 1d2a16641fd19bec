"""Retry, cancellation and archiving of all jobs that a condition selects, batch by batch.

Each batch is read, and then changed in a transaction of its own. Batches go from the newest job to the oldest, so each
job is processed at most once, and jobs that are added meanwhile are left out. The change checks each job again under a
lock, so a job that has moved on since it was read stays as it is. A crash leaves the batches that were complete, and
the same operation continues with the rest.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sluice.actors.client import Client
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission, divided
from sluice.jobs.states import STOPPABLE, TERMINAL, UNSUCCESSFUL, State
from sluice.ledger import managed_tasks
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.reads import job_lists, saga_details
from sluice.ledger.reads.job_filters import JobFilter
from sluice.ledger.reads.job_lists import ListedJob

T = TypeVar("T")
#: Function that runs a query in a transaction of the ledger.
Ask = Callable[[Callable[[Tx], T]], T]

#: Jobs in one batch: 1000, which a cancellation locks for less than a second.
BATCH = 1000
#: Maximum number of jobs that a preview names.
NAMED_MAX = 10
#: Reason of the jobs that changed between the read and the change.
_MOVED_ON = "it has changed in the meantime"


class SelectionResult(Struct, frozen=True, kw_only=True):
    """Result of one batch, or of several. ``refused`` counts the jobs that stay as they are, by the reason.

    ``first`` are the first of the changed jobs. ``submissions`` are the new submissions of a retry. ``before`` is the
    id at which the next batch begins. None if there is none.
    """

    selected: int = 0
    changed: int = 0
    refused: Mapping[str, int] = {}
    first: tuple[JobName, ...] = ()
    submissions: tuple[str, ...] = ()
    before: int | None = None

    def __add__(self, other: "SelectionResult") -> "SelectionResult":
        return SelectionResult(
            selected=self.selected + other.selected,
            changed=self.changed + other.changed,
            refused=Counter(self.refused) + Counter(other.refused),
            first=(*self.first, *other.first)[:NAMED_MAX],
            submissions=(*self.submissions, *other.submissions),
            before=other.before,
        )


class Changed(Struct, frozen=True):
    """Jobs that an operation has changed, and its new submissions."""

    jobs: Collection[int]
    submissions: tuple[str, ...] = ()


class JobOperation(Struct, frozen=True):
    """Operation on jobs. ``refusal`` returns why a job must stay as it is, or None. ``apply`` changes the others."""

    refusal: Callable[[ListedJob], str | None]
    apply: Callable[[Sequence[ListedJob]], Changed]


def retrying(client: Client) -> JobOperation:
    """Return the retry of unsuccessful jobs (``actors.planner.retries``)."""
    return JobOperation(_not_retried, lambda jobs: _retry(client, jobs))


def cancelling(client: Client, ask: Ask[list[int]]) -> JobOperation:
    """Return the cancellation of jobs, even if several submissions request them. Sagas that have begun are undone
    first."""

    def apply(jobs: Sequence[ListedJob]) -> Changed:
        ended = client.cancel_jobs([job.name for job in jobs])
        undone = ask(lambda tx: saga_details.aborting(tx, [job.id for job in jobs]))
        return Changed({*ended, *undone})

    return JobOperation(_not_cancelled, apply)


def archiving(ledger: Ledger) -> JobOperation:
    """Return the archiving of finished jobs that must be collected."""

    def apply(jobs: Sequence[ListedJob]) -> Changed:
        names = [job.name for job in jobs]
        return Changed(ledger.transact(lambda tx: managed_tasks.archive_named(tx, names)))

    return JobOperation(_not_archived, apply)


def preview_of(operation: JobOperation) -> JobOperation:
    """Return the operation without its effect. All jobs that it would not refuse count as changed."""
    return replace(operation, apply=lambda jobs: Changed([job.id for job in jobs]))


def in_batches(
    ask: Ask[list[ListedJob]], wanted: JobFilter, operation: Callable[[], JobOperation]
) -> Iterator[SelectionResult]:
    """Yield the result of each batch. ``operation`` is called for each, because each is an act of its own."""
    batch = one_batch(ask, wanted, operation())
    yield batch
    while batch.before is not None:
        batch = one_batch(ask, wanted, operation(), before=batch.before)
        yield batch


def one_batch(
    ask: Ask[list[ListedJob]],
    wanted: JobFilter,
    operation: JobOperation,
    *,
    before: int | None = None,
    limit: int | None = None,
) -> SelectionResult:
    """Apply the operation to the newest of the selected jobs, or to those that follow ``before``."""
    limit = limit or BATCH
    jobs = ask(lambda tx: job_lists.selected(tx, wanted, before=before, limit=limit))
    refusals = {job.id: why for job in jobs if (why := operation.refusal(job)) is not None}
    eligible = [job for job in jobs if job.id not in refusals]
    changed = operation.apply(eligible) if eligible else Changed(())
    done = {*changed.jobs}
    refused = Counter(refusals.values()) + Counter(_MOVED_ON for job in eligible if job.id not in done)
    return SelectionResult(
        selected=len(jobs),
        changed=sum(job.id in done for job in eligible),
        refused=refused,
        first=tuple(job.name for job in eligible if job.id in done)[:NAMED_MAX],
        submissions=changed.submissions,
        before=jobs[-1].id if len(jobs) == limit else None,
    )


def _not_retried(job: ListedJob) -> str | None:
    if job.state in UNSUCCESSFUL:
        return None
    if job.state not in TERMINAL:
        return f"{job.state}: only finished jobs can be run again"
    if job.state is State.SPLIT:
        return f"{job.state}: its halves run in its place"
    return f"{job.state}: only unsuccessful jobs are run again"


def _not_cancelled(job: ListedJob) -> str | None:
    if job.state in STOPPABLE:
        return None
    if job.state in TERMINAL:
        return f"{job.state}: it has ended"
    return f"{job.state}: it cannot be cancelled"


def _not_archived(job: ListedJob) -> str | None:
    if job.uncollected:
        return None
    if job.state not in TERMINAL:
        return f"{job.state}: only finished jobs can be archived"
    if job.archived_at is not None:
        return "it is already archived"
    return f"{job.state}: it does not need to be collected"


def _retry(client: Client, jobs: Sequence[ListedJob]) -> Changed:
    """Submit the retry of these jobs: by app, and each job that makes partitions by itself."""
    by_app = sorted((job.app, job.key) for job in jobs if job.output_table is None)
    wanted = [
        Submission(app=app, keys=tuple(keys), rerun="alone", push="wanted")
        for app, named in groupby(by_app, lambda each: each[0])
        for keys in divided([key for _, key in named])
    ]
    wanted += [Submission(app=job.app, key=job.key) for job in jobs if job.output_table is not None]
    submitted = client.submit_many(wanted)
    return Changed([job.id for job in jobs], tuple(submitted))
