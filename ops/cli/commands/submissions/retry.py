"""Command ``sluice retry``: run an ended job again, or the unsuccessful jobs of a submission or of a selection.

A job is run again by a new submission. A submission is opened again: it keeps its jobs, and succeeds when they do. If
it is about partitions, the missing partitions are planned again, and may be divided into other jobs. Selected jobs run
again within the failed submissions that requested them.
"""

import argparse
from collections.abc import Iterable
from functools import partial

from sluice.actors import audit_results
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import Rerun, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.reads import submission_progress
from sluice.ledger.reads.submission_progress import Ran
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.commands.submissions.submit import ask
from sluice.ops.cli.follow import watch
from sluice.ops.cli.page import Paragraph
from sluice.ops.cli.selection import carry_out, is_selection, name_target, selection_options
from sluice.ops.cli.submission_options import is_waiting, wait_options
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.rerun import again, ended_job
from sluice.ops.operations.selected_jobs import JobOperation, retrying

_GOES_ON = (
    "{} could not be undone: the undo is retried, as by `sluice saga retry-undo`, and no step is done again."
)

#: Maximum number of jobs with different code that the error names.
NAMED_MAX = 3


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="SUBMISSION | APP", help="a submission's id, an app, or APP/KEY"
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="with an app: the one job to run again")
    parser.add_argument(
        "--downstream", action="store_true", help="with an app: also run all jobs after it again"
    )
    parser.add_argument(
        "--same-code", action="store_true", help="refuse if the code has changed since the last run"
    )
    parser.add_argument(
        "--force", action="store_true", help="with --same-code: run even if the code has changed"
    )
    wait_options(parser)
    selection_options(parser)


def run(context: CommandContext, options: Options) -> int:
    installation = Installation(context)
    name_target(installation, options)
    others = (options.key, options.downstream, options.same_code, options.force, is_waiting(options))
    if is_selection(options, options.target, *others):
        return carry_out(context, installation, options, partial(_retrying, installation), "run again")
    if options.key is None:
        return _submission(context, installation, options)
    rerun: Rerun = "downstream" if options.downstream else "job"
    job = ended_job(context, installation, options.target, options.key)
    if job.state is State.FATAL:
        context.output.note(Paragraph(_GOES_ON.format(job.name)))
    if options.same_code and not options.force:
        _require_same_code(context, [job])
    return ask(context, installation, again(job, rerun), options, did="retry")


def _retrying(installation: Installation, where: str) -> JobOperation:
    return retrying(installation.doing("retry", {"where": where}, audit_results.submitted))


def _submission(context: CommandContext, installation: Installation, options: Options) -> int:
    id_: str = options.target
    if options.downstream:
        raise BadRequest(
            "--downstream is for one job, not for a submission.",
            advice="`sluice retry APP KEY --downstream` runs a job and all jobs after it again. To"
            " make partitions and the partitions made from them again, submit them with --rerun downstream.",
        )
    if options.same_code and not options.force:
        _require_same_code(context, installation.ask(lambda tx: submission_progress.of_submission(tx, id_)))
    installation.doing("retry", {"submission": id_}, audit_results.retried).retry(id_)
    if is_waiting(options):
        return watch(context, installation, id_, options.wait_timeout)
    context.output.answer({"submission": id_, "state": SubmissionState.RECEIVED}, Paragraph(id_))
    return DONE


def _require_same_code(context: CommandContext, jobs: Iterable[Ran]) -> None:
    """Raise BadRequest if the local definitions or checkout differ from the last run. The check is only valid for this
    machine, because workers elsewhere may have loaded other code.
    """
    others = [f"{job.name}: {reason}" for job in jobs if (reason := _difference(context, job))]
    if others:
        more = f"; and {len(others) - NAMED_MAX} more" if len(others) > NAMED_MAX else ""
        raise BadRequest(
            f"The code has changed. {'; '.join(others[:NAMED_MAX])}{more}.",
            advice="Check the old version out and restart the workers, or add --force.",
        )


def _difference(context: CommandContext, job: Ran) -> str:
    """Return the difference. Empty for a job that never ran, or without a known difference."""
    if job.is_pruned:
        return "its history was removed, including the version of its code"
    if job.digest is None:
        return ""
    if job.app not in context.catalogue:
        return f"the app {job.app} no longer exists"
    if job.digest != context.catalogue[job.app].digest:
        return f"the definition of {job.app} has changed since it ran"
    now = context.settings.code_version
    if job.code and now and job.code != now:
        return f"it ran with code {job.code}, and the current code is {now}"
    return ""
