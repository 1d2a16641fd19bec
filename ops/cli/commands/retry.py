"""``sluice retry``: run again what has ended: one job, or what of a submission did not end well.

It is a submission like any other, so that the jobs are wanted by somebody and can be cancelled. Of partitions, what is
there stays: the rest is planned anew, and may be cut into other steps.
"""

import argparse
from collections.abc import Sequence

from msgspec.structs import replace

from jobs.errors import BadRequest
from jobs.states import State
from jobs.submission import COMPENSATION, Rerun, Submission, SubmissionState
from ledger.reads import reruns
from ledger.reads.reruns import Asked, Ran
from ledger.requests import read
from ops.cli.command import Options
from ops.cli.commands.submit import ask
from ops.cli.desk import CommandDesk
from ops.cli.exits import DONE, FAILED
from ops.cli.page import Line, Table
from ops.cli.same_code import require_same_code
from ops.desk.again import again, ended_job
from ops.desk.installation import Installation

_GOES_ON = (
    "{} could not be undone: that is tried again, as by `sluice saga retry-undo`, and no step is done anew."
)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="SUBMISSION | APP", help="a submission's id, or an app")
    parser.add_argument("key", nargs="?", metavar="KEY", help="with an app: the one job to run again")
    parser.add_argument("--downstream", action="store_true", help="and everything after it")
    parser.add_argument("--same-code", action="store_true", help="only by the code that it ran by")
    parser.add_argument("--force", action="store_true", help="with --same-code: whatever the code is")
    parser.add_argument("--wait", action="store_true", help="until it has ended")


def run(desk: CommandDesk, options: Options) -> int:
    installation = Installation(desk)
    rerun: Rerun = "downstream" if options.downstream else "job"
    if options.key is None:
        found, wanted = _of_submission(installation, options.target, rerun)
    else:
        job = ended_job(desk, installation, options.target, options.key)
        if job.state is State.FATAL:
            desk.output.note(Line(_GOES_ON.format(job.name)))
        found, wanted = [job], again([job], rerun)
    if options.same_code and not options.force:
        require_same_code(desk, found)
    first, *more = wanted
    if not more:
        return ask(desk, installation, first, wait=options.wait)
    return _ask_all(desk, installation, [first, *more], wait=options.wait)


def _missing(asked: Asked, rerun: Rerun) -> list[Submission]:
    """The same again, of which what is there stays as it is."""
    if asked.state is SubmissionState.SUCCEEDED:
        return []
    if rerun == "downstream":
        raise BadRequest(
            "The submission is about partitions: what is missing of them is made, and no more.",
            advice="To make them anew, and what is made from them, submit them with --rerun downstream.",
        )
    submission, reason = read(asked.body)
    if submission is None:
        raise BadRequest(reason)
    return [replace(submission, id=None, rerun=None)]


def _ask_all(
    desk: CommandDesk, installation: Installation, wanted: Sequence[Submission], *, wait: bool
) -> int:
    client = installation.client
    ids = client.submit_many(wanted)
    states = [client.wait(id_).state if wait else SubmissionState.RECEIVED for id_ in ids]
    rows = list(zip(ids, (each.app for each in wanted), states, strict=True))
    document = [{"submission": id_, "app": app, "state": state} for id_, app, state in rows]
    desk.output.answer({"submissions": document}, Table(("submission", "asks for", "state"), rows))
    good = {SubmissionState.RECEIVED, SubmissionState.SUCCEEDED}
    return DONE if good.issuperset(states) else FAILED


def _of_submission(installation: Installation, id_: str, rerun: Rerun) -> tuple[list[Ran], list[Submission]]:
    """What of it did not end well, and what asks for that again. BadRequest where it has not ended, or nothing has to
    be run again."""
    asked = installation.ask(lambda tx: reruns.asked(tx, id_))
    if asked is None:
        raise BadRequest(
            f"There is no submission {id_}.",
            advice="`sluice submissions` lists what there is; for one job give its app and its key.",
        )
    if asked.is_open:
        raise BadRequest(
            f"Submission {id_} is {asked.state}; only what has ended can be run again.",
            advice=f"`sluice submissions {id_}` says how far it is.",
        )
    undoing = installation.ask(lambda tx: reruns.asked(tx, f"{id_}{COMPENSATION}"))
    if undoing and undoing.is_open:
        raise BadRequest(
            f"What submission {id_} has done is being undone; only then it can be run again.",
            advice=f"`sluice submissions {id_}{COMPENSATION}` says how far that is.",
        )
    found = installation.ask(lambda tx: reruns.of_submission(tx, id_))
    wanted = _missing(asked, rerun) if asked.of_partitions else again(found, rerun, asked.mode)
    if not wanted:
        raise BadRequest(f"Submission {id_} is {asked.state}: nothing of it has to be run again.")
    return found, wanted
