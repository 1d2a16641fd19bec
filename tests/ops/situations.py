"""Situations in which a job is stuck. The job in question is a, b or c unless a test names another."""

from datetime import timedelta

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.ledger.lifecycle import outcomes, submissions
from tests.ops.site import WORDS, Site

AN_HOUR = timedelta(hours=1)


def a_parent_without_a_request(site: Site) -> None:
    site.define({"a": WORDS, "b": WORDS, "c": WORDS | {"depends_on": {"app_name": ["a", "b"]}}})
    site.world.submit("a")
    site.world.finish("a")


def a_way_that_is_too_old_beside_one_under_way(site: Site) -> None:
    """Leave c with two alternatives. ``b`` was chosen because ``a`` would have to run again."""
    groups = {"first": {"app_name": ["b"]}, "second": {"app_name": ["a"], "max_lag": "1h"}}
    site.define({"a": WORDS, "b": WORDS, "c": WORDS | {"depends_on": groups}})
    site.world.submit("a", push="wanted")
    site.world.finish("a")
    site.world.now += 2 * AN_HOUR
    site.world.submit("c")
    site.world.now -= 2 * AN_HOUR


def parents_without_a_request(site: Site) -> None:
    needs = {"app_name": ["a", "b", "d"]}
    site.define({"a": WORDS, "b": WORDS, "d": WORDS, "c": WORDS | {"depends_on": needs}})
    site.world.submit("a")
    site.world.finish("a")


def a_parent_far_up_without_a_worker(site: Site) -> None:
    site.chain("a -> b -> c")
    site.world.submit("c")
    site.dismiss()


def a_parent_far_up_that_failed(site: Site) -> None:
    site.chain("a -> b -> c")
    site.world.submit("c")
    site.world.finish("a", Ending.ERROR)


def a_skipped_parent(site: Site) -> None:
    picky = {"valid_if_or": {"x": ["2"]}}
    site.define({"a": WORDS | picky, "b": WORDS | {"depends_on": {"app_name": ["a"]}}})
    site.world.submit("b")


def a_time_to_come(site: Site) -> None:
    site.chain("a")
    site.world.submit("a", policy={"start_after": (site.world.now + AN_HOUR).isoformat()})


def a_time_without_a_scheduler(site: Site) -> None:
    a_time_to_come(site)
    site.dismiss()
    site.hire(queues=["planner", "a"], threads=1)


def a_retry_to_come(site: Site) -> None:
    site.chain("a", max_fails=1, retry={"rule": "fixed", "seconds": 3600})
    site.world.submit("a")
    site.world.finish("a", Ending.ERROR)


def no_worker(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    site.dismiss()
    site.hire(queues=["planner", "groomer", "scheduler"], threads=0)


def no_thread_that_is_free(site: Site) -> None:
    site.chain("a")
    for key in ("long", "next", "1"):
        site.world.submit("a", key)
    assert site.world.claim("a/long")


def more_urgent_jobs(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    for key in ("2", "3"):
        site.world.submit("a", key, policy={"priority": 5})


def not_planned(site: Site) -> None:
    site.chain("a")
    asked = Submission(id="mine", app="a", key="1")
    site.world.ledger.transact(lambda tx: submissions.receive(tx, [asked]))
    site.dismiss()
    site.hire(queues=["a"], threads=1)


def cancelled_with_its_submission(site: Site) -> None:
    site.chain("a")
    site.world.submit("a", id="mine", user="ana")
    site.world.cancel("mine")


def cancelled_by_name(site: Site) -> None:
    site.chain("a")
    site.world.submit("a", id="other")
    site.world.submit("a", id="mine")
    site.world.cancel("other")
    site.world.ledger.transact(lambda tx: submissions.cancel_job(tx, JobName("a", "1")))


def a_lost_alternative(site: Site) -> None:
    groups = {"fast": {"app_name": ["a"]}, "slow": {"app_name": ["b"]}}
    site.define({"a": WORDS, "b": WORDS, "c": WORDS | {"depends_on": groups}})
    site.world.submit("c")
    site.world.finish("a", Ending.ERROR)


def no_alternative_left(site: Site) -> None:
    a_lost_alternative(site)
    site.world.finish("b", Ending.ERROR)


def no_group_that_fits(site: Site) -> None:
    needs = {"app_name": ["a"], "x": ["1", "2"]}
    site.define({"a": WORDS, "b": WORDS | {"depends_on": needs}})
    site.world.submit("b", "7", id="mine")


def a_parent_that_is_to_fail(site: Site) -> None:
    site.define({"a": WORDS, "c": WORDS | {"depends_on": {"app_name": ["a"], "when": "failed"}}})
    site.world.submit("c")
    assert site.world.claim("a")


def a_parent_that_was_to_fail(site: Site) -> None:
    site.define({"a": WORDS, "c": WORDS | {"depends_on": {"app_name": ["a"], "when": "failed"}}})
    site.world.submit("c")
    site.world.finish("a")


def expired(site: Site) -> None:
    site.chain("a")
    site.world.submit("a", policy={"end_before": (site.world.now + timedelta(seconds=1)).isoformat()})
    site.world.tick(after_s=2)


def a_lost_lease(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    assert site.world.claim("a")
    site.dismiss()


def timed_out(site: Site) -> None:
    site.chain("a", timeout="1m")
    site.world.submit("a")
    claimed = site.world.claim("a")
    assert claimed
    site.world.record(claimed, Ending.TIMED_OUT, error="over its timeout of 1 min")


def suspended(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    claimed = site.world.claim("a")
    assert claimed
    site.world.record(claimed, Ending.SUSPENDED, event="payment")


def not_judged(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b")
    claimed = site.world.claim("a")
    assert claimed
    site.dismiss()
    ended = {claimed.right: Outcome(ending=Ending.DONE)}
    site.world.ledger.transact(lambda tx: outcomes.record(tx, ended))


def not_propagated(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b")
    site.world.ledger.transact(lambda tx: submissions.cancel_job(tx, JobName("a", "1")))
    site.dismiss()


def split_to_the_last_id(site: Site) -> None:
    site.define({"a": {"chunk_size": 3, "bash_cmd": "true", "on_failure": "bisect"}})
    site.world.submit("a", None, work_ids=[1, 2, 3])
    for ids in ("1-3", "1-2", "1"):
        site.world.finish(f"a/{ids}@1", Ending.ERROR)


def split_for_nothing(site: Site) -> None:
    site.define({"a": {"chunk_size": 2, "bash_cmd": "true", "on_failure": "bisect"}})
    site.world.submit("a", None, work_ids=[1, 2])
    site.world.finish("a/1-2@1", Ending.ERROR)
    site.world.finish("a/1@1")


def no_definition(site: Site) -> None:
    site.chain("gone")
    site.world.submit("gone")
    site.chain("other")
