"""Ids of the submissions of schedules. They are predictable, so other submissions must not take them."""

import psycopg
import pytest

from sluice.actors.client import Client
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from tests.timed import Timed

_FORETOLD = """SELECT sluice.submit('{"app": "a", "key": "1", "id": "schedule:s:2026-01-01T13:00:00Z"}')"""


def test_a_submission_cannot_take_the_id_of_a_due_time(timed: Timed) -> None:
    timed.edit(s={})
    timed.look("12:30:00")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="reserved"):
        timed.ledger.transact(lambda tx: tx.rows(_FORETOLD))
    timed.look("13:00:01")
    assert timed.submissions() == ["schedule:s:2026-01-01T13:00:00Z"]
    assert timed.state("a/20260101130000") is State.READY


def test_a_submission_with_the_id_of_a_schedule_is_refused(timed: Timed) -> None:
    timed.edit(s={})
    timed.submit("a", "1", id="schedule:s:2026-01-01T13:00:00Z")
    assert timed.submission("refused/schedule:s:2026-01-01T13:00:00Z") is SubmissionState.REFUSED
    with pytest.raises(BadRequest, match="Choose another id"):
        Client(timed.ledger, timed.queue.extend).submit(Submission(app="a", key="3", id="schedule:s:x"))
