"""Jobs with keys that need chunks, in the ledger: results, waits, failures, splits, retries, cancellation, pushes."""

from collections.abc import Callable
from typing import Any

import pytest

from sluice.actors.planner.chunk_plans import LOOK_AGAIN_S
from sluice.broker.messages import Executed
from sluice.jobs.keys.work_ids import WorkId, parse_work_ids
from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from sluice.ledger.reads import job_details
from tests.ledger.races import Act, Acts, finish_all_jobs, meet_and_finish
from tests.world import World

#: Maximum number of statements of a handler here.
STATEMENTS_MAX = 120


def _apps(chunk_size: int = 1, **words: Any) -> dict[str, dict[str, Any]]:
    """Return apps in which ``report graz`` needs the customers 2 and 4, ``oslo`` 1 and 3, and ``rome`` 3 and 4."""
    bridge = {"_func": "tests.planner.two_ways:Scores", "app_name": ["score"], **words}
    return {
        "score": {"chunk_size": chunk_size, "bash_cmd": "true"},
        "report": {"job_id": "{shop}", "bash_cmd": "true", "depends_on": bridge},
    }


def _runs(world: World, job: str) -> int:
    return world.history(job).count("running")


def test_a_job_waits_for_chunks_of_its_work_ids(world: World) -> None:
    world.define(_apps())
    asked = world.submit("report", "oslo")
    assert world.ready() == {"score/1@1", "score/3@1"}
    world.finish("score/1@1")
    assert world.state("report/oslo") is State.WAITING
    world.finish("score/3@1")
    assert world.ready() == {"report/oslo"}
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"
    assert world.states().keys() == {"score/1@1", "score/3@1", "report/oslo"}, (
        "it pushes no report without results"
    )


def test_chunks_have_not_added_the_jobs_that_need_them(world: World) -> None:
    world.define(_apps())
    world.submit("report", "oslo")
    name = JobName("report", "oslo")
    shown = world.ledger.transact(lambda tx: job_details.dossier(tx, name))
    kinship = world.ledger.transact(lambda tx: job_details.kinship(tx, name))
    assert shown
    assert kinship
    assert shown.added_by == []
    assert [each.added for each in kinship.needs] == [False, False]


def test_chunks_of_several_jobs_are_cut_together(world: World) -> None:
    world.define(_apps(chunk_size=3))
    world.submit("report", None, keys=["graz", "oslo", "rome"])
    assert world.ready() == {"score/1-3@1", "score/4@1"}
    world.finish("score/1-3@1")
    assert world.ready() == {"report/oslo", "score/4@1"}


def test_results_of_any_age_are_used_unless_the_age_is_limited(world: World) -> None:
    world.define(_apps())
    world.submit("score", None, work_ids="1,3", push="wanted")
    finish_all_jobs(world)
    world.tick(after_s=3_660)
    world.submit("report", "oslo")
    assert world.ready() == {"report/oslo"}
    finish_all_jobs(world)
    world.define(_apps(max_lag="1h"))
    world.submit("report", "oslo", rerun="job")
    assert world.ready() == {"score/1@3", "score/3@3"}


def test_a_submission_waits_for_work_of_another_one(world: World) -> None:
    world.define(_apps())
    world.submit("score", None, work_ids="3", push="wanted")
    asked = world.submit("report", "rome")
    assert world.submission(asked) == "received"
    world.finish("score/3@1")
    world.tick(after_s=1)
    assert world.ready() == {"score/4@2"}
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"
    assert _runs(world, "score/3@1") == 1


def test_a_waiting_job_keeps_its_chunks_for_another_submission(world: World) -> None:
    world.define(_apps())
    first = world.submit("report", "oslo")
    second = world.submit("report", "oslo")
    assert world.ready() == {"score/1@1", "score/3@1"}
    world.cancel(first)
    finish_all_jobs(world)
    assert world.submission(second) == "succeeded"
    assert _runs(world, "report/oslo") == 1


def test_a_failed_chunk_fails_the_job_until_the_submission_is_retried(world: World) -> None:
    world.define(_apps())
    asked = world.submit("report", "oslo")
    world.finish("score/1@1", Ending.ERROR)
    world.finish("score/3@1")
    assert world.state("report/oslo") is State.UPSTREAM_FAILED
    world.retry(asked)
    assert world.ready() == {"score/1@1"}
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"
    assert _runs(world, "score/3@1") == 1


def test_a_retry_keeps_the_chunks_although_the_definition_has_changed(world: World) -> None:
    world.define(_apps())
    asked = world.submit("report", "oslo")
    world.finish("score/1@1", Ending.ERROR)
    world.finish("score/3@1")
    apps = _apps()
    apps["report"]["bash_cmd"] = "echo changed"
    world.define(apps)
    world.retry(asked)
    assert world.ready() == {"score/1@1"}
    assert world.state("report/oslo") is State.WAITING
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"


