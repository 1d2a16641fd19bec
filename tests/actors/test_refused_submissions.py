"""Refusals by the planner. Each is counted in its own transaction, and logged once after it."""

import msgspec
import pytest
from msgspec import Raw

from sluice.actors.planner import handlers
from sluice.broker.messages import Plan, Submit, SubmitMany
from sluice.jobs.model.request_limits import DEPTH_MAX, ID_LENGTH_MAX
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.lifecycle import submissions
from sluice.ledger.reads import submission_progress
from sluice.ledger.stats.event_counters import CounterName, happened
from tests.world import World, catalogue_of

APPS = {"a": {"job_id": "{x}", "bash_cmd": "true"}}


def refusals(world: World) -> int:
    return world.ledger.transact(happened).get((CounterName.SUBMISSION_REFUSED, ""), 0)


def test_a_submission_for_an_unknown_app_is_planned_once_the_app_is_defined(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    submission = world.submit("a", "1")
    assert world.reason(submission) == "Its app is not defined yet."
    world.tick(after_s=50)
    assert world.submission(submission) is SubmissionState.RECEIVED
    world.define(APPS)
    world.tick(after_s=3)
    assert (world.submission(submission), world.reason(submission)) == (SubmissionState.ACTIVE, "")
    assert (refusals(world), caplog.records) == (0, [])


def test_a_submission_for_an_unknown_app_is_refused_after_the_grace_time(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.define(APPS)
    submission = world.submit("aa", "1")
    world.tick(after_s=59)
    assert world.submission(submission) is SubmissionState.RECEIVED
    world.tick(after_s=2)
    assert world.submission(submission) is SubmissionState.REFUSED
    assert "no app 'aa' (did you mean a?)" in world.reason(submission)
    assert refusals(world) == 1
    (logged,) = caplog.records
    assert submission in logged.getMessage()
    assert "no app 'aa'" in logged.getMessage()
    world.tick(after_s=60)
    assert (refusals(world), len(caplog.records)) == (1, 1)


def test_without_a_grace_time_an_unknown_app_is_refused_immediately(world: World) -> None:
    catalogue = catalogue_of(APPS)
    catalogue.unknown_app_grace_s = 0.0
    world.catalogue = catalogue
    assert world.submission(world.submit("b", "1")) is SubmissionState.REFUSED


def test_an_unknown_app_of_any_length_is_refused(world: World) -> None:
    world.define(APPS)
    name = "".join(f"ä{number}" for number in range(2000))
    submission = world.submit(name, "1")
    world.tick(after_s=61)
    assert world.submission(submission) is SubmissionState.REFUSED


def test_submissions_for_unknown_apps_do_not_delay_others_in_the_groomer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.actors.groomer.ticks.LIMIT", 3)
    world.define(APPS)
    for number in range(9):
        world.submit("b", str(number))
    many = tuple(str(number) for number in range(submissions.FEW_KEYS + 1))
    lost = Submission(app="a", keys=many, id="lost")
    world.ledger.transact(lambda tx: submissions.receive(tx, [lost]))
    for _ in range(6):
        world.tick(after_s=2.5)
    assert world.submission("lost") is SubmissionState.ACTIVE


def test_a_refusal_in_a_failed_transaction_is_neither_counted_nor_logged(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world.define({"a": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    refuse = submissions.refuse

    def refuse_and_die(tx: Tx, number: int, reason: str) -> None:
        refuse(tx, number, reason)
        raise KeyboardInterrupt

    monkeypatch.setattr(submissions, "refuse", refuse_and_die)
    with pytest.raises(KeyboardInterrupt):
        world.submit("a", "none", id="x")
    assert (refusals(world), caplog.records) == (0, [])
    monkeypatch.undo()
    world.queue.append(Plan(submissions=("x",)))
    world.deliver()
    assert (refusals(world), len(caplog.records)) == (1, 1)


def test_a_logged_reason_contains_no_line_breaks(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.define(APPS)
    world.submit("a", "1", id="x\nERROR", policy={"max\nfails": 1})
    (logged,) = caplog.records
    assert "\n" not in logged.getMessage()


def deep(levels: int) -> bytes:
    inside = levels - 1
    return b'{"app": "a", "key": "1", "kwargs": ' + b'{"x": ' * inside + b"1" + b"}" * inside + b"}"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (deep(DEPTH_MAX + 1), "deeper than 64 levels"),
        (b'{"app": "a", "key": "1", "kwargs": {"x": 1' + b"0" * 400 + b"}}", "308 digits"),
        (b'{"app": "a", "key": "1", "kwargs": {"x": "' + b"y" * 1_048_576 + b'"}}', "bytes"),
        (b'{"app": "a", "key": "1", "kwargs": {"x": "' + b"y" * 65_536 + b'"}}', "kwargs have"),
        (b'{"app": "a", "key": "1", "id": "' + b"y" * 201 + b'"}', "id has 1 to 200 characters"),
        (b"[]", "Expected `object`"),
    ],
)
def test_a_faulty_row_of_a_message_is_refused_alone(world: World, row: bytes, reason: str) -> None:
    world.define(APPS)
    rows = (Raw(b'{"app": "a", "key": "good"}'), Raw(row), Raw(b'{"app": "a", "key": "too"}'))
    world.queue.append(SubmitMany(submissions=rows, id="m"))
    world.deliver()
    assert world.states() == {"a/good": State.READY, "a/too": State.READY}
    assert reason in world.reason("m/1")
    assert refusals(world) == 1


def test_rows_of_a_message_with_the_longest_id_are_admitted_or_refused_once(world: World) -> None:
    world.define(APPS)
    rows = (Raw(b'{"app": "a", "key": "good"}'), Raw(b'{"app": "a", "kee": "1"}'))
    for _ in range(2):
        world.queue.append(SubmitMany(submissions=rows, id="m" * ID_LENGTH_MAX))
        world.deliver()
    known = world.ledger.transact(lambda tx: submission_progress.recent(tx, 10))
    assert sorted(each.state for each in known) == [SubmissionState.ACTIVE, SubmissionState.REFUSED]


def test_a_submission_with_the_longest_compensation_id_is_refused(world: World) -> None:
    world.define(APPS)
    id_ = "m" * (ID_LENGTH_MAX - len("/compensation")) + "/compensation"
    message = Submit(id=id_, submission=Raw(msgspec.json.encode({"app": "a", "key": "1"})))
    assert handlers.submit(world.ledger, world.catalogue, message) == []
    assert refusals(world) == 1
