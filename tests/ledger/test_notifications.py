"""Events of jobs, their receivers and deliveries, in a world with a passed clock."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from sluice.broker.messages import Look
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.notifications import deliveries
from sluice.ledger.notifications.deliveries import (
    ATTEMPTS_MAX,
    GIVE_UP_S,
    LEASE_S,
    DeliveryAttempt,
    DueDelivery,
    RecordedAttempts,
)
from tests.world import World

URL = "https://alerts.example.org/a"
OTHER = "https://alerts.example.org/b"


def rule(*on: str, webhook: str = URL) -> dict[str, Any]:
    return {"on": list(on), "webhook": webhook}


def events(world: World) -> list[tuple[str, str]]:
    """Return the events that the ledger has, each with its job, in their order."""
    sql = """
    SELECT notification.event, job.app || '/' || job.key FROM notification JOIN job ON job.id = notification.job
    ORDER BY number
    """
    return [(event, job) for event, job in world.ledger.transact(lambda tx: tx.rows(sql))]


def take(world: World, *, limit: int = 100, together: int = 100) -> list[DueDelivery]:
    """Route all events, and take the due deliveries."""
    world.ledger.transact(lambda tx: deliveries.route(tx, 1000))
    return world.ledger.transact(lambda tx: deliveries.take(tx, limit, together=together, busy={}))


def record(world: World, taken: Sequence[DueDelivery], error: str | None = None) -> RecordedAttempts:
    attempts = [DeliveryAttempt(delivery=each, error=error) for each in taken]
    return world.ledger.transact(lambda tx: deliveries.record(tx, attempts))


def told(world: World) -> list[tuple[str, str, str | None]]:
    """Have all due deliveries accepted; return the event, the job and the URL of each."""
    taken = take(world)
    record(world, taken)
    return [(each.event, f"{each.app}/{each.key}", each.target.webhook) for each in taken]


def test_a_failure_is_one_event_with_its_job_round_and_error(world: World) -> None:
    world.apps("a", max_fails=1, notify=[rule("failed")])
    world.submit("a")
    world.finish("a", Ending.ERROR)
    assert events(world) == []
    world.record(world.take("a"), Ending.ERROR, error="no such file")
    world.deliver()
    assert events(world) == [("failed", "a/1")]
    (found,) = take(world)
    assert (found.event, found.state, found.round, found.error) == ("failed", "failed", 1, "no such file")
    assert (found.app, found.key, found.attempts, found.target.webhook) == ("a", "1", 1, URL)


def test_a_job_without_a_rule_enters_no_event(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.finish("a", Ending.ERROR)
    assert events(world) == []


@pytest.mark.parametrize(
    ("ending", "expected"),
    [(Ending.DONE, "succeeded"), (Ending.TIMED_OUT, "failed"), (Ending.ERROR, "failed")],
)
def test_each_end_of_a_job_is_its_event(world: World, ending: Ending, expected: str) -> None:
    world.apps("a", notify=[rule("succeeded", "failed")])
    world.submit("a")
    world.finish("a", ending)
    assert events(world) == [(expected, "a/1")]


def test_an_expired_job_has_failed(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    world.submit("a", policy={"end_before": "2026-01-01T00:00:10Z"})
    world.tick(after_s=11)
    assert world.state("a") is State.EXPIRED
    assert events(world) == [("failed", "a/1")]


def test_a_lost_job_without_tries_left_has_failed(world: World) -> None:
    world.apps("a", max_losses=0, notify=[rule("failed")])
    world.submit("a")
    world.take("a")
    world.tick(after_s=16)
    assert events(world) == [("failed", "a/1")]


def test_descendants_of_a_failure_have_an_event_only_if_a_rule_names_it(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}", "bash_cmd": "true"},
            "b": {
                "job_id": "{x}",
                "bash_cmd": "true",
                "depends_on": {"app_name": ["a"]},
                "notify": [rule("failed")],
            },
            "c": {
                "job_id": "{x}",
                "bash_cmd": "true",
                "depends_on": {"app_name": ["b"]},
                "notify": [rule("upstream_failed")],
            },
        }
    )
    world.submit("c")
    world.finish("a", Ending.ERROR)
    assert events(world) == [("upstream_failed", "c/1")]


def test_a_cancelled_job_has_no_event(world: World) -> None:
    world.apps("a", notify=[rule("failed", "succeeded")])
    world.cancel(world.submit("a"))
    assert world.state("a") is State.CANCELLED
    assert events(world) == []


def test_each_failure_after_a_rerun_is_an_event_of_its_own(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    world.submit("a")
    world.finish("a", Ending.ERROR)
    first = take(world)
    record(world, first)
    world.submit("a", rerun="job")
    world.finish("a", Ending.ERROR)
    (second,) = take(world)
    assert second.event_id != first[0].event_id


def test_a_success_after_a_failure_is_a_recovery_once(world: World) -> None:
    world.apps("a", notify=[rule("failed", "recovered"), rule("succeeded", webhook=OTHER)])
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.submit("a", rerun="job")
    world.finish("a")
    world.submit("a", rerun="job")
    world.finish("a")
    assert sorted(told(world)) == [
        ("failed", "a/1", URL),
        ("recovered", "a/1", URL),
        ("succeeded", "a/1", OTHER),
        ("succeeded", "a/1", OTHER),
    ]


def test_a_job_recovers_only_for_the_receiver_that_was_told_of_the_trouble(world: World) -> None:
    world.apps("a", notify=[rule("failed"), rule("late", "recovered", webhook=OTHER)])
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.submit("a", rerun="job")
    world.finish("a")
    assert told(world) == [("failed", "a/1", URL)]


def test_a_job_that_is_not_over_in_time_is_late_once_and_recovers(world: World) -> None:
    world.apps("a", due_within="1h", notify=[rule("late", "recovered")])
    world.submit("a")
    running = world.take("a")
    for _ in range(5):
        world.now += timedelta(minutes=11)
        world.beat(world.worker, [running.right])
    world.tick()
    assert events(world) == []
    world.tick(after_s=600)
    world.tick(after_s=1)
    assert events(world) == [("late", "a/1")]


def test_a_late_job_counts_from_start_after_and_continues(world: World) -> None:
    world.apps("a", due_within="1h", notify=[rule("late", "recovered")])
    world.submit("a", policy={"start_after": "2026-01-01T05:00:00Z"})
    world.tick(after_s=5.5 * 3600)
    assert events(world) == []
    world.tick(after_s=1800)
    assert events(world) == [("late", "a/1")]
    assert world.state("a") is State.READY
    world.finish("a")
    assert [event for event, _ in events(world)] == ["late", "recovered"]


def test_a_rerun_counts_anew(world: World) -> None:
    world.apps("a", due_within="1h", notify=[rule("late")])
    world.submit("a")
    world.finish("a")
    world.now += timedelta(hours=5)
    world.submit("a", rerun="job")
    world.tick(after_s=3599)
    assert events(world) == []
    world.tick(after_s=1)
    assert events(world) == [("late", "a/1")]


def test_a_failed_parent_that_runs_again_counts_anew(world: World) -> None:
    plain = {"job_id": "{x}", "bash_cmd": "true"}
    late = plain | {"due_within": "1h", "notify": [rule("late")]}
    world.define({"a": late, "b": plain | {"depends_on": {"app_name": ["a"]}}})
    world.submit("b")
    world.tick(after_s=3600)
    world.finish("a", Ending.ERROR)
    world.submit("b", rerun="job")
    world.tick(after_s=3599)
    assert events(world) == [("late", "a/1")]
    assert world.field("a", "late") is False
    world.tick(after_s=1)
    assert events(world) == [("late", "a/1"), ("late", "a/1")]


def test_a_submission_may_set_due_within(world: World) -> None:
    world.apps("a", notify=[rule("late")])
    world.submit("a", policy={"due_within": "10m"})
    world.tick(after_s=600)
    assert events(world) == [("late", "a/1")]


def test_a_late_job_without_a_rule_is_only_marked(world: World) -> None:
    world.apps("a", due_within="10m")
    world.submit("a")
    world.tick(after_s=600)
    assert world.field("a", "late") is True
    assert events(world) == []


def test_a_receiver_that_is_down_for_an_hour_gets_each_event_once_it_is_back(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    for key in map(str, range(30)):
        world.submit("a", key)
        world.finish(f"a/{key}", Ending.ERROR)
    until = world.now + timedelta(hours=1)
    attempts = 0
    while world.now < until:
        taken = take(world)
        attempts += len(taken)
        record(world, taken, "it does not answer")
        world.now += timedelta(seconds=5)
    got: list[str] = []
    while len(got) < 30 and world.now < until + timedelta(hours=2):
        taken = take(world)
        record(world, taken)
        got += [each.key for each in taken]
        world.now += timedelta(seconds=5)
    assert sorted(got, key=int) == [str(number) for number in range(30)]
    assert attempts < 150
    world.now += timedelta(days=2)
    assert take(world) == []


def test_a_failing_receiver_does_not_delay_the_others(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    world.submit("a")
    world.finish("a", Ending.ERROR)
    record(world, take(world), "it does not answer")
    world.apps("b", notify=[rule("failed", webhook=OTHER)])
    world.submit("b")
    world.finish("b", Ending.ERROR)
    assert told(world) == [("failed", "b/1", OTHER)]


def test_one_receiver_gets_a_limited_number_of_deliveries_together(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    for key in "12345":
        world.submit("a", key)
        world.finish(f"a/{key}", Ending.ERROR)
    first = take(world, together=3)
    assert [each.key for each in first] == ["1", "2", "3"]
    busy = {first[0].receiver: 3}
    assert world.ledger.transact(lambda tx: deliveries.take(tx, 100, together=3, busy=busy)) == []
    assert [each.key for each in take(world, together=3)] == ["4", "5"]


def test_a_delivery_of_a_dead_process_is_repeated_under_the_same_id(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    world.submit("a")
    world.finish("a", Ending.ERROR)
    (lost,) = take(world)
    assert take(world) == []
    world.now += timedelta(seconds=LEASE_S)
    (again,) = take(world)
    assert (again.event_id, again.attempts) == (lost.event_id, 2)
    assert record(world, [again]).delivered == [again.number]
    assert record(world, [lost], "too late") == RecordedAttempts(delivered=[], dead=[])
    world.now += timedelta(days=2)
    assert take(world) == []


def test_a_delivery_is_given_up_after_its_attempts(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    world.submit("a")
    world.finish("a", Ending.ERROR)
    dead: list[int] = []
    attempts = 0
    while not dead:
        taken = take(world)
        attempts += len(taken)
        dead = record(world, taken, "404 Not Found").dead
        world.now += timedelta(minutes=60)
    assert attempts == ATTEMPTS_MAX
    world.now += timedelta(days=2)
    assert take(world) == []


def test_the_backlog_of_a_receiver_that_fails_for_a_day_is_given_up(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    for key in "123":
        world.submit("a", key)
        world.finish(f"a/{key}", Ending.ERROR)
    record(world, take(world, limit=1), "it does not answer")
    world.now += timedelta(seconds=GIVE_UP_S + 1)
    assert len(record(world, take(world), "it does not answer").dead) == 3


def test_a_rule_that_is_new_in_the_definition_holds_for_the_next_rerun(world: World) -> None:
    world.apps("a")
    world.submit("a")
    world.finish("a", Ending.ERROR)
    world.apps("a", notify=[rule("failed")])
    world.submit("a", rerun="job")
    world.finish("a", Ending.ERROR)
    assert events(world) == [("failed", "a/1")]


def test_a_step_of_partitions_has_the_rules_of_its_app(world: World) -> None:
    world.define(
        {
            "a": {
                "output_table": "t",
                "bash_cmd": "true",
                "due_within": "1h",
                "notify": [rule("failed", "late")],
            }
        }
    )
    world.submit("a", None, start="2026-01-01", end="2026-01-01")
    world.tick(after_s=3600)
    (step,) = world.states()
    world.finish(step, Ending.ERROR)
    world.submit("a", None, start="2026-01-01", end="2026-01-01")
    world.finish(step, Ending.ERROR)
    world.submit("a", None, start="2026-01-01", end="2026-01-01")
    world.tick(after_s=3600)
    assert [event for event, _ in events(world)] == ["late", "failed", "failed", "late"]


def test_halves_of_a_chunk_have_the_rules_and_its_own_failure_is_no_event(world: World) -> None:
    world.define(
        {"a": {"chunk_size": 4, "bash_cmd": "true", "on_failure": "bisect", "notify": [rule("failed")]}}
    )
    world.submit("a", None, work_ids="1-2")
    (whole,) = world.states()
    world.finish(whole, Ending.ERROR)
    assert events(world) == []
    half = next(iter(world.ready()))
    world.finish(half, Ending.ERROR)
    assert [event for event, _ in events(world)] == ["failed"]


ALERT = {"job_id": "{event}", "bash_cmd": "true"}
TO_ALERT = [{"on": ["failed"], "app": "alert"}]


def test_a_submission_may_notify_an_app_of_the_events_of_its_own_jobs(world: World) -> None:
    plain = {"job_id": "{x}", "bash_cmd": "true"}
    world.define({"a": plain, "b": plain | {"depends_on": {"app_name": ["a"]}}, "alert": ALERT})
    world.submit("a", "2")
    world.submit("a", "3")
    submission = world.submit("b", "2", notify=TO_ALERT)
    world.finish("a/3", Ending.ERROR)
    world.finish("a/2", Ending.ERROR)
    (found,) = take(world)
    assert (found.app, found.key, found.submission, found.target.app) == ("a", "2", submission, "alert")


def test_the_rules_of_a_submission_end_with_it(world: World) -> None:
    world.define({"a": {"job_id": "{x}", "bash_cmd": "true"}, "alert": ALERT})
    world.submit("a", notify=TO_ALERT)
    world.finish("a")
    world.now += timedelta(seconds=1)
    world.submit("a", rerun="job")
    world.finish("a", Ending.ERROR)
    assert take(world) == []


def test_a_failed_parent_that_runs_again_for_a_submission_has_its_rules(world: World) -> None:
    plain = {"job_id": "{x}", "bash_cmd": "true"}
    world.define({"a": plain, "b": plain | {"depends_on": {"app_name": ["a"]}}, "alert": ALERT})
    world.submit("b")
    world.finish("a", Ending.ERROR)
    submission = world.submit("b", rerun="job", notify=TO_ALERT)
    world.finish("a", Ending.ERROR)
    assert [(each.app, each.submission) for each in take(world)] == [("a", submission)]


def test_a_parent_that_another_submission_runs_again_has_the_rules_of_a_waiting_child(world: World) -> None:
    plain = {"job_id": "{x}", "bash_cmd": "true"}
    both = {"both": [{"app_name": ["far"]}, {"app_name": ["other"]}]}
    world.define(
        {
            "near": plain,
            "far": plain | {"depends_on": {"app_name": ["near"]}},
            "other": plain,
            "child": plain | {"depends_on": both},
            "alert": ALERT,
        }
    )
    world.submit("far", push="wanted")
    world.finish("near")
    world.finish("far")
    waiting = world.submit("child", push="wanted", notify=TO_ALERT)
    world.submit("near", rerun="downstream", push="wanted")
    world.finish("near", Ending.ERROR)
    assert [(each.app, each.submission) for each in take(world)] == [("near", waiting)]


def test_a_child_that_is_pushed_has_the_rules_of_the_submission(world: World) -> None:
    plain = {"job_id": "{x}", "bash_cmd": "true"}
    world.define({"a": plain, "b": plain | {"depends_on": {"app_name": ["a"]}}, "alert": ALERT})
    world.submit("a", notify=TO_ALERT)
    world.finish("a")
    world.finish("b", Ending.ERROR)
    assert [(each.app, each.target.app) for each in take(world)] == [("b", "alert")]


@pytest.mark.parametrize(
    ("notify", "reason"),
    [
        ([{"on": ["failed"], "webhook": URL}], "a submission may only notify an app"),
        ([{"on": ["failed"], "app": "alrt"}], "there is no app 'alrt'"),
        ([{"on": ["failed"], "app": "two"}], "has not exactly one identifier"),
    ],
)
def test_a_submission_with_another_receiver_is_refused(world: World, notify: Any, reason: str) -> None:
    world.define(
        {"a": {"job_id": "{x}", "bash_cmd": "true"}, "alert": ALERT, "two": ALERT | {"job_id": "{x}_{y}"}}
    )
    submission = world.submit("a", notify=notify)
    assert world.submission(submission) is SubmissionState.REFUSED
    assert reason in world.reason(submission)


def test_a_step_of_partitions_has_the_rules_of_its_submission(world: World) -> None:
    world.define({"a": {"output_table": "t", "bash_cmd": "true"}, "alert": ALERT})
    world.submit("a", None, start="2026-01-01", end="2026-01-01", notify=TO_ALERT)
    (step,) = world.states()
    world.finish(step, Ending.ERROR)
    assert [each.target.app for each in take(world)] == ["alert"]


def test_a_chunk_has_the_rules_of_its_submission(world: World) -> None:
    world.define({"a": {"chunk_size": 4, "bash_cmd": "true"}, "alert": ALERT})
    world.submit("a", None, work_ids="1-2", notify=TO_ALERT)
    (chunk,) = world.states()
    world.finish(chunk, Ending.ERROR)
    assert [each.target.app for each in take(world)] == ["alert"]


def test_a_schedule_has_rules_and_its_due_time_counts(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}", "bash_cmd": "true"},
            "schedules": {
                "nightly": {
                    "app": "a",
                    "key": "{due:%Y%m%d}",
                    "cron": "0 2 * * *",
                    "policy": {"due_within": "1h"},
                    "notify": [rule("late")],
                    "misfire_grace": "10h",
                }
            },
        }
    )
    world.queue.append(Look())
    world.deliver()
    world.now += timedelta(hours=2, minutes=30)
    world.queue.append(Look())
    world.deliver()
    assert world.states() == {"a/20260101": State.READY}
    world.tick(after_s=29 * 60)
    assert take(world) == []
    world.tick(after_s=60)
    (found,) = take(world)
    assert (found.event, found.submission) == ("late", "schedule:nightly:2026-01-01T02:00:00Z")


def test_one_receiver_of_two_rules_gets_an_event_once(world: World) -> None:
    world.define({"a": {"job_id": "{x}", "bash_cmd": "true", "notify": TO_ALERT}, "alert": ALERT})
    world.submit("a", notify=TO_ALERT)
    world.finish("a", Ending.ERROR)
    assert [each.target.app for each in take(world)] == ["alert"]


def test_two_notifiers_at_the_same_time_route_and_take_different_rows(world: World) -> None:
    world.apps("a", notify=[rule("failed")])
    world.submit("a", "0")
    world.finish("a/0", Ending.ERROR)
    record(world, take(world))
    for key in "123":
        world.submit("a", key)
        world.finish(f"a/{key}", Ending.ERROR)

    def first_routes(tx: Tx) -> tuple[int, int]:
        return deliveries.route(tx, 2), world.ledger.transact(lambda other: deliveries.route(other, 10))

    def first_takes(tx: Tx) -> tuple[set[int], set[int]]:
        mine = deliveries.take(tx, 2, together=10, busy={})
        others = world.ledger.transact(lambda other: deliveries.take(other, 10, together=10, busy={}))
        return {each.number for each in mine}, {each.number for each in others}

    mine, others = world.ledger.transact(first_routes)
    assert (mine, others) == (2, 1)
    taken, left = world.ledger.transact(first_takes)
    assert (len(taken), len(left), taken & left) == (2, 1, set())
