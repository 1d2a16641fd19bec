"""Chunks that need jobs with keys, in the ledger: waits, failures, splits, reruns, cancellation and races."""

from collections.abc import Callable
from typing import Any

import pytest

from sluice.broker.messages import Executed
from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from tests.ledger.poisoned_chunks import Farm
from tests.ledger.races import Act, Acts, finish_all_jobs, meet_and_finish
from tests.world import World

#: Maximum number of statements of a handler here.
STATEMENTS_MAX = 80


def _apps(**words: Any) -> dict[str, dict[str, Any]]:
    """Return apps in which odd work IDs of ``score`` need oslo, even ones graz, and 7 needs both."""
    bridge = {"_func": "tests.planner.two_ways:Shops", "app_name": ["fetch"]}
    return {
        "fetch": {"job_id": "{shop}", "bash_cmd": "true"},
        "score": {
            "chunk_size": 2,
            "bash_cmd": "true",
            "on_failure": "bisect",
            "depends_on": {**bridge, **words},
        },
    }


def _score(world: World, ids: str, **words: Any) -> str:
    return world.submit("score", None, work_ids=ids, **words)


def _runs(world: World, job: str) -> int:
    return world.history(job).count("running")


def test_a_chunk_waits_for_the_jobs_of_its_work_ids(world: World) -> None:
    world.define(_apps())
    asked = _score(world, "1,3,5-8")
    assert world.ready() == {"fetch/graz", "fetch/oslo"}
    world.finish("fetch/oslo")
    assert world.ready() == {"fetch/graz", "score/1,3@1"}, "one chunk needs oslo alone"
    world.finish("fetch/graz")
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"


def test_a_success_of_another_submission_is_used(world: World) -> None:
    world.define(_apps())
    world.submit("fetch", "oslo")
    world.finish("fetch/oslo")
    assert world.states() == {"fetch/oslo": State.SUCCEEDED}, "its end plans no chunks"
    _score(world, "1,3")
    assert world.ready() == {"score/1,3@2"}
    assert _runs(world, "fetch/oslo") == 1


def test_a_failed_job_fails_its_chunks_until_it_is_retried(world: World) -> None:
    world.define(_apps())
    asked = _score(world, "1-4")
    world.finish("fetch/oslo", Ending.ERROR)
    assert world.state("score/1-2@1") is State.UPSTREAM_FAILED
    world.finish("fetch/graz")
    assert world.submission(asked) == "failed"
    world.retry(asked)
    assert world.ready() == {"fetch/oslo"}
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"


def test_a_condition_other_than_success_may_be_required(world: World) -> None:
    world.define(_apps(when="finished"))
    _score(world, "1,3")
    world.finish("fetch/oslo", Ending.ERROR)
    assert world.ready() == {"score/1,3@1"}


def test_a_needed_job_turns_to_its_other_alternative(world: World) -> None:
    app = {"job_id": "{shop}", "bash_cmd": "true"}
    apps = _apps() | {"feed": app, "file": app}
    apps["fetch"]["depends_on"] = {"by feed": {"app_name": ["feed"]}, "by file": {"app_name": ["file"]}}
    world.define(apps)
    asked = _score(world, "1,3")
    world.finish("feed/oslo", Ending.ERROR)
    assert world.ready() == {"file/oslo"}
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"


def test_halves_do_not_wait_for_the_jobs_again(world: World) -> None:
    farm = Farm(world, "score:4")
    apps = _apps()
    apps["score"]["chunk_size"] = 4
    world.define(apps)
    farm.poison = {3}
    farm.submit("score", [[1, 4]])
    for shop in ("graz", "oslo"):
        world.finish(f"fetch/{shop}")
    farm.run("score/1-4@1")
    assert world.ready() == {"score/1-2@1", "score/3-4@1"}
    for name in ("score/1-2@1", "score/3-4@1", "score/3@1", "score/4@1"):
        farm.run(name)
    assert [world.state(f"score/{ids}@1") for ids in ("3", "4")] == [State.FAILED, State.SUCCEEDED]


def test_a_waiting_chunk_waits_for_a_rerun_of_a_job_that_it_needs(world: World) -> None:
    world.define(_apps())
    _score(world, "1-2")
    world.finish("fetch/oslo")
    world.submit("fetch", "oslo", rerun="job")
    world.finish("fetch/graz")
    assert world.state("score/1-2@1") is State.WAITING
    world.finish("fetch/oslo")
    assert world.ready() == {"score/1-2@1"}


def test_a_rerun_downstream_runs_the_chunks_that_needed_the_job(world: World) -> None:
    world.define(_apps())
    _score(world, "1,3-4")
    finish_all_jobs(world)
    world.submit("fetch", "graz", rerun="downstream")
    finish_all_jobs(world)
    runs = {name: _runs(world, name) for name in world.states()}
    assert runs == {"fetch/graz": 2, "fetch/oslo": 1, "score/1,3@1": 1, "score/4@1": 2}


def test_a_cancellation_ends_the_jobs_that_only_the_chunks_need(world: World) -> None:
    world.define(_apps())
    kept = world.submit("fetch", "graz")
    world.cancel(_score(world, "1-2"))
    assert world.states() == {
        "fetch/graz": State.READY,
        "fetch/oslo": State.CANCELLED,
        "score/1-2@2": State.CANCELLED,
    }
    assert world.submission(kept) == "active"


