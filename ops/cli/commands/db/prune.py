"""Command ``sluice db prune``: remove the history of jobs that ended long ago. Their outcomes stay, and so does all
data that plans need. With ``--jobs-older-than`` or SLUICE_KEEP_JOBS, jobs that are older than that are removed, too.
With SLUICE_KEEP_HISTORY and SLUICE_KEEP_JOBS the groomer does the same in small steps.
"""

import argparse

from sluice.actors.assembly import blobs
from sluice.actors.groomer.retention import SweepResult, preview, prune
from sluice.actors.settings.settings import keep_s
from sluice.jobs.blobs import BlobsUnavailable
from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.output import yes_option
from sluice.ops.cli.page import Paragraph, Table
from sluice.ops.operations.installation import Installation
from sluice.ops.text import span


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than",
        metavar="AGE",
        help="remove history older than this, like 30d; default: SLUICE_KEEP_HISTORY",
    )
    parser.add_argument(
        "--jobs-older-than",
        metavar="AGE",
        help="also remove jobs and submissions older than this, like 365d; default: SLUICE_KEEP_JOBS",
    )
    yes_option(parser)
    parser.add_argument("--dry-run", action="store_true", help="count the rows to remove, and change nothing")
    parser.add_argument(
        "--orphans",
        action="store_true",
        help="also remove blobs that no round uses; only if no other ledger uses the same store",
    )


def run(context: CommandContext, options: Options) -> int:
    keep = _keep_s(context, options.older_than)
    keep_jobs = context.settings.keep_jobs_s
    if options.jobs_older_than is not None:
        keep_jobs = _age_s("--jobs-older-than", options.jobs_older_than)
    if not options.dry_run:
        context.confirm(
            f"Remove the history of jobs that ended more than {span(keep)} ago?", is_confirmed=options.yes
        )
    installation, store = Installation(context), blobs(context.settings)
    try:
        swept = (preview if options.dry_run else prune)(
            installation.ledger, store, keep_s=keep, keep_jobs_s=keep_jobs, orphans=options.orphans
        )
    except BlobsUnavailable as error:
        error.advice = "Everything else is removed; the next `sluice db prune` continues with the blobs."
        raise
    removed = {name: getattr(swept.removed, name) for name in swept.removed.__struct_fields__}
    counts = removed | {"blobs": swept.blobs} | ({"orphans": swept.orphans} if options.orphans else {})
    if any(counts.values()) and not options.dry_run:
        about = {"older_than_s": keep, "jobs_older_than_s": keep_jobs}
        installation.record_act("db prune", about, counts)
    document = {"older_than_s": keep, "dry_run": options.dry_run, "removed": counts}
    context.output.answer(document, Paragraph(_sentence(swept, keep, dry=options.dry_run)), _table(counts))
    return DONE


def _keep_s(context: CommandContext, text: str | None) -> float:
    if text is None:
        if context.settings.keep_history_s is None:
            raise BadRequest(
                "SLUICE_KEEP_HISTORY is off: everything is kept.",
                advice="Set the age, for example `sluice db prune --older-than 30d`.",
            )
        return context.settings.keep_history_s
    return _age_s("--older-than", text)


def _age_s(option: str, text: str) -> float:
    try:
        keep = keep_s(text)
    except ValueError as error:
        raise BadRequest(f"{option}: {error}.", advice=f"For example {option} 30d") from None
    if keep is None:
        raise BadRequest(f"{option} off would remove nothing.", advice=f"For example {option} 30d")
    return keep


def _sentence(swept: SweepResult, keep: float, *, dry: bool) -> str:
    count = swept.removed.jobs
    jobs = "1 job" if count == 1 else f"{count} jobs"
    verb = "would be removed" if dry else "was removed"
    return f"The history of {jobs} that ended more than {span(keep)} ago {verb}."


def _table(counts: dict[str, int]) -> Table:
    return Table(
        ("what", "removed"), [(name, count) for name, count in counts.items() if name != "jobs" and count]
    )
