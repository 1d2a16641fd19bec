"""Command ``sluice retry``: run an ended job again, or the unsuccessful jobs of a submission.

A job is run again by a new submission. A submission is opened again: it keeps its jobs, and succeeds when they do. If
it is about partitions, the missing partitions are planned again, and may be divided into other jobs.
"""

import argparse

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import Rerun, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.reads import submission_progress
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandDesk
from sluice.ops.cli.commands.submissions.submit import ask
from sluice.ops.cli.follow import watch
from sluice.ops.cli.page import Line
from sluice.ops.cli.submission_checks import require_same_code
from sluice.ops.operations.installation import Installation
from sluice.ops.operations.rerun import again, ended_job

_GOES_ON = (
    "{} could not be undone: the undo is retried, as by `sluice saga retry-undo`, and no step is done again."
)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="SUBMISSION | APP", help="a submission's id, or an app")
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
    parser.add_argument("--wait", action="store_true", help="wait for the end and show the progress")


def run(desk: CommandDesk, options: Options) -> int:
    installation = Installation(desk)
    if options.key is None:
        return _submission(desk, installation, options)
    rerun: Rerun = "downstream" if options.downstream else "job"
    job = ended_job(desk, installation, options.target, options.key)
    if job.state is State.FATAL:
        desk.output.note(Line(_GOES_ON.format(job.name)))
    if options.same_code and not options.force:
        require_same_code(desk, [job])
    return ask(desk, installation, again(job, rerun), wait=options.wait)


def _submission(desk: CommandDesk, installation: Installation, options: Options) -> int:
    id_: str = options.target
    if options.downstream:
        raise BadRequest(
            "--downstream is for one job, not for a submission.",
            advice="`sluice retry APP KEY --downstream` runs a job and all jobs after it again. To"
            " make partitions and the partitions made from them again, submit them with --rerun downstream.",
        )
    if options.same_code and not options.force:
        require_same_code(desk, installation.ask(lambda tx: submission_progress.of_submission(tx, id_)))
    installation.client.retry(id_)
    if options.wait:
        return watch(desk, installation, id_)
    desk.output.answer({"submission": id_, "state": SubmissionState.RECEIVED}, Line(id_))
    return DONE