def test_a_changed_definition_keeps_the_chunks_of_a_waiting_job(world: World) -> None:
    apps = _apps()
    world.define(apps)
    world.submit("report", "oslo")
    apps["report"]["bash_cmd"] = "echo changed"
    world.define(apps)
    world.submit("report", "oslo")
    assert world.ready() == {"score/1@1", "score/3@1"}
    world.finish("score/1@1")
    assert world.state("report/oslo") is State.WAITING
    world.finish("score/3@1")
    assert world.ready() == {"report/oslo"}


def test_a_rerun_of_a_failed_job_gets_chunks_of_its_own(world: World) -> None:
    world.define(_apps())
    world.submit("report", "oslo")
    world.finish("score/1@1", Ending.ERROR)
    world.finish("score/3@1")
    world.submit("report", "oslo", rerun="job")
    assert world.ready() == {"score/1@2"}
    finish_all_jobs(world)
    assert world.state("report/oslo") is State.SUCCEEDED


def test_a_split_chunk_is_replaced_by_its_halves(world: World) -> None:
    apps = _apps(chunk_size=2)
    apps["score"]["on_failure"] = "bisect"
    world.define(apps)
    world.submit("report", "oslo")
    world.finish("score/1,3@1", Ending.ERROR)
    assert world.ready() == {"score/1@1", "score/3@1"}
    second = world.submit("report", "oslo")
    finish_all_jobs(world)
    assert world.submission(second) == "succeeded"


def test_the_last_chunk_pushes_the_job(world: World) -> None:
    world.define(_apps())
    world.submit("score", None, work_ids="1-3")
    world.finish("score/1@1")
    world.finish("score/2@1")
    assert world.ready() == {"score/3@1"}
    world.finish("score/3@1")
    assert world.ready() == {"report/oslo"}, "customer 4 has no results for the others"


def test_a_failed_chunk_pushes_nothing(world: World) -> None:
    world.define(_apps())
    world.submit("score", None, work_ids="1,3", push="wanted")
    finish_all_jobs(world)
    world.submit("score", None, work_ids="3")
    world.finish("score/3@2", Ending.ERROR)
    assert "report/oslo" not in world.states()


def test_a_parent_with_a_key_pushes_the_job_if_it_has_results(world: World) -> None:
    apps = _apps() | {"shop": {"job_id": "{shop}", "bash_cmd": "true"}}
    bridge = apps["report"]["depends_on"]
    apps["report"]["depends_on"] = {"all": [bridge, {"app_name": ["shop"]}]}
    world.define(apps)
    world.submit("shop", "oslo")
    finish_all_jobs(world)
    assert "report/oslo" not in world.states()
    world.submit("score", None, work_ids="1-4")
    for work_id in range(1, 5):
        world.finish(f"score/{work_id}@2")
    assert world.ready() == {"report/oslo"}
    assert world.state("report/graz") is State.WAITING, "its shop is not requested"
    world.submit("shop", "graz")
    world.finish("shop/graz")
    assert world.ready() == {"report/graz", "report/oslo"}


def test_chunks_may_need_jobs_with_keys_themselves(world: World) -> None:
    apps = _apps() | {"fetch": {"job_id": "{shop}", "bash_cmd": "true"}}
    shops = {"_func": "tests.planner.two_ways:Shops", "app_name": ["fetch"]}
    apps["score"]["depends_on"] = shops
    world.define(apps)
    asked = world.submit("report", "oslo")
    assert world.ready() == {"fetch/oslo"}
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"


def test_a_job_downstream_of_a_job_that_needs_chunks(world: World) -> None:
    apps = _apps() | {
        "mail": {"job_id": "{shop}", "bash_cmd": "true", "depends_on": {"app_name": ["report"]}}
    }
    world.define(apps)
    asked = world.submit("mail", "rome")
    assert world.ready() == {"score/3@1", "score/4@1"}
    finish_all_jobs(world)
    assert world.submission(asked) == "succeeded"


def test_a_cancellation_ends_the_chunks(world: World) -> None:
    world.define(_apps())
    world.cancel(world.submit("report", "oslo"))
    assert set(world.states().values()) == {State.CANCELLED}
    world.submit("report", "oslo")
    assert world.ready() == {"score/1@2", "score/3@2"}