def test_an_input_that_is_too_old_runs_again_first(world: World) -> None:
    world.define(_apps(max_lag="1h"))
    _score(world, "1")
    finish_all_jobs(world)
    world.tick(after_s=3601)
    _score(world, "3")
    assert world.ready() == {"fetch/oslo"}
    finish_all_jobs(world)
    assert (_runs(world, "fetch/oslo"), world.state("score/3@2")) == (2, State.SUCCEEDED)


def test_results_of_chunks_become_stale_by_their_age_and_not_by_a_rerun_of_a_job_that_they_needed(
    world: World,
) -> None:
    report = {"chunk_size": 2, "bash_cmd": "true", "dependencies": [{"job_type": "score", "max_lag": "1h"}]}
    world.define(_apps() | {"report": report})
    for _ in range(2):
        world.submit("report", None, work_ids="1")
        finish_all_jobs(world)
        world.submit("fetch", "oslo", rerun="job")
        finish_all_jobs(world)
    chunks = {name for name in world.states() if not name.startswith("fetch")}
    assert chunks == {"score/1@1", "report/1@1", "report/1@3"}, "the app that is requested always runs"
    world.tick(after_s=3601)
    world.worker = world.hire()
    world.submit("report", None, work_ids="1")
    assert world.ready() == {"score/1@5"}


def test_a_job_that_its_filter_rejects_skips_the_chunk(world: World) -> None:
    apps = _apps()
    apps["fetch"]["valid_if_or"] = {"shop": ["graz"]}
    world.define(apps)
    asked = _score(world, "1")
    assert world.states() == {"fetch/oslo": State.SKIPPED, "score/1@1": State.SKIPPED}
    assert world.submission(asked) == "succeeded"


@pytest.mark.parametrize("function", ["raising", "naming_another_id", "naming_a_stranger"])
def test_a_faulty_function_refuses_its_submission_and_no_other(world: World, function: str) -> None:
    apps = _apps()
    apps["faulty"] = apps["score"] | {
        "depends_on": {"_func": f"tests.planner.two_ways:{function}", "app_name": ["fetch"]}
    }
    world.define(apps)
    refused, fine = world.submit("faulty", None, work_ids="1"), _score(world, "1")
    assert world.submission(refused) == "refused"
    assert f"two_ways:{function}, called for" in world.reason(refused)
    finish_all_jobs(world)
    assert world.submission(fine) == "succeeded"


class Meeting(Acts):
    """World in which a submission has requested oslo, whose run has ended and is not judged yet."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.define(_apps())
        self.first = self.world.submit("fetch", "oslo")
        self.ended = self.run("fetch/oslo")

    def chunks(self, ids: str, id: str) -> Act:
        return self.plan("score", None, id=id, work_ids=ids)


Pair = Callable[[Meeting], tuple[Act, Act]]


def _judge_the_job(m: Meeting) -> tuple[Act, Act]:
    return m.chunks("1-4", "chunks"), m.judge(m.ended)


def _cancel_the_other_submission(m: Meeting) -> tuple[Act, Act]:
    return m.chunks("1-4", "chunks"), m.cancel(m.first)


def _rerun_the_job(m: Meeting) -> tuple[Act, Act]:
    return m.chunks("1-4", "chunks"), m.plan("fetch", "oslo", rerun="job")


def _plan_the_other_job(m: Meeting) -> tuple[Act, Act]:
    return m.chunks("1-4", "chunks"), m.plan("fetch", "graz")


def _plan_other_chunks(m: Meeting) -> tuple[Act, Act]:
    return m.chunks("1-4", "chunks"), m.chunks("3-6", "others")


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
@pytest.mark.parametrize(
    "pair",
    [
        _judge_the_job,
        _cancel_the_other_submission,
        _rerun_the_job,
        _plan_the_other_job,
        _plan_other_chunks,
    ],
)
def test_no_chunk_is_lost_or_starts_too_early(embedded_url: str, pair: Pair, swapped: bool) -> None:
    meet_and_finish(lambda: Meeting(embedded_url), pair, _finish, swapped=swapped, most=STATEMENTS_MAX)


def _finish(meeting: Meeting) -> None:
    """Run everything. Check that each chunk has run once, and only after the jobs that it needs."""
    world = meeting.world
    world.queue.append(Executed(jobs=(meeting.ended,)))
    world.deliver()
    finish_all_jobs(world, before_each=lambda: _check_order(world))
    chunks = {name: state for name, state in world.states().items() if name.startswith("score/")}
    assert len(chunks) >= 2
    assert {*chunks.values()} == {State.SUCCEEDED}
    assert {_runs(world, name) for name in chunks} == {1}
    assert {world.state(f"fetch/{shop}") for shop in ("graz", "oslo")} == {State.SUCCEEDED}


def _check_order(world: World) -> None:
    states = world.states()
    if any(name.startswith("score/") for name in world.ready()):
        assert {states[f"fetch/{shop}"] for shop in ("graz", "oslo")} == {State.SUCCEEDED}
