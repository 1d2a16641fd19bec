"""Tables that are filled outside of Sluice: jobs that wait for a partition go on once it has landed."""

import re
from typing import Any

import pytest

from sluice.actors.client import Client
from sluice.actors.executor.assignments import assign
from sluice.actors.planner import landed_partitions
from sluice.jobs.errors import BadRequest
from sluice.jobs.states import State
from tests.world import World

READER = {
    "report": {
        "bash_cmd": "true",
        "step_size": 2,
        "table_dependencies": [{"table": "events"}],
    }
}
CUMULATIVE = {
    "report": {"bash_cmd": "true", "table_dependencies": [{"table": "users", "cumulative": True}]},
}


def _keys(world: World) -> dict[str, State]:
    return {name.split("@")[0]: state for name, state in world.states().items()}


def test_a_step_waits_for_each_partition_that_it_reads(world: World) -> None:
    world.define(READER)
    world.submit("report", None, start="2024-04-01", end="2024-04-04")
    assert world.land("events", "2024-04-01", "2024-04-04") == 2
    assert _keys(world)["report/2024-04-01..2024-04-02"] is State.WAITING
    assert world.land("events", "2024-04-02..2024-04-02") == 1
    assert _keys(world)["report/2024-04-01..2024-04-02"] is State.READY
    assert _keys(world)["report/2024-04-03..2024-04-04"] is State.WAITING


def test_a_job_does_not_wait_for_partitions_before_the_first_of_an_external_table(world: World) -> None:
    events = {"table": "events", "start_offset": 6, "partition": {"first": "2024-04-01"}}
    world.define(
        {
            "rolling": {"bash_cmd": "true", "table_dependencies": [events]},
            "other": {"bash_cmd": "true", "table_dependencies": [{"table": "events", "start_offset": 2}]},
        }
    )
    world.submit("rolling", None, start="2024-04-02", end="2024-04-02")
    world.submit("other", None, start="2024-03-31", end="2024-04-01")
    assert _keys(world) == {
        "events/2024-04-01": State.EXPECTED,
        "events/2024-04-02": State.EXPECTED,
        "rolling/2024-04-02": State.WAITING,
        "other/2024-03-31": State.READY,
        "other/2024-04-01": State.WAITING,
    }
    world.land("events", "2024-04-01..2024-04-02")
    rolling = next(name for name in world.ready() if name.startswith("rolling"))
    claimed = world.take(rolling)
    assignment = assign(world.catalogue["rolling"], claimed)
    assert assignment.inputs == {"events": ("2024-04-01", "2024-04-02")}


def test_a_job_does_not_wait_for_partitions_that_landed_before(world: World) -> None:
    world.define(READER)
    world.land("events", "2024-04-01..2024-04-02")
    world.submit("report", None, start="2024-04-01", end="2024-04-02")
    assert _keys(world) == {"report/2024-04-01..2024-04-02": State.READY}


def test_landing_a_partition_again_changes_nothing(world: World) -> None:
    world.define(READER)
    assert world.land("events", "2024-04-01") == 1
    assert world.land("events", "2024-04-01") == 0


def test_a_client_lands_partitions_again_and_restates_what_was_made_from_them(world: World) -> None:
    world.define(READER)
    client = Client(world.ledger, world.queue.extend, lambda: world.catalogue)
    landing = client.land("events", ["2024-04-01..2024-04-02"])
    assert (landing.new, landing.again, landing.stale) == (2, 0, {})
    world.submit("report", None, start="2024-04-01", end="2024-04-02")
    world.finish(next(iter(world.ready())))
    landing = client.land("events", ["2024-04-02..2024-04-03"], again=True)
    assert (landing.new, landing.again, landing.stale) == (1, 1, {"report": 1})
    assert client.restate("events", ["2024-04-01"]) == []
    (id_,) = client.restate("events")
    world.deliver()
    assert _keys(world)["report/2024-04-02"] is State.READY
    world.finish(next(iter(world.ready())))
    assert world.submission(id_) == "succeeded"
    assert client.restate() == []