class Meeting(Acts):
    """World in which a submission of ``report oslo`` has run one of its two chunks, which is not judged yet."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.define(_apps())
        self.first = self.world.submit("report", "oslo")
        self.ended = self.run("score/1@1")
        #: Work IDs that a submission names, which run in any case.
        self.named: set[WorkId] = set()

    def chunks(self, ids: str, id: str) -> Act:
        self.named = {*parse_work_ids(ids)}
        return self.plan("score", None, id=id, work_ids=ids, push="wanted")


Pair = Callable[[Meeting], tuple[Act, Act]]


def _request_it_again(m: Meeting) -> tuple[Act, Act]:
    return m.plan("report", "oslo"), m.judge(m.ended)


def _request_it_while_it_is_cancelled(m: Meeting) -> tuple[Act, Act]:
    return m.plan("report", "oslo"), m.cancel(m.first)


def _request_the_same_work_ids(m: Meeting) -> tuple[Act, Act]:
    return m.plan("report", "rome"), m.chunks("3-4", "chunks")


def _request_jobs_that_share_a_work_id(m: Meeting) -> tuple[Act, Act]:
    m.world.finish("score/3@1")
    return m.plan("report", "rome"), m.plan("report", "graz")


def _end_both_chunks(m: Meeting) -> tuple[Act, Act]:
    other = m.run("score/3@1")
    return m.judge(m.ended), m.judge(other)


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
@pytest.mark.parametrize(
    "pair",
    [
        _request_it_again,
        _request_it_while_it_is_cancelled,
        _request_the_same_work_ids,
        _request_jobs_that_share_a_work_id,
        _end_both_chunks,
    ],
)
def test_no_job_starts_without_its_results(embedded_url: str, pair: Pair, swapped: bool) -> None:
    meet_and_finish(lambda: Meeting(embedded_url), pair, _finish, swapped=swapped, most=STATEMENTS_MAX)


class Pushing(Acts):
    """World in which both customers of ``report oslo`` have been scored, and neither end has been judged yet."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.world.define(_apps())
        self.world.submit("score", None, work_ids="1,3")
        self.runs = [self.run("score/1@1"), self.run("score/3@1")]


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_chunks_that_end_at_once_push_the_job(embedded_url: str, swapped: bool) -> None:
    def finish(m: Pushing) -> None:
        finish_all_jobs(m.world)
        assert m.world.state("report/oslo") is State.SUCCEEDED

    meet_and_finish(
        lambda: Pushing(embedded_url),
        lambda m: (m.judge(m.runs[0]), m.judge(m.runs[1])),
        finish,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


class Splitting(Acts):
    """World in which the chunk of ``report oslo`` has failed, and is about to be split."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        apps = _apps(chunk_size=2)
        apps["score"]["on_failure"] = "bisect"
        self.world.define(apps)
        self.first = self.world.submit("report", "oslo")
        self.ended = self.run("score/1,3@1", Ending.ERROR)


@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_second_submission_requests_the_halves_of_a_chunk(embedded_url: str, swapped: bool) -> None:
    def finish(m: Splitting) -> None:
        assert m.world.ready() == {"score/1@1", "score/3@1"}
        m.world.cancel(m.first)
        finish_all_jobs(m.world)
        assert m.world.submission("plan-report-oslo") == "succeeded"

    meet_and_finish(
        lambda: Splitting(embedded_url),
        lambda m: (m.plan("report", "oslo"), m.judge(m.ended)),
        finish,
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


def _finish(meeting: Meeting) -> None:
    """Run everything. Check that each report that is requested runs once, and only after the scores that it needs."""
    world = meeting.world
    world.queue.append(Executed(jobs=(meeting.ended,)))
    world.deliver()
    for _ in range(2):
        finish_all_jobs(world, before_each=lambda: _check_results(world))
        world.tick(after_s=LOOK_AGAIN_S)  # A submission may wait for a chunk that has ended meanwhile.
    reports = {name: state for name, state in world.states().items() if name.startswith("report/")}
    assert reports
    for name, state in reports.items():
        assert state is State.SUCCEEDED, world.states()
        assert _runs(world, name) == 1
    scored = [work_id for work_id in _scored(world) if work_id not in meeting.named]
    assert len(scored) == len({*scored}), "no work is done twice"


def _scored(world: World) -> list[WorkId]:
    """Return the work IDs of the chunks that have succeeded."""
    done = [name for name, state in world.states().items() if state is State.SUCCEEDED]
    texts = [name[6:].partition("@")[0] for name in done if name.startswith("score/")]
    return [work_id for text in texts for work_id in parse_work_ids(text)]


def _check_results(world: World) -> None:
    states = world.states()
    scored = {*_scored(world)}
    for name in world.ready():
        if name.startswith("report/"):
            assert scored.issuperset({"graz": {2, 4}, "oslo": {1, 3}, "rome": {3, 4}}[name[7:]]), states
