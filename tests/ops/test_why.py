"""Explanations of a job's state: the answer for each state, and the facts that the ledger supplies."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from sluice.broker.messages import CONTROL
from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.lifecycle import submissions
from sluice.ledger.reads.fleet import QueueWorkers
from sluice.ledger.reads.job_details import JobRow
from sluice.ledger.reads.obstacles import (
    Lease,
    Obstacles,
    Pieces,
    UnmetAlternative,
    UnmetDependency,
    obstacles,
)
from sluice.ledger.reads.requesters import Unplanned
from sluice.ops.why.answer import Explanation
from sluice.ops.why.explain import explain
from tests.world import World

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOB = JobRow(
    id=1,
    app="b",
    key="1",
    state=State.WAITING,
    round=0,
    claim=0,
    fails=0,
    timeouts=0,
    losses=0,
    priority=0,
    unblocked=True,
    not_before=None,
    end_before=None,
    attempt_timeout_at=None,
    created_at=NOW,
    changed_at=NOW,
    dispatched_at=NOW,
    worker=None,
    event=None,
)
LEASE = Lease("here", 7, NOW, stands=True)
LOST = Lease("here", 7, NOW, stands=False)
OPEN = UnmetDependency("default", "a", "1", State.RUNNING, NOW, "succeeded", impossible=False)
UNASKED = UnmetDependency("default", "a", "1", State.EXPECTED, NOW, "succeeded", impossible=False)
DEAD = UnmetDependency("default", "a", "1", State.FAILED, NOW, "succeeded", impossible=True)
IN_AN_HOUR = NOW + timedelta(hours=1)


def waits_for(*parents: UnmetDependency) -> dict[str, Any]:
    """Return the facts about a job with one alternative that lacks these parents."""
    states = {parent.state: 1 for parent in parents}
    return {"unmet": [*parents], "alternatives": [UnmetAlternative("default", len(parents), 0, states)]}


def answer(facts: dict[str, Any], **job: Any) -> Explanation:
    known = Obstacles(now=NOW, job=msgspec.structs.replace(JOB, **job))
    return explain(JobName("b", "1"), msgspec.structs.replace(known, **facts))


#: Fields of the job and facts about it. Then the reason, the first entry of ``waits_for``, and the first remedy.
CASES: list[tuple[dict[str, Any], dict[str, Any], str, str, str]] = [
    (
        {"state": State.EXPECTED},
        {},
        "is needed by a child, but no submission has requested it",
        "",
        "sluice submit b 1",
    ),
    ({}, {}, "may run and is about to become ready", "the groomer's next tick", ""),
    ({}, {"unserved": ["groomer"]}, "may run", "the groomer's next tick", "sluice up"),
    (
        {"unblocked": False},
        waits_for(OPEN),
        "waits for 1 parent, which is running",
        "a/1, which is running",
        "sluice why a 1",
    ),
    (
        {"unblocked": False},
        waits_for(UNASKED),
        "waits for 1 parent, which no submission has requested",
        "a/1, which no submission has requested",
        "sluice submit a 1",
    ),
    ({"not_before": IN_AN_HOUR}, {}, "waits until it is due", "2026-01-01 13:00:00 UTC", ""),
    (
        {"not_before": IN_AN_HOUR, "round": 2},
        {"last_error": "ValueError: no\n\nTraceback …"},
        "waits to be tried again, in round 2, after: ValueError: no",
        "2026-01-01 13:00:00 UTC",
        "",
    ),
    (
        {"state": State.READY},
        {"crew": QueueWorkers(workers=2, threads=8, busy=7)},
        "is ready to run, and a thread is free",
        "a worker on queue b to take it",
        "",
    ),
    (
        {"state": State.READY, "dispatched_at": NOW - timedelta(minutes=2)},
        {"crew": QueueWorkers(workers=2, threads=8, busy=7)},
        "is ready to run, and a thread is free",
        "a worker on queue b to take it",
        "sluice workers",
    ),
    (
        {"state": State.READY},
        {"crew": QueueWorkers(workers=2, threads=8, busy=8), "ahead": 1001},
        "is ready to run, but all 8 threads on its queue are busy",
        "more than 1000 jobs of b before it",
        "sluice worker --queues b",
    ),
    (
        {"state": State.READY},
        {},
        "is ready to run, but no worker serves its queue",
        "a worker on queue b",
        "sluice up",
    ),
    (
        {"state": State.RUNNING},
        {"lease": LEASE},
        "is running on here:7 in round 0",
        "",
        "sluice logs --follow b 1",
    ),
    (
        {"state": State.RUNNING},
        {"lease": LOST},
        "was running on here:7, with an expired lease",
        "the groomer to take it back",
        "",
    ),
    (
        {"state": State.SUSPENDED, "event": "payment"},
        {},
        "is suspended until payment arrives",
        "payment",
        "sluice resume b 1 --event payment",
    ),
    (
        {"state": State.EXECUTED},
        {},
        "has been executed, and its outcome is not decided yet",
        "the planner's decision on its outcome",
        "",
    ),
    ({"state": State.EXECUTED}, {"unserved": ["planner"]}, "has been executed", "the planner's", "sluice up"),
    ({"state": State.SUCCEEDED}, {}, "has succeeded in round 0", "", ""),
    (
        {"state": State.FAILED, "round": 1},
        {"last_error": "exited with 3"},
        "has failed in round 1: exited with 3",
        "",
        "sluice logs b 1",
    ),
    (
        {"state": State.FATAL},
        {},
        "could not be undone in round 0, and its remaining effects must be corrected by hand",
        "",
        "sluice saga show b 1",
    ),
    ({"state": State.TIMED_OUT}, {}, "ran over its timeout in round 0", "", "sluice logs b 1"),
    (
        {"state": State.EXPIRED, "end_before": NOW},
        {},
        "had not finished by its end_before, 2026-01-01 12:00:00 UTC",
        "",
        "sluice submit --rerun job --end-before 2026-01-01T13:00:00Z b 1",
    ),
    ({"state": State.SKIPPED}, {}, "was skipped: it does not pass its app's valid_if_or", "", ""),
    (
        {"state": State.SKIPPED},
        {"unmet": [DEAD]},
        "was skipped, because a/1 is failed",
        "a/1, which is failed",
        "",
    ),
    ({"state": State.CANCELLED}, {}, "was cancelled", "", "sluice submit b 1"),
    (
        {"state": State.SPLIT},
        {"pieces": Pieces({State.SUCCEEDED: 3}), "last_error": "exited with 3"},
        "failed in round 0 and was split: exited with 3; its pieces: 3 succeeded",
        "",
        "",
    ),
    (
        {"state": State.UPSTREAM_FAILED},
        {"unmet": [DEAD]},
        "cannot run, because a/1 is failed",
        "a/1, which is failed",
        "sluice retry b 1",
    ),
]


@pytest.mark.parametrize(("job", "facts", "because", "waits_for", "remedy"), CASES)
def test_each_state_is_explained(
    job: dict[str, Any], facts: dict[str, Any], because: str, waits_for: str, remedy: str
) -> None:
    said = answer(facts, **job)
    assert said.because.startswith(f"b/1 {because}")
    assert next((each.what for each in said.waits_for), "").startswith(waits_for)
    assert bool(said.waits_for) == bool(waits_for)
    assert next((each.command for each in said.remedies), "") == remedy


def test_every_state_has_a_case() -> None:
    assert {job.get("state", State.WAITING) for job, *_ in CASES} == set(State)


def test_a_job_with_an_unplanned_retry_waits_for_the_planner() -> None:
    retry = Unplanned("again", NOW, asks_for_it=True)
    said = answer({"unplanned": [retry]}, state=State.FAILED)
    assert [each.what for each in said.waits_for] == ["submission again to be planned"]


def test_keys_in_commands_are_quoted_for_the_shell() -> None:
    said = answer({}, state=State.CANCELLED, key="it's; rm -rf")
    assert said.remedies[0].command == """sluice submit b 'it'"'"'s; rm -rf'"""


def why(world: World, job: str) -> Explanation:
    app, _, key = job.partition("/")
    name = JobName(app, key or "1")
    return explain(name, world.ledger.transact(lambda tx: obstacles(tx, name, control=CONTROL)))


def test_a_job_without_a_request_is_unknown(world: World) -> None:
    world.apps("a")
    said = why(world, "a")
    assert (said.state, said.waits_for) == (None, ())
    assert said.because == "The ledger has no job a/1: no submission has requested it"
    assert said.remedies[0].command == "sluice submit a 1"


def test_unplanned_submissions_of_a_job_are_named(world: World) -> None:
    world.apps("a")
    wanted = [msgspec.convert(words, submissions.Submission) for words in ASKED]
    world.ledger.transact(lambda tx: submissions.receive(tx, wanted))
    assert [each.what for each in why(world, "a/1").waits_for] == [
        "submission one to be planned",
        "submission many to be planned",
        "submission all to be planned",
    ]
    assert why(world, "a/9").because.endswith("the submission that requests it is not planned yet")


ASKED = [
    {"app": "a", "id": "other", "key": "2"},
    {"app": "a", "id": "one", "key": "1"},
    {"app": "a", "id": "many", "keys": ["0", "1"]},
    {"app": "a", "id": "all"},
    {"app": "b", "id": "foreign", "key": "1"},
]


def test_a_job_waits_for_its_parents_and_then_for_a_worker(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("c")
    said = why(world, "c")
    assert said.because == "c/1 waits for 2 parents: 2 ready"
    assert [(each.app, each.key, each.state) for each in said.waits_for] == [
        ("a", "1", State.READY),
        ("b", "1", State.READY),
    ]
    world.finish("a")
    assert why(world, "c").because == "c/1 waits for 1 parent, which is ready"
    world.finish("b")
    assert why(world, "c").because == "c/1 is ready to run, and a thread is free"
    assert world.claim("c")
    assert why(world, "c").because == "c/1 is running on test:1 in round 0"
    world.now += timedelta(minutes=1)
    assert why(world, "c").because == "c/1 was running on test:1, with an expired lease"


def test_the_failed_job_is_named_however_far_upstream_it_is(world: World) -> None:
    world.apps("a -> b, b -> c, c -> d")
    world.submit("d")
    world.finish("a", Ending.ERROR)
    said = why(world, "d")
    assert said.state is State.UPSTREAM_FAILED
    assert [each.what for each in said.waits_for] == ["a/1, which is failed: it broke"]
    assert [each.command for each in said.remedies] == ["sluice why a 1", "sluice retry d 1"]


def test_a_job_that_waits_for_a_retry_has_its_time_and_error(world: World) -> None:
    world.apps("a", max_fails=1, retry={"rule": "fixed", "seconds": 60})
    world.submit("a")
    world.finish("a", Ending.ERROR)
    said = why(world, "a")
    assert said.because == "a/1 waits to be tried again, in round 1, after: it broke"
    assert said.waits_for[0].kind == "time"
