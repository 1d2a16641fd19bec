"""Rate limits: no more rounds start than the bucket allows, and each job that waits for a token starts in its turn."""

from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.jobs.model.job import Ending
from sluice.jobs.states import LIVE, State
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.limits import rate_limits
from sluice.ledger.recovery.invariants import breaches
from tests.ledger.flights import Sagas, did
from tests.ledger.lineages import ask, lineage
from tests.ledger.poisoned_chunks import Farm
from tests.ledger.slot_queue import waiting_for_slot
from tests.world import LEASE_S, World

WORDS = {"job_id": "{x}", "bash_cmd": "true"}
_STARTS = """
SELECT running_at FROM round JOIN job ON job.id = round.job
WHERE job.app = %(app)s AND (round.claim = job.saga_first_claim OR job.saga_first_claim IS NULL) ORDER BY running_at
"""


def starts(world: World, app: str = "a") -> list[datetime]:
    return world.ledger.transact(lambda tx: tx.column(_STARTS, app=app))


def starts_s(world: World, since: datetime) -> list[float]:
    return [(at - since).total_seconds() for at in starts(world)]


def claim_all(world: World) -> list[str]:
    world.beat(world.worker)
    return [job for job in sorted(world.ready()) if world.claim(job)]


def run(world: World, seconds: int) -> None:
    """Claim whatever is ready, and let the groomer tick, once a second."""
    for _ in range(seconds):
        claim_all(world)
        world.tick(after_s=1)
    claim_all(world)


def within(found: list[datetime], burst: int, apart_s: float) -> bool:
    """The oracle: a bucket that loses a token for each start never has less than none."""
    left, before = float(burst), None
    for at in found:
        passed_s = (at - before).total_seconds() if before else 0.0
        left, before = min(float(burst), left + passed_s / apart_s) - 1, at
        if left < -1e-5:
            return False
    return True


def test_jobs_start_at_the_rate_and_the_others_wait(world: World) -> None:
    world.apps("a", rate_limit="1/2s")
    began = world.now
    for key in "1234":
        world.submit("a", key)
    assert (world.ready(), waiting_for_slot(world)) == ({"a"}, ["a/2", "a/3", "a/4"])
    run(world, 7)
    assert starts_s(world, began) == [0.0, 2.0, 4.0, 6.0]


def test_a_burst_starts_at_once_and_is_refilled_at_the_rate(world: World) -> None:
    world.apps("a", rate_limit={"limit": "1/s", "burst": 3})
    world.submit("a", None, keys=[*"123456789"])
    began = world.now
    run(world, 3)
    assert starts_s(world, began) == [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]
    world.now += timedelta(minutes=1)
    world.tick()
    assert len(claim_all(world)) == 3, "no more than the burst, however long the pause was"


def test_jobs_that_wait_to_be_claimed_reserve_their_tokens(world: World) -> None:
    """Workers that come late do not start more jobs at once than the burst."""
    world.apps("a", rate_limit={"limit": "10/s", "burst": 2})
    world.submit("a", None, keys=[*"123456"])
    for _ in range(5):
        world.tick(after_s=60)
    assert len(world.ready()) == 2
    assert len(claim_all(world)) == 2
    assert world.ready() == set()
    world.tick()
    assert world.ready() == set()


def test_the_most_urgent_job_gets_the_next_token(world: World) -> None:
    world.apps("a", rate_limit="1/s")
    for key, priority in (("1", 0), ("2", 0), ("3", 5)):
        world.submit("a", key, policy={"priority": priority})
    run(world, 1)
    assert waiting_for_slot(world) == ["a/2"]


def test_each_value_of_the_key_has_a_limit_of_its_own(world: World) -> None:
    limit = {"key": "{client}-{kwargs.region}", "limit": "1/m"}
    world.define({"a": {"job_id": "{date}_{client}", "bash_cmd": "true", "rate_limit": limit}})
    for key in ("1_x", "2_x", "1_y", "2_y"):
        world.submit("a", key, kwargs={"region": "eu"})
    assert waiting_for_slot(world) == ["a/2_x", "a/2_y"]
    assert world.field("a/1_x", "rate_bucket") == "a:x-eu"


