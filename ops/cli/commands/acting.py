"""Commands that change what is to happen: submit, cancel, retry."""

import argparse

from jobs.errors import BadRequest
from jobs.ref import JobName
from jobs.submission import Submission, SubmissionState
from ops.cli.asking import submission_of, submission_options
from ops.cli.command import Command, Options
from ops.cli.desk import Desk
from ops.cli.naming import job_options, named_job
from ops.cli.watching import report, watch


def submit(desk: Desk, options: Options) -> int:
    return _submit(desk, submission_of(options), wait=options.wait)


def retry(desk: Desk, options: Options) -> int:
    """A retry is a submission like any other, so that it is wanted by somebody and can be cancelled."""
    name = named_job(desk, options)
    rerun = "downstream" if options.downstream else "job"
    return _submit(desk, Submission(app=name.app, key=name.key, rerun=rerun), wait=options.wait)


def cancel(desk: Desk, options: Options) -> int:
    if options.key is None:
        stopped = desk.client.cancel(options.submission)
    else:
        stopped = desk.client.cancel_job(JobName(options.submission, options.key))
        if not stopped:
            raise BadRequest(f"{options.submission}/{options.key} has nothing left to cancel.")
    if desk.output.as_json:
        desk.output.document({"cancelled": len(stopped)})
    else:
        desk.output.line(f"Cancelled; {len(stopped)} jobs stop that nobody else wants.")
    return 0


def _submit(desk: Desk, submission: Submission, *, wait: bool) -> int:
    if desk.settings.apps:
        desk.check(submission)
    id_ = desk.client.submit(submission)
    if wait:
        return report(desk, watch(desk, id_))
    if desk.output.as_json:
        desk.output.document({"submission": id_, "state": SubmissionState.RECEIVED})
    else:
        desk.output.line(id_)
    return 0


def _submit_options(parser: argparse.ArgumentParser) -> None:
    submission_options(parser)
    parser.add_argument("--wait", action="store_true", help="until it has ended, showing how far it is")


def _retry_options(parser: argparse.ArgumentParser) -> None:
    job_options(parser)
    parser.add_argument("--downstream", action="store_true", help="and everything after it")
    parser.add_argument("--wait", action="store_true", help="until it has ended")


def _cancel_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("submission", metavar="SUBMISSION | APP", help="a submission's id, or an app")
    parser.add_argument("key", nargs="?", help="with an app: the one job to stop")


COMMANDS = (
    Command(word="submit", help="ask for jobs", run=submit, options=_submit_options),
    Command(word="cancel", help="stop a submission, or one job", run=cancel, options=_cancel_options),
    Command(word="retry", help="run a job again that has ended", run=retry, options=_retry_options),
)
