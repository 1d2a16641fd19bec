"""Plans with the ledger's data. Given facts can replace it (see ``ops.documents.plan_facts``)."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from sluice.actors.branches import branch_of
from sluice.actors.planner.walks import with_outdated
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.work_id_selection import Selected
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.keyspaces import freshness, partitions
from sluice.ledger.stats import runtimes
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.operations.installation import Installation
from sluice.planner.keyspaces.chunks.chunk_plan import Chunked, chunk
from sluice.planner.preview.preview import Preview, preview
from sluice.planner.preview.pushes import chunks_with_pushed, with_pushed
from sluice.planner.preview.table_preview import TablePreview, preview_tables


def known_preview(
    context: CommandContext, submission: Submission, now: datetime | None
) -> tuple[Preview, Mapping[str, float], datetime]:
    """Return the plan, the known seconds per job of each of its apps, and the time for which it was planned. Default of
    the time: the ledger's current time.
    """

    def look(tx: Tx) -> tuple[Preview, Mapping[str, float], datetime]:
        find = partial(_find, tx, context.catalogue)
        past = freshness.FreshnessFacts(tx, now or tx.current_time(), number=0)
        wanted = preview(context.catalogue, submission, find, past.now)
        found = with_pushed(context.catalogue, submission, wanted, find, past)
        return found, runtimes.known_s(tx, sorted({job.name.app for job in found.jobs})), past.now

    return Installation(context).ask(look)


def known_chunks(
    context: CommandContext, submission: Submission, selected: Selected, now: datetime | None
) -> tuple[Chunked, Preview | None, Mapping[str, float], datetime]:
    """Return the plan of a submission about work IDs, its preview if it needs jobs with keys, the known seconds per job
    of each app, and the time of the plan.
    """

    def look(tx: Tx) -> tuple[Chunked, Preview | None, Mapping[str, float], datetime]:
        past = freshness.FreshnessFacts(tx, now or tx.current_time(), number=0)
        handed_on = replace(submission, kwargs=selected.kwargs)
        found = chunk(context.catalogue, handed_on, selected.work_ids, past)
        find = partial(_find, tx, context.catalogue)
        whole = chunks_with_pushed(context.catalogue, handed_on, found, find, past)
        apps = sorted({job.name.app for job in (whole.jobs if whole else found.jobs)})
        return found, whole, runtimes.known_s(tx, apps), past.now

    return Installation(context).ask(look)


def known_branch(context: CommandContext, branch: str) -> Catalogue:
    """Return the definitions of a branch."""
    return Installation(context).ask(lambda tx: branch_of(tx, branch))


def known_tables(
    context: CommandContext, catalogue: Catalogue, submission: Submission, now: datetime | None
) -> tuple[TablePreview, Mapping[str, float], datetime]:
    """Return the plan of a submission that needs partitions by these definitions, the known seconds per job of each
    app, and the time of the plan.
    """

    def look(tx: Tx) -> tuple[TablePreview, Mapping[str, float], datetime]:
        find = partial(_find, tx, catalogue)
        at = now or tx.current_time()
        past = freshness.FreshnessFacts(tx, at, number=0)
        found = preview_tables(catalogue, submission, partitions.LedgerTables(tx), find, past)
        apps = {supply.app.name for supply in found.layout.supplies if supply.app}
        apps.update(job.name.app for job in (found.keyed.jobs if found.keyed else ()))
        return found, runtimes.known_s(tx, sorted(apps)), at

    return Installation(context).ask(look)


def _find(tx: Tx, catalogue: Catalogue, names: list[JobName]) -> Mapping[JobName, KnownJob]:
    return with_outdated(tx, catalogue, known_jobs.find_with_ages(tx, names))
