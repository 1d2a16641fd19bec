"""``random_start_offset``: starts that are delayed at random. A replay draws the same delays again."""

from datetime import datetime, timedelta
from typing import Any

from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from sluice.ledger.fixtures import empty
from tests.world import World

KEYS = [str(key) for key in range(300)]
APP = {"job_id": "{x}", "bash_cmd": "true"}


def _put_off_s(world: World, app: str = "a") -> list[float]:
    """Return the delay of each job of the app in seconds, counted from its creation."""
    rows = world.ledger.transact(
        lambda tx: tx.rows(
            "SELECT extract(epoch FROM not_before - created_at)::float8 FROM job WHERE app = %(app)s ORDER BY id",
            app=app,
        )
    )
    return [offset_s for (offset_s,) in rows]


def _not_before(world: World, job: str) -> datetime | None:
    moment: datetime | None = world.field(job, "not_before")
    return moment


def test_starts_are_spread_evenly_over_the_offset(world: World) -> None:
    world.apps("a")
    world.submit("a", None, keys=KEYS, policy={"random_start_offset": "10s"})
    offsets_s = _put_off_s(world)
    assert all(0 <= offset_s < 10 for offset_s in offsets_s)
    for from_s in range(0, 10, 2):
        share = [offset_s for offset_s in offsets_s if from_s <= offset_s < from_s + 2]
        assert 30 <= len(share) <= 90, f"{len(share)} of {len(KEYS)} start within 2 s after {from_s} s"


def test_the_offset_is_added_to_start_after(world: World) -> None:
    world.apps("a")
    start = world.now + timedelta(seconds=100)
    for key in "123":
        policy = {"start_after": start.isoformat(), "random_start_offset": True}
        world.submit("a", key, policy=policy)
        put_off = _not_before(world, f"a/{key}")
        assert put_off is not None
        assert start <= put_off < start + timedelta(seconds=1)
    world.tick(after_s=99)
    assert world.ready() == set()
    world.tick(after_s=2)
    assert world.ready() == {"a", "a/2", "a/3"}


def test_a_delay_is_counted_from_planning(world: World) -> None:
    world.apps("a, b", start_after="1m")
    world.submit("a", policy={"start_after": "90s"})
    world.submit("b")
    assert _put_off_s(world, "b") == [60.0]
    assert _put_off_s(world, "a") == [90.0]
    world.tick(after_s=61)
    assert world.ready() == {"b"}


def test_the_random_offset_is_added_to_a_delay(world: World) -> None:
    world.apps("a", start_after="1m", random_start_offset="10s")
    world.submit("a", None, keys=KEYS[:20])
    assert all(60 <= offset_s < 70 for offset_s in _put_off_s(world))


def test_a_delayed_job_is_not_claimed_before_its_time(world: World) -> None:
    world.apps("a", random_start_offset="1h")
    world.submit("a")
    put_off = _not_before(world, "a")
    assert put_off is not None
    assert world.claim("a") is None
    world.tick(after_s=(put_off - world.now).total_seconds() - 1)
    assert world.state("a") is State.WAITING
    world.tick(after_s=1)
    world.finish("a")
    assert world.state("a") is State.SUCCEEDED


def test_runs_of_one_key_get_different_delays_and_a_replay_gets_the_same(world: World) -> None:
    def drawn() -> list[float]:
        world.ledger.transact(empty)
        world.worker = world.hire()
        found = []
        for _ in range(3):
            world.submit("a", rerun="job")
            put_off = _not_before(world, "a")
            assert put_off is not None
            found.append((put_off - world.now).total_seconds())
            world.tick(after_s=3600)
            world.finish("a")
        return found

    world.apps("a", random_start_offset="1h")
    first = drawn()
    assert len(set(first)) == 3
    assert drawn() == first


def test_retries_are_not_delayed_by_the_offset(world: World) -> None:
    world.apps(
        "a",
        random_start_offset="1h",
        max_fails=1,
        max_timeouts=1,
        timeout=5,
        retry={"rule": "fixed", "seconds": 7},
    )
    world.submit("a")
    world.tick(after_s=3600)
    world.finish("a", Ending.ERROR)
    assert _not_before(world, "a") == world.now + timedelta(seconds=7)
    world.tick(after_s=7)
    world.beat(world.worker)
    assert world.claim("a") is not None
    world.tick(after_s=8)
    assert (world.state("a"), world.round("a")) == (State.READY, 2)


def test_children_chunks_and_partition_steps_are_delayed_too(world: World) -> None:
    put_off = {"random_start_offset": "1h", "bash_cmd": "true"}
    chunked: dict[str, Any] = {"chunk_size": 2, **put_off}
    step = {"output_table": "t", "partition": {"unit": "day"}, "step_size": 1, **put_off}
    needing = {**APP, "depends_on": {"app_name": ["a"]}, **put_off}
    world.define({"a": APP, "b": needing, "chunked": chunked, "step": step})
    world.submit("a")
    world.finish("a")
    world.submit("chunked", None, work_ids=[1, 2, 3, 4])
    world.submit("step", None, start="2026-01-01", end="2026-01-02")
    assert world.ready() == set()
    for app, jobs in (("b", 1), ("chunked", 2), ("step", 2)):
        offsets_s = _put_off_s(world, app)
        assert len(set(offsets_s)) == jobs
        assert all(0 < offset_s < 3600 for offset_s in offsets_s)


def test_without_an_offset_no_start_is_delayed(world: World) -> None:
    world.apps("a", random_start_offset=False)
    world.submit("a")
    assert _not_before(world, "a") is None
    assert world.ready() == {"a"}