def test_a_client_without_definitions_lands_nothing(world: World) -> None:
    with pytest.raises(BadRequest, match="no definitions"):
        Client(world.ledger, world.queue.extend).land("events", ["2024-04-01"])


def test_any_later_partition_of_a_cumulative_table_satisfies_its_reader(world: World) -> None:
    world.define(CUMULATIVE)
    world.submit("report", None, start="2024-04-07", end="2024-04-07")
    world.land("users", "2024-04-06")
    assert _keys(world)["report/2024-04-07"] is State.WAITING
    world.land("users", "2024-04-20")
    assert _keys(world)["report/2024-04-07"] is State.READY
    world.submit("report", None, start="2024-04-20", end="2024-04-21")
    assert _keys(world)["report/2024-04-20"] is State.READY
    assert _keys(world)["report/2024-04-21"] is State.WAITING


def test_a_landed_partition_is_not_made_by_the_app_of_its_table(world: World) -> None:
    world.define(
        {"a": {"bash_cmd": "true", "output_table": "t"}, "b": {"table_dependencies": [{"table": "t"}]}}
    )
    world.land("t", "2024-04-01")
    world.submit("b", None, start="2024-04-01", end="2024-04-02")
    assert set(_keys(world)) == {"b/2024-04-01", "b/2024-04-02", "a/2024-04-02"}


def test_landing_refuses_an_unknown_table_and_an_invalid_partition(world: World) -> None:
    world.define(READER)
    with pytest.raises(BadRequest, match="No app fills or reads"):
        world.land("event", "2024-04-01")
    with pytest.raises(BadRequest, match="not a partition of events"):
        world.land("events", "2024-04-31")


def test_a_landing_succeeds_although_older_jobs_have_another_partition_unit(world: World) -> None:
    world.define(READER)
    world.submit("report", None, start="2024-04-01", end="2024-04-02")
    reading = {"table": "events", "partition": "hour"}
    world.define({"report": READER["report"] | {"table_dependencies": [reading]}})
    assert world.land("events", "2024-04-01-03") == 1
    assert State.READY not in _keys(world).values()


def test_a_landing_releases_every_job_that_waits_for_it(world: World) -> None:
    world.define(
        {name: {"bash_cmd": "true", "table_dependencies": [{"table": "events"}]} for name in ("one", "two")}
    )
    world.submit("one", None, start="2024-04-01", end="2024-04-01")
    world.submit("two", None, start="2024-04-01", end="2024-04-02")
    world.land("events", "2024-04-01")
    assert _keys(world) == {
        "events/2024-04-01": State.SUCCEEDED,
        "events/2024-04-02": State.EXPECTED,
        "one/2024-04-01": State.READY,
        "two/2024-04-01": State.READY,
        "two/2024-04-02": State.WAITING,
    }


def test_a_job_waits_for_a_missing_partition_although_later_ones_have_landed(world: World) -> None:
    world.define(READER)
    world.land("events", "2024-04-01..2024-04-02", "2024-04-04..2024-04-30")
    world.submit("report", None, start="2024-04-01", end="2024-04-06")
    states = _keys(world)
    assert states["report/2024-04-03..2024-04-04"] is State.WAITING
    assert states["report/2024-04-05..2024-04-06"] is State.READY


def test_a_submission_that_joined_a_waiting_step_succeeds_after_the_landing(world: World) -> None:
    world.define(READER | {"summary": {"bash_cmd": "true", "table_dependencies": [{"table": "report"}]}})
    first = world.submit("report", None, start="2024-04-01", end="2024-04-02")
    second = world.submit("summary", None, start="2024-04-02", end="2024-04-02")
    world.cancel(first)
    world.land("events", "2024-04-01..2024-04-02")
    world.finish(next(iter(world.ready())))
    world.finish(next(iter(world.ready())))
    assert world.submission(second) == "succeeded"


