"""Submissions: which jobs they create, which jobs they share, and which submissions are refused."""

import msgspec

from sluice.broker.messages import SubmitMany
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle import submissions
from tests.world import World


def test_a_requested_job_pulls_its_missing_parents(world: World) -> None:
    world.apps("a -> b -> c")
    world.submit("c")
    assert world.states() == {"a": State.READY, "b": State.WAITING, "c": State.WAITING}


def test_a_child_of_two_parents_is_ready_when_the_second_succeeds(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("c")
    world.finish("a")
    assert world.state("c") is State.WAITING
    world.finish("b")
    assert world.state("c") is State.READY


def test_a_succeeded_parent_is_not_run_again(world: World) -> None:
    world.apps("a -> b")
    world.submit("a", push="wanted")
    world.finish("a")
    world.submit("b")
    assert world.state("b") is State.READY
    assert world.history("a") == ["waiting", "ready", "running", "executed", "succeeded"]


def test_a_job_without_open_parents_is_ready_at_once_unless_its_deadline_has_passed(world: World) -> None:
    world.apps("a")
    world.submit("a", None, keys=["1", "2"])
    assert [world.history(f"a/{key}") for key in "12"] == [["waiting", "ready"]] * 2
    assert {turn.job for hint in world.offered for turn in hint.jobs} == {
        world.known(f"a/{key}").id for key in "12"
    }
    world.offered.clear()
    world.submit("a", "3", policy={"end_before": world.now.isoformat()})
    assert (world.history("a/3"), world.offered) == (["waiting"], [])
    world.tick()
    assert world.state("a/3") is State.EXPIRED


def test_success_pushes_children_that_were_not_requested(world: World) -> None:
    world.apps("a -> b -> c")
    submission = world.submit("a")
    for job in "abc":
        world.finish(job)
    assert set(world.states().values()) == {State.SUCCEEDED}
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_push_wanted_plans_no_children(world: World) -> None:
    world.apps("a -> b")
    submission = world.submit("a", push="wanted")
    world.finish("a")
    assert world.states() == {"a": State.SUCCEEDED}
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_a_pushed_child_expects_its_other_parents_and_does_not_request_them(world: World) -> None:
    world.apps("a -> c, b -> c")
    submission = world.submit("a")
    world.finish("a")
    assert world.states() == {"a": State.SUCCEEDED, "b": State.EXPECTED, "c": State.WAITING}
    assert world.submission(submission) is SubmissionState.SUCCEEDED
    world.submit("b")
    assert world.history("b") == ["expected", "waiting", "ready"]
    world.finish("b")
    assert world.state("c") is State.READY


def test_submitting_one_id_again_changes_nothing(world: World) -> None:
    world.apps("a")
    for _ in range(5):
        world.submit("a", id="once")
    assert len(world.history("a")) == 2
    assert world.submission("once") is SubmissionState.ACTIVE


def test_two_submissions_share_the_parent_that_both_need(world: World) -> None:
    world.apps("a -> b, a -> c")
    world.submit("b")
    world.submit("c")
    world.finish("a")
    assert world.ready() == {"b", "c"}
    assert world.history("a").count("running") == 1


def test_a_refused_submission_is_kept_with_its_reason(world: World) -> None:
    world.apps("a")
    assert world.submission(world.submit("a", "", id="no-key")) is SubmissionState.REFUSED
    assert "a needs a key" in world.reason("no-key")
    world.submit("a", id="unknown-word", colour="red")
    assert "colour" in world.reason("unknown-word")
    world.submit("a", id="two-ways", keys=["1"])
    assert "one of key" in world.reason("two-ways")
    assert world.states() == {}


def test_a_malformed_key_is_refused_alone(world: World) -> None:
    world.define({"a": {"job_id": "{x}_{y}", "identifiers": {"x": "int"}}})
    bad, good = world.submit("a", "one_2"), world.submit("a", "1_2")
    assert world.submission(bad) is SubmissionState.REFUSED
    assert world.submission(good) is SubmissionState.ACTIVE


def test_two_spellings_of_a_key_are_one_job(world: World) -> None:
    world.define({"a": {"job_id": "{x}", "identifiers": {"x": "int"}}})
    world.submit("a", "007")
    world.submit("a", "7")
    assert world.states() == {"a/7": State.READY}


def test_a_job_that_fails_its_filter_is_skipped_and_its_children_with_it(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}", "valid_if_or": {"x": ["9"]}},
            "b": {"job_id": "{x}", "depends_on": {"app_name": ["a"]}},
            "c": {"job_id": "{x}", "depends_on": {"app_name": ["b"]}},
        }
    )
    submission = world.submit("c")
    assert set(world.states().values()) == {State.SKIPPED}
    assert world.submission(submission) is SubmissionState.SUCCEEDED


def test_an_expected_job_that_fails_its_filter_is_skipped_when_requested(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "b": {"job_id": "{x}", "valid_if_or": {"x": ["9"]}},
            "c": {"job_id": "{x}", "depends_on": {"app_name": ["a", "b"]}},
        }
    )
    world.submit("a")
    world.finish("a")
    assert world.state("b") is State.EXPECTED
    world.submit("b")
    assert world.state("b") is State.SKIPPED
    assert world.history("c") == ["waiting", "skipped"]


def test_each_enumerated_value_makes_one_job(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "b": {
                "job_id": "{x}_{y}",
                "autofill_values": {"y": ["p", "q"]},
                "depends_on": {"app_name": ["a"]},
            },
        }
    )
    world.submit("a")
    world.finish("a")
    assert world.ready() == {"b/1_p", "b/1_q"}


def test_the_groomer_finds_a_submission_that_was_written_to_the_ledger_without_a_message(
    world: World,
) -> None:
    world.apps("a")
    world.ledger.transact(lambda tx: submissions.receive(tx, [Submission(app="a", key="1", id="silent")]))
    world.tick(after_s=5)
    assert world.ready() == {"a"}


def test_start_after_holds_a_job_back_until_its_time(world: World) -> None:
    world.apps("a")
    world.submit("a", policy={"start_after": "2026-01-01T00:01:00Z"})
    world.tick(after_s=30)
    assert world.state("a") is State.WAITING
    world.tick(after_s=30)
    assert world.state("a") is State.READY


def test_each_of_a_thousand_submissions_in_one_message_is_planned_or_refused_alone(world: World) -> None:
    world.apps("a")
    rows = [{"app": "a", "key": str(key)} for key in range(999)] + [{"app": "a", "key": 1}]
    raws = tuple(msgspec.Raw(msgspec.json.encode(row)) for row in rows)
    world.queue.append(SubmitMany(id="m", submissions=raws))
    world.deliver()
    assert len(world.ready()) == 999
    assert world.submission("m/999") is SubmissionState.REFUSED


def test_a_child_is_left_out_alone_if_its_filter_raises(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "b": {
                "job_id": "{x}",
                "depends_on": {"app_name": ["a"]},
                "valid_if_or": {"_func": "operator:truediv"},
            },
            "c": {"job_id": "{x}", "depends_on": {"app_name": ["a"]}},
        }
    )
    world.submit("a")
    world.finish("a")
    assert world.states() == {"a": State.SUCCEEDED, "c": State.READY}
    submission = world.submit("b")
    assert world.submission(submission) is SubmissionState.REFUSED
    assert "truediv" in world.reason(submission)


def test_a_nul_character_is_refused_alone(world: World) -> None:
    world.apps("a")
    bad = world.submit("a", kwargs={"text": "a\x00b"})
    assert world.submission(bad) is SubmissionState.REFUSED
    assert world.submission(world.submit("a")) is SubmissionState.ACTIVE
