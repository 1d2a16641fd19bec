"""Tables with a second dimension in the ledger: claims, landings, staleness and restatement of single slices."""

from typing import Any

import pytest

from sluice.actors.planner.landed_partitions import land, stale_partitions
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import SubmissionState
from tests.ledger.lineages import named, ready, work_off
from tests.world import World

BY = {"store": ["graz", "oslo"]}
EVENTS = {"table": "events", "partition": {"by": BY}}
#: ``sales`` and ``top`` have a slice for each store; ``total`` reads every slice.
APPS: dict[str, Any] = {
    "sales": {"bash_cmd": "true", "partition": {"by": BY}, "step_size": 2, "table_dependencies": [EVENTS]},
    "top": {"bash_cmd": "true", "partition": {"by": BY}, "table_dependencies": [{"table": "sales"}]},
    "total": {"bash_cmd": "true", "table_dependencies": [{"table": "sales"}]},
}
_STALE = "SELECT table_name, partition - 19814 + 1 FROM partition WHERE stale_since IS NOT NULL ORDER BY 1, 2"
_OF_SLICES = "SELECT table_name, count(*) FROM partition WHERE done_at IS NOT NULL GROUP BY 1 ORDER BY 1"


@pytest.fixture
def sliced(world: World) -> World:
    world.define(APPS)
    return world


def _ask(world: World, app: str, **words: Any) -> str:
    return world.submit(app, None, start="2024-04-01", end="2024-04-03", **words)


def _land(world: World, *stores: str) -> None:
    for store in stores:
        world.land(f"events[store={store}]", "2024-04-01..2024-04-03")


def _made(world: World) -> None:
    _land(world, "graz", "oslo")
    for app in ("top", "total"):
        _ask(world, app)
    work_off(world)


def _stale(world: World) -> list[tuple[str, int]]:
    """Return the stale partitions by table and day of April."""
    return world.ledger.transact(lambda tx: tx.rows(_STALE))


def _again(world: World) -> None:
    landing = land(world.ledger, world.catalogue, "events[store=oslo]", ["2024-04-02"], again=True)
    world.queue.extend(landing.messages)
    world.deliver()


def test_a_slice_is_made_when_its_own_inputs_have_landed(sliced: World) -> None:
    _ask(sliced, "total")
    assert not ready(sliced)
    _land(sliced, "graz")
    assert ready(sliced) == {"sales/graz/2024-04-01..2024-04-02", "sales/graz/2024-04-03"}
    work_off(sliced)
    _land(sliced, "oslo")
    work_off(sliced)
    assert sliced.ledger.transact(lambda tx: tx.rows(_OF_SLICES)) == [
        *(("events[store=graz]", 3), ("events[store=oslo]", 3)),
        *(("sales[store=graz]", 3), ("sales[store=oslo]", 3), ("total", 3)),
    ]


def test_two_submissions_share_the_jobs_of_a_slice(sliced: World) -> None:
    _land(sliced, "graz", "oslo")
    one, other = _ask(sliced, "sales", by={"store": "graz"}), _ask(sliced, "sales")
    assert len(ready(sliced)) == 4
    work_off(sliced)
    assert {sliced.submission(each) for each in (one, other)} == {SubmissionState.SUCCEEDED}


def test_a_slice_that_fails_does_not_stop_the_others(sliced: World) -> None:
    _land(sliced, "graz", "oslo")
    id_ = _ask(sliced, "top")
    failing = named(sliced, "sales/oslo/2024-04-03")
    work_off(sliced, failing=["sales/oslo/2024-04-03"])
    assert sliced.submission(id_) is SubmissionState.FAILED
    assert sliced.state(failing) == "failed"
    assert sliced.state(named(sliced, "top/oslo/2024-04-03")) == "upstream_failed"
    assert sliced.state(named(sliced, "top/graz/2024-04-03")) == "succeeded"


def test_what_was_made_from_a_slice_that_lands_again_is_stale_and_nothing_else(sliced: World) -> None:
    _made(sliced)
    _again(sliced)
    assert _stale(sliced) == [("sales[store=oslo]", 2), ("top[store=oslo]", 2), ("total", 2)]


OSLO = {"sales": ("oslo/2024-04-02",), "top": ("oslo/2024-04-02",), "total": ("2024-04-02",)}


@pytest.mark.parametrize(
    ("of", "by", "restated", "left"),
    [
        ((), None, OSLO, []),
        (("events",), None, OSLO, []),
        (("sales", ["2024-04-02"]), {"store": "oslo"}, OSLO, []),
        # The total is made from every slice, and a plan for it also makes its stale inputs again.
        (("events",), {"store": "graz"}, {"total": ("2024-04-02",)}, [("top[store=oslo]", 2)]),
    ],
)
def test_stale_partitions_of_slices_are_restated(
    sliced: World,
    of: tuple[Any, ...],
    by: Any,
    restated: dict[str, tuple[str, ...]],
    left: list[tuple[str, int]],
) -> None:
    _made(sliced)
    _again(sliced)
    found = sliced.ledger.transact(lambda tx: stale_partitions(tx, sliced.catalogue, *of, by=by))
    assert {each.app: each.keys for each in found} == restated
    for each in found:
        sliced.submit(each.app, None, keys=list(each.keys or ()))
    work_off(sliced)
    assert _stale(sliced) == left


def test_a_new_value_keeps_the_partitions_of_the_others(sliced: World) -> None:
    _made(sliced)
    more = {"store": ["graz", "oslo", "turku"]}
    events = {"table": "events", "partition": {"by": more}}
    sales = {**APPS["sales"], "partition": {"by": more}, "table_dependencies": [events]}
    sliced.define({"sales": sales})
    _land(sliced, "turku")
    _ask(sliced, "sales")
    assert ready(sliced) == {"sales/turku/2024-04-01..2024-04-02", "sales/turku/2024-04-03"}


def test_a_landing_names_a_slice(sliced: World) -> None:
    with pytest.raises(BadRequest, match="no slice of it is named"):
        land(sliced.ledger, sliced.catalogue, "events", ["2024-04-01"])
    with pytest.raises(BadRequest, match="No app fills or reads a table"):
        land(sliced.ledger, sliced.catalogue, "events[store=turku]", ["2024-04-01"])


def test_slices_need_a_table(sliced: World) -> None:
    with pytest.raises(BadRequest, match="Slices need a table"):
        sliced.ledger.transact(lambda tx: stale_partitions(tx, sliced.catalogue, by={"store": "graz"}))