def test_a_later_partition_releases_cumulative_readers_but_not_exact_ones(world: World) -> None:
    exact = {"bash_cmd": "true", "table_dependencies": [{"table": "users"}]}
    both = {"bash_cmd": "true", "table_dependencies": [{"table": "report"}, {"table": "exact"}]}
    world.define(CUMULATIVE | {"exact": exact, "both": both})
    world.submit("both", None, start="2024-04-07", end="2024-04-07")
    world.land("users", "2024-04-20")
    assert _keys(world)["exact/2024-04-07"] is State.WAITING
    world.land("users", "2024-04-07")
    assert _keys(world)["exact/2024-04-07"] is _keys(world)["report/2024-04-07"] is State.READY


def test_a_cumulative_reader_waits_for_a_later_partition_in_progress(
    world: World,
) -> None:
    world.define(CUMULATIVE | {"users": {"bash_cmd": "true", "partition": "day"}})
    world.submit("users", None, start="2024-04-10", end="2024-04-11")
    world.submit("report", None, start="2024-04-07", end="2024-04-07")
    assert _keys(world) == {
        "users/2024-04-10": State.READY,
        "users/2024-04-11": State.READY,
        "report/2024-04-07": State.WAITING,
    }
    world.finish(next(name for name in world.ready() if "04-10" in name))
    assert _keys(world)["report/2024-04-07"] is State.READY


def test_too_many_partitions_cannot_land_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landed_partitions, "PARTITIONS_MAX", 3)
    world.define(READER)
    with pytest.raises(BadRequest, match="more than 3 partitions at once"):
        world.land("events", "2024-04-01..2024-04-02", "2024-04-03..2024-04-04")
    assert world.land("events", "2024-04-01..2024-04-03") == 3


BY = {"store": ["graz", "oslo"]}
SLICED = {
    "report": {
        "bash_cmd": "true",
        "partition": {"by": BY},
        "table_dependencies": [{"table": "events", "partition": {"by": BY}}],
    }
}


def test_a_client_lands_one_slice_and_restates_chosen_slices(world: World) -> None:
    world.define(SLICED)
    client = Client(world.ledger, world.queue.extend, lambda: world.catalogue)
    world.submit("report", None, start="2024-04-01", end="2024-04-01")
    assert client.land("events", ["2024-04-01"], by={"store": "oslo"}).new == 1
    world.deliver()
    assert _keys(world) == {
        "events[store=graz]/2024-04-01": State.EXPECTED,
        "events[store=oslo]/2024-04-01": State.SUCCEEDED,
        "report/graz/2024-04-01": State.WAITING,
        "report/oslo/2024-04-01": State.READY,
    }
    world.finish(next(iter(world.ready())))
    landing = client.land("events", ["2024-04-01"], by={"store": "oslo"}, again=True)
    assert (landing.new, landing.again, landing.stale) == (0, 1, {"report[store=oslo]": 1})
    assert client.restate("events", by={"store": "graz"}) == []
    (id_,) = client.restate("events", by={"store": ["graz", "oslo"]})
    world.deliver()
    world.finish(next(iter(world.ready())))
    assert world.submission(id_) == "succeeded"


@pytest.mark.parametrize(
    ("table", "by", "what"),
    [
        ("events", None, "no slice of it is named"),
        ("events", {"store": "turku"}, "there is no store 'turku'"),
        ("events", {"shop": "oslo"}, "its second dimension is store, not shop"),
        ("events", {}, "its second dimension is store, not empty"),
        ("events", {"store": ["graz", "oslo"]}, "It names 2 slices"),
        ("events[store=oslo]", {"store": "oslo"}, "has no second dimension"),
        ("event", {"store": "oslo"}, "No app fills or reads a table 'event'"),
    ],
)
def test_a_landing_names_exactly_one_slice(world: World, table: str, by: Any, what: str) -> None:
    world.define(SLICED)
    client = Client(world.ledger, world.queue.extend, lambda: world.catalogue)
    with pytest.raises(BadRequest, match=re.escape(what)):
        client.land(table, ["2024-04-01"], by=by)