def test_a_retry_is_another_start(world: World) -> None:
    world.apps("a", rate_limit="1/10s", max_fails=1)
    world.submit("a", "1")
    world.finish("a", Ending.ERROR)
    world.tick()
    assert (world.ready(), waiting_for_slot(world)) == (set(), ["a/1"])
    world.tick(after_s=9)
    assert world.ready() == set()
    world.tick(after_s=1)
    assert world.ready() == {"a"}


def test_a_job_that_is_handed_back_waits_for_another_token(world: World) -> None:
    world.apps("a", rate_limit="1/10s")
    world.submit("a", "1")
    assert world.record(world.take("a"), Ending.NOT_STARTED)
    assert (world.state("a"), waiting_for_slot(world)) == (State.WAITING, ["a/1"])
    assert "its app has a rate limit" in world.ledger.transact(
        lambda tx: tx.column("SELECT note FROM transition WHERE verb = 'requeue'")[0]
    )
    world.tick(after_s=10)
    assert world.ready() == {"a"}


def test_a_job_that_is_handed_back_is_ready_at_once_if_a_token_is_left(world: World) -> None:
    world.apps("a", rate_limit={"limit": "1/10s", "burst": 2})
    world.submit("a", "1")
    assert world.record(world.take("a"), Ending.HANDED_BACK)
    assert world.ready() == {"a"}


def test_the_job_of_a_lost_worker_waits_for_another_token(world: World) -> None:
    world.apps("a", rate_limit="1/h")
    world.submit("a", "1")
    world.take("a")
    world.tick(after_s=LEASE_S + 1)
    world.tick()
    assert waiting_for_slot(world) == ["a/1"]
    world.tick(after_s=3600)
    assert world.ready() == {"a"}


@pytest.mark.parametrize("how", ["cancel", "pause"])
def test_a_ready_job_that_is_withdrawn_leaves_its_token_to_the_next(world: World, how: str) -> None:
    world.apps("a", rate_limit="1/h")
    first = world.submit("a", "1")
    second = world.submit("a", "2")
    world.submit("a", "3")
    assert world.ready() == {"a"}
    getattr(world, how)(first)
    assert (world.ready(), waiting_for_slot(world)) == ({"a/2"}, ["a/3"])
    getattr(world, how)(second)
    assert world.ready() == {"a/3"}


def test_jobs_of_a_paused_app_keep_their_tokens_and_no_more(world: World) -> None:
    world.apps("a", rate_limit={"limit": "1/s", "burst": 2})
    world.submit("a", None, keys=[*"1234"])
    world.ledger.transact(lambda tx: tx.write("INSERT INTO app_pause (app, since) VALUES ('a', now())"))
    world.tick(after_s=100)
    assert claim_all(world) == []
    world.ledger.transact(lambda tx: tx.write("DELETE FROM app_pause"))
    assert len(claim_all(world)) == 2


def test_a_job_needs_both_a_slot_and_a_token(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}_{client}", "bash_cmd": "true", "rate_limit": "1/s"}
            | {"concurrency": {"key": "{client}", "limit": 1}},
        }
    )
    for key in ("1_x", "2_x", "1_y", "2_y"):
        world.submit("a", key)
    assert world.ready() == {"a/1_x"}
    first = world.take("a/1_x")
    world.tick(after_s=1)
    assert world.ready() == {"a/1_y"}, "2_x has no slot, and does not block the others"
    world.take("a/1_y")
    world.tick(after_s=5)
    assert world.ready() == set(), "tokens alone do not suffice"
    world.record(first)
    world.deliver()
    assert world.ready() == {"a/2_x"}
    assert waiting_for_slot(world) == ["a/2_y"]


def test_a_job_without_a_token_does_not_block_other_apps_of_its_pool(world: World) -> None:
    pool = {"concurrency": {"pool": "p", "limit": 3}}
    world.define({"a": WORDS | pool | {"rate_limit": "1/h"}, "b": WORDS | pool})
    for app, key in (("a", "1"), ("a", "2"), ("b", "3")):
        world.submit(app, key)
    assert world.ready() == {"a", "b/3"}


