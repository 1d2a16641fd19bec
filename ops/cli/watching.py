"""Progress of a submission until its end: bars on a terminal, occasional lines otherwise."""

import time
from collections.abc import Iterator

from sluice.broker.messages import PLANNER
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import SubmissionState
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads.submission_progress import Course, course, work
from sluice.ops.cli.bars import Bars
from sluice.ops.cli.desk import CommandDesk
from sluice.ops.cli.exits import DONE, FAILED, INTERRUPTED, REFUSED
from sluice.ops.cli.page import Line
from sluice.ops.cli.result import as_document, in_words, obstacle, summary
from sluice.ops.desk.installation import Installation

#: Maximum share of the time that polls take, however many jobs have to be counted.
LOOK_SHARE = 0.1
LOOK_EVERY_S = 0.1
#: Seconds between two lines of progress without a terminal. A line is written only if the progress has changed.
SAY_EVERY_S = 10.0

_CODES = {SubmissionState.SUCCEEDED: DONE, SubmissionState.REFUSED: REFUSED}


def watch(desk: CommandDesk, installation: Installation, submission: str) -> int:
    """Show the progress of a submission and its outcome. Return the exit code for the shell."""
    looks = _looks(installation, submission)
    try:
        last = _with_bars(desk, looks) if desk.output.is_interactive else _with_lines(desk, looks)
    except KeyboardInterrupt:
        return _interrupted(desk, installation, submission)
    took = installation.ask(lambda tx: work(tx, last.status.number))
    desk.output.answer(as_document(last), *summary(last, took))
    return _CODES.get(last.status.state, FAILED)


def _looks(installation: Installation, submission: str) -> Iterator[Course]:
    """Poll the submission until it has ended. The last value is its end."""
    while True:
        began = time.monotonic()
        now = installation.ask(lambda tx: _look(tx, submission))
        yield now
        if not now.status.is_open:
            return
        time.sleep(max(LOOK_EVERY_S, (time.monotonic() - began) / LOOK_SHARE))


def _look(tx: Tx, submission: str) -> Course:
    found = course(tx, submission, planner_queue=PLANNER)
    if found is None:
        raise BadRequest(f"Submission {submission} is no longer in the ledger.")
    return found


def _with_bars(desk: CommandDesk, looks: Iterator[Course]) -> Course:
    ranks = {name: desk.catalogue.rank(name) for name in desk.catalogue} if desk.settings.apps else {}
    with Bars(ranks) as bars:
        for now in looks:
            bars.show(now)
    return now


def _with_lines(desk: CommandDesk, looks: Iterator[Course]) -> Course:
    said, said_at = "", time.monotonic()
    for now in looks:
        is_time = time.monotonic() - said_at > SAY_EVERY_S
        what = obstacle(now) or (in_words(now.counts) if is_time else "")
        if what and what != said:
            desk.output.note(Line(what))
            said, said_at = what, time.monotonic()
    return now


def _interrupted(desk: CommandDesk, installation: Installation, submission: str) -> int:
    """Report the interruption. Nothing is lost: running jobs are handed back by their workers, and the submission
    stays.
    """
    now = installation.ask(lambda tx: _look(tx, submission))
    desk.output.note(
        Line(f"Interrupted. Submission {submission} is kept, and its unfinished jobs will run later."),
        Line(
            f"Continue it with `sluice up --drain`, or stop it with `sluice cancel {submission}`.", indent=2
        ),
    )
    if desk.output.as_json:
        desk.output.answer({**as_document(now), "interrupted": True})
    return INTERRUPTED
