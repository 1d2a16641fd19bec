"""Commands of an operator about jobs that wait for a slot of their pool."""

import json
import re

import pytest

from sluice.jobs.states import State
from sluice.ledger.reads import pool_queue
from sluice.ledger.reads.pool_queue import POOLS_MAX
from sluice.ops.cli.main import main
from tests.ops.site import WORDS, Site
from tests.world import World

POOL = {"concurrency": {"pool": "warehouse", "limit": 2}, "submitters_may_set": ["concurrency"]}


def _full(site: Site) -> None:
    """Fill a pool: ``a`` runs and ``b`` is ready. ``c`` waits for a slot, and ``d`` behind it."""
    site.define(dict.fromkeys("abcd", WORDS | POOL))
    for app in "abcd":
        site.world.submit(app)
    assert site.world.claim("a") is not None


def test_why_names_the_full_pool_its_slots_and_the_jobs_before(site: Site) -> None:
    _full(site)
    said = site.why("d")
    assert said["because"] == (
        "d/1 may run, but pool warehouse is full: no more than 2 of its jobs run at once, and 1 job is before it"
    )
    assert [(each["kind"], each["what"]) for each in said["waits_for"]] == [
        ("pool", "a/1, which site:7 runs"),
        ("pool", "b/1, which is ready, and which no worker has claimed yet"),
        ("queue", "1 job is before it in the queue for pool warehouse, more urgent or older"),
    ]
    assert {each["app"] for each in said["waits_for"] if each["kind"] == "pool"} == {"a", "b"}


def test_the_suggested_priority_moves_a_job_to_the_front(site: Site) -> None:
    _full(site)
    (remedy,) = site.why("d")["remedies"]
    assert remedy["command"] == "sluice submit --priority 1 d 1"
    site.world.submit("d", policy={"priority": 1})
    assert "before it" not in site.why("d")["because"]
    assert site.why("d")["remedies"] == []
    assert "and 1 job is before it" in site.why("c")["because"]


def test_why_explains_an_app_that_runs_one_job_at_a_time(site: Site) -> None:
    site.define({"a": WORDS | {"concurrency": 1}})
    for key in "123":
        site.world.submit("a", key)
    assert site.why("a/3")["because"] == (
        "a/3 may run, but the pool of a is full: its jobs run one at a time, and 1 job is before it"
    )


def test_a_job_with_a_free_slot_waits_for_the_groomer(site: Site) -> None:
    _full(site)
    site.world.ledger.transact(lambda tx: tx.write("UPDATE job SET pool_limit = 3"))
    said = site.why("c")
    assert said["because"] == "c/1 may run, and pool warehouse has a slot free"
    assert said["waits_for"][0]["what"] == "the groomer's next tick"


def test_why_of_a_paused_job_names_the_pause_and_not_the_pool(site: Site) -> None:
    site.define({"a": WORDS | {"concurrency": 1}})
    site.world.submit("a", "1")
    site.world.submit("a", "2", id="nightly")
    site.world.pause("nightly")
    assert "sluice resume nightly" in str(site.why("a/2")["remedies"])
    assert "pool" not in site.why("a/2")["because"]


def test_why_of_a_child_names_the_full_pool_of_its_parent(site: Site) -> None:
    site.define({"a": WORDS | {"concurrency": 1}, "b": WORDS | {"depends_on": {"app_name": ["a"]}}})
    site.world.submit("a", "0")
    site.world.submit("b", "1")
    assert "the pool of a is full" in str(site.why("b")["waits_for"])


def test_a_job_is_shown_with_its_pool(site: Site) -> None:
    _full(site)
    shown = {app: site.says("show", app, "1") for app in "ac"}
    assert {
        app: (each["pool"], each["pool_limit"], each["waiting_for_slot"]) for app, each in shown.items()
    } == {
        "a": ("pool warehouse", 2, False),
        "c": ("pool warehouse", 2, True),
    }
    assert "pool warehouse, 2 at once, waiting for a slot" in site.in_words("c", "show")
    assert "pool warehouse, 2 at once\n" in site.in_words("a", "show")
    site.define({"a": WORDS})
    site.world.submit("a", "2")
    assert site.says("show", "a", "2")["pool"] is None