def test_a_changed_limit_applies_to_waiting_jobs(world: World) -> None:
    world.apps("a", rate_limit="1/h")
    world.submit("a", None, keys=[*"12345678"])
    run(world, 2)
    assert len(starts(world)) == 1
    world.apps("a", rate_limit={"limit": "2/s", "burst": 2})
    run(world, 2)
    assert len(starts(world)) == 5
    world.apps("a", rate_limit="1/h")
    run(world, 2)
    assert len(starts(world)) == 5


def test_a_limit_that_is_removed_lets_all_waiting_jobs_start(world: World) -> None:
    world.apps("a", rate_limit="1/h")
    world.submit("a", None, keys=[*"1234"])
    world.apps("a")
    run(world, 2)
    assert len(starts(world)) == 4
    assert world.ledger.transact(rate_limits.terms) == {}
    world.tick(after_s=1)
    assert world.ledger.transact(lambda tx: tx.column("SELECT count(*) FROM rate_start")) == [0]


def test_a_limit_that_is_added_applies_to_jobs_that_are_planned_later(world: World) -> None:
    world.apps("a")
    world.submit("a", "1")
    world.apps("a", rate_limit="1/h")
    for key in "23":
        world.submit("a", key)
    assert world.ready() == {"a", "a/2"}
    assert waiting_for_slot(world) == ["a/3"]


def test_children_that_open_in_the_settling_transaction_wait_too(world: World) -> None:
    world.apps("a -> b", rate_limit="1/h")
    for key in "12":
        world.submit("b", key)
    world.finish("a")
    assert world.ready() == {"b"}
    world.record(world.take("b"))
    world.ledger.transact(lambda tx: rate_limits.take(tx, ["b", "b"]))
    world.tick(after_s=3600)
    world.finish("a/2")
    assert (world.ready(), waiting_for_slot(world)) == (set(), ["b/2"])


def test_chunks_and_partitions_are_limited_too(world: World) -> None:
    farm = Farm(world, "a:2", rate_limit="1/h")
    farm.submit("a", range(1, 7))
    assert (len(world.ready()), len(waiting_for_slot(world))) == (1, 2)
    world.define(lineage("s", rate_limit="1/h"))
    ask(world, "s", "2024-04-01", "2024-04-05")
    assert len(waiting_for_slot(world)) > 2


def test_a_full_bucket_has_no_rows(world: World) -> None:
    world.apps("a", rate_limit={"limit": "1/s", "burst": 100})
    world.submit("a", None, keys=[str(number) for number in range(50)])
    claim_all(world)
    rows = "SELECT count(*), sum(tokens) FROM rate_start"
    assert world.ledger.transact(lambda tx: tx.rows(rows)) == [(50, 50.0)]
    world.submit("a", "again")
    world.submit("a", "and-again")
    assert world.ledger.transact(lambda tx: tx.rows(rows)) == [(1, 50.0)], "many starts are added up"
    claim_all(world)
    world.tick(after_s=51)
    assert world.ledger.transact(lambda tx: tx.rows(rows))[0][0] == 3, "one token is still missing"
    world.tick(after_s=2)
    assert world.ledger.transact(lambda tx: tx.rows(rows)) == [(0, None)]


def test_a_saga_takes_one_token_for_a_flight(world: World) -> None:
    world.apps("a", rate_limit="1/h")
    for key in "12":
        world.submit("a", key)
    sagas = Sagas(world)
    for _ in range(3):
        claimed = sagas.claim("a")
        assert sagas.write(claimed, did(claimed.claim)).stands
        assert world.record(claimed, Ending.HANDED_BACK)
        world.tick()
        assert world.ready() == {"a"}, "the flight continues without a token"
    assert waiting_for_slot(world) == ["a/2"]
    world.tick(after_s=3599)
    assert waiting_for_slot(world) == ["a/2"]
    world.tick(after_s=1)
    assert world.ready() == {"a", "a/2"}


