"""Following a submission to its end: bars on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Iterator

from broker.messages import PLANNER
from jobs.submission import SubmissionState
from ledger.connection import Tx
from ledger.reads.course import Course, course, work
from ops.cli.bars import Bars
from ops.cli.desk import Desk
from ops.cli.exits import DONE, FAILED, INTERRUPTED, REFUSED
from ops.cli.page import Line
from ops.cli.result import as_document, count_words, summary

#: A look takes at most this share of the time, however many jobs there are to count.
LOOK_EVERY_S = 0.1
LOOK_SHARE = 0.1
#: Where there is no terminal, how far it is is said this often.
SAY_EVERY_S = 10.0
#: A submission that is not planned for so long is probably not going to be.
LONELY_S = 3.0

_CODES = {SubmissionState.SUCCEEDED: DONE, SubmissionState.REFUSED: REFUSED}


def watch(desk: Desk, submission: str) -> int:
    """Show the way to its end, and what came of it; the exit code that tells a shell."""
    on_terminal = desk.output.screen.is_terminal and not desk.output.as_json
    looks = _looks(desk, submission)
    try:
        last = _with_bars(desk, looks) if on_terminal else _with_lines(desk, looks)
    except KeyboardInterrupt:
        return _interrupted(desk, submission)
    took = desk.ask(lambda tx: work(tx, last.status.number))
    desk.output.answer(as_document(last), *summary(last, took))
    return _CODES.get(last.status.state, FAILED)


def _looks(desk: Desk, submission: str) -> Iterator[Course]:
    """Look until it has ended; the last one is the end."""
    while True:
        began = time.monotonic()
        now = desk.ask(lambda tx: _course(tx, submission))
        yield now
        if not now.status.is_open:
            return
        time.sleep(max(LOOK_EVERY_S, (time.monotonic() - began) / LOOK_SHARE))


def _course(tx: Tx, submission: str) -> Course:
    found = course(tx, submission, planner_queue=PLANNER)
    assert found is not None, "the submission was taken in before anybody watches it"
    return found


def _with_bars(desk: Desk, looks: Iterator[Course]) -> Course:
    rank = desk.catalogue.rank if desk.settings.apps else lambda _: 0
    with Bars(desk.output.screen, rank) as bars:
        for now in looks:
            bars.show(now)
    return now


def _with_lines(desk: Desk, looks: Iterator[Course]) -> Course:
    said_at = time.monotonic()
    warned = False
    for now in looks:
        if is_lonely(now) and not warned:
            desk.output.note(Line(LONELY, "yellow"))
            warned = True
        if time.monotonic() - said_at > SAY_EVERY_S:
            desk.output.note(Line(count_words(now.counts) or str(now.status.state)))
            said_at = time.monotonic()
    return now