def test_workers_are_listed_with_the_pools_that_jobs_wait_for(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    _full(site)
    site.world.submit("d", "2", policy={"concurrency": {"pool": "warehouse", "limit": 1}})
    (worker,) = site.says("workers")
    assert (worker["host"], worker["running"]) == ("site", 1)
    (pool,) = worker["pools"]
    slots = [(slot["app"], slot["state"], slot["worker"]) for slot in pool.pop("slots")]
    assert slots == [("a", "running", "site:7"), ("b", "ready", None)]
    assert pool == {
        "pool": "pool warehouse",
        "pool_limit": 2,
        "pool_limit_min": 1,
        "waiting_for_slot": 3,
        "taken": 2,
    }
    assert main(["workers"]) == 0
    told = capfd.readouterr().out
    assert "pool warehouse  1 to 2   3                   a/1 (running, site:7), b/1 (ready)\n" in told


def test_a_pool_without_waiting_jobs_is_not_listed_with_the_workers(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    site.define({"a": WORDS | POOL})
    site.world.submit("a")
    assert site.world.claim("a") is not None
    assert [worker["pools"] for worker in site.says("workers")] == [[]]
    assert main(["workers"]) == 0
    assert "waiting for a slot" not in capfd.readouterr().out


def test_of_many_pools_and_slots_the_rest_is_only_counted(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    site.define({"a": WORDS | {"concurrency": {"key": "{kwargs.client}", "limit": 7}}})
    for client in range(POOLS_MAX + 2):
        for number in range(8):
            site.world.submit("a", f"{client}-{number}", kwargs={"client": client})
    assert main(["workers"]) == 0
    told = capfd.readouterr().out
    assert told.count("the pool of a:") == POOLS_MAX
    assert told.count("a/0-4 (ready), 2 more\n") == 1
    assert "Jobs wait for slots of 2 more pools.\n" in told


def test_pools_are_listed_without_reading_all_jobs(world: World) -> None:
    many = """
        INSERT INTO job (app, key, state, unblocked, pool, pool_limit, waiting_for_slot, created_at, changed_at)
        SELECT 'a', 'k' || n, state, true, 'pool p' || mod(n, 4), 3, state = %(waits)s, now(), now()
        FROM generate_series(1, 20000) n CROSS JOIN LATERAL (
            SELECT CASE WHEN n <= 12 THEN %(runs)s WHEN mod(n, 10) < 2 THEN %(waits)s ELSE %(done)s END) as it (state)
    """
    states = {"runs": State.READY, "waits": State.WAITING, "done": State.SUCCEEDED}
    world.ledger.transact(lambda tx: tx.write(many, **states))
    world.ledger.transact(
        lambda tx: tx.write("INSERT INTO state_count SELECT app, state, count(*), 0 FROM job GROUP BY 1, 2")
    )
    world.ledger.transact(lambda tx: tx.write("ANALYZE job"))
    pools = ["pool p0", "pool p1"]
    words = {"pools": pools, "limit": 1001}
    for sql in (pool_queue._POOLS, pool_queue._LINED_UP, pool_queue._SLOTS, pool_queue._KEPT_BUSY):
        (plan,) = world.ledger.transact(
            lambda tx, sql=sql: tx.column(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", **words)
        )
        text = json.dumps(plan)
        assert "job_slot_queue" in text or "job_slot" in text, text
        assert not re.search(r'"Seq Scan"[^{}]*"Relation Name": "job"', text), text
    found = world.ledger.transact(pool_queue.pools)
    assert [(each.pool, each.behind, each.taken) for each in found.told] == [
        (f"pool p{number}", 999 if number else 1000, 3) for number in range(4)
    ]


LIMITED = {"rate_limit": {"limit": "1/10s", "burst": 2}}


def test_why_names_the_rate_limit_and_the_time_of_the_start(site: Site) -> None:
    site.define({"a": WORDS | LIMITED})
    for key in "1234":
        site.world.submit("a", key)
    assert site.why("a/4")["because"] == (
        "a/4 may run, but the rate limit of a is reached: one of its jobs starts every 10 s, and 1 job is before it"
    )
    assert site.why("a/3")["waits_for"] == [
        {
            "kind": "rate",
            "what": "workers to claim the jobs that are ready, which have all starts reserved",
        }
    ]
    for key in "12":
        assert site.world.claim(f"a/{key}") is not None
    waits = [site.why(f"a/{key}")["waits_for"][0] for key in "34"]
    assert [each["kind"] for each in waits] == ["rate", "rate"]
    assert re.fullmatch(r"the rate limit of a, not before \S+ \S+ UTC, in \d(\.\d)? s", waits[0]["what"])
    assert re.fullmatch(r"the rate limit of a, not before \S+ \S+ UTC, in 1\d(\.\d)? s", waits[1]["what"])
    (remedy,) = [each for each in site.why("a/4")["remedies"] if "priority" in each["command"]]
    assert remedy["command"] == "sluice submit --priority 1 a 4"
    site.world.ledger.transact(lambda tx: tx.write("UPDATE rate_start SET at = at - interval '20s'"))
    assert site.why("a/3")["because"] == "a/3 may run, and the rate limit of a lets it start"


def test_why_names_the_full_pool_first_if_there_is_also_a_rate_limit(site: Site) -> None:
    site.define({"a": WORDS | POOL | LIMITED})
    for key in "123":
        site.world.submit("a", key)
    assert "pool warehouse is full" in site.why("a/3")["because"]


def test_show_and_workers_name_the_rate_limit(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.define({"a": WORDS | LIMITED})
    for key in "123":
        site.world.submit("a", key)
    shown = site.says("show", "a", "3")
    assert (shown["pool"], shown["pool_limit"], shown["rate_bucket"]) == (None, None, "a")
    assert main(["show", "a", "3"]) == 0
    assert "the rate limit of a, waiting for its turn" in capfd.readouterr().out
    assert main(["workers"]) == 0
    assert "any number; only its starts are limited" in capfd.readouterr().out
    assert site.says("apps", "show", "a")["rate_limit"] == {
        "starts": 1,
        "per_s": 10.0,
        "burst": 2,
        "key": None,
    }
    assert main(["apps", "show", "a"]) == 0
    assert "rate limit: 1 starts in each 10 s, 2 at once" in capfd.readouterr().out