#: Round trips that a job with a rate limit takes beyond a job without, from its submission to its end, if all
#: statements are prepared: to store the limit, to make the job wait and admit it, to take the token, and to admit
#: others at its end.
LIMITED_TRIPS = 8


def test_an_app_without_the_option_writes_nothing_and_has_no_more_statements(world: World) -> None:
    world.apps("a, b, c, d")
    limited = {app: world.defined[app] | {"rate_limit": "1/h"} for app in "bd"}
    world.define(world.defined | limited)
    # The connection prepares each statement at its first use, here for jobs of other apps.
    trips = {app: _round_trips(world, app) for app in "cdab"}
    assert world.field("a", "pool") is None
    assert trips["b"] == trips["a"] + LIMITED_TRIPS
    assert world.ledger.transact(lambda tx: tx.column("SELECT bucket FROM rate_start ORDER BY bucket")) == [
        "b",
        "d",
    ]


def _round_trips(world: World, app: str) -> int:
    before = world.ledger.round_trips()
    world.submit(app)
    world.finish(app)
    return world.ledger.round_trips() - before


#: Possible events of the jobs of an app: submit this many, let tenths of a second pass, tick, claim, end a run
#: in some way, or withdraw a submission.
EVENTS = st.one_of(
    st.tuples(st.just("submit"), st.integers(1, 4)),
    st.tuples(st.just("wait"), st.integers(1, 30)),
    st.tuples(st.just("tick"), st.just(0)),
    st.tuples(st.just("claim"), st.integers(1, 4)),
    st.tuples(st.sampled_from(["done", "error", "handed_back"]), st.integers(0, 9)),
    st.tuples(st.sampled_from(["cancel", "pause", "resume"]), st.integers(0, 9)),
)


@given(
    burst=st.integers(1, 4),
    rate=st.sampled_from([("2/s", 0.5), ("3/s", 1 / 3), ("1/700ms", 0.7)]),
    events=st.lists(EVENTS, min_size=5, max_size=30),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, *HealthCheck]
)
def test_no_events_let_more_jobs_start_than_the_bucket_has_tokens(
    embedded_url: str, burst: int, rate: tuple[str, float], events: list[tuple[str, int]]
) -> None:
    with World(embedded_url) as world:
        world.apps("a", rate_limit={"limit": rate[0], "burst": burst}, max_fails=9)
        history = History(world)
        for kind, number in events:
            history.add(kind, number)
        assert within(starts(world), burst, rate[1])
        assert world.ledger.transact(breaches) == []
        history.drain()
        assert within(starts(world), burst, rate[1])
        assert set(world.states().values()) <= {State.SUCCEEDED, State.CANCELLED}


class History:
    """Random history of the jobs of an app."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.running: list[ClaimedJob] = []
        self.ids: list[str] = []

    def add(self, kind: str, number: int) -> None:
        world = self.world
        if kind == "submit":
            first = len(self.ids) * 10
            keys = [str(first + nth) for nth in range(number)]
            self.ids.append(world.submit("a", None, keys=keys))
        elif kind == "wait":
            world.now += timedelta(seconds=number / 10)
        elif kind == "tick":
            world.tick()
        elif kind == "claim":
            world.beat(world.worker)
            claims = [world.claim(job) for job in sorted(world.ready())[:number]]
            self.running += [claimed for claimed in claims if claimed]
        elif kind in ("done", "error", "handed_back"):
            if self.running:
                world.record(self.running.pop(number % len(self.running)), Ending(kind))
        elif self.ids:
            getattr(world, kind)(self.ids[number % len(self.ids)])

    def drain(self) -> None:
        """Resume everything, and let time pass until all jobs have ended. Each tick lets at least one of them start."""
        for id in self.ids:
            self.world.resume(id)
        for _ in range(200):
            if not set(self.world.states().values()) & LIVE:
                return
            self.add("claim", 9)
            while self.running:
                self.add("done", 0)
            self.world.tick(after_s=1)
        raise AssertionError(f"jobs do not start: {self.world.states()}")
