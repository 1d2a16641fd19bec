"""Procedures do what their statements do if they are sent one by one."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from sluice.jobs.model.job import Ending, Outcome
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.procedures import Procedure
from sluice.ledger.job_graph.demand import PossiblePushes
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.lifecycle.plain_successes import SETTLE_JOBS
from sluice.ledger.lifecycle.rounds import parameters
from tests.stepwise import stepwise
from tests.world import World

_HISTORY = "SELECT job, source, target, verb, by, round, claim FROM transition ORDER BY id"


class _Undone(Exception):
    """Raised to roll back a transaction, with what it has found."""


def _tried(world: World, procedure: Procedure, params: dict[str, Any], *, one_by_one: bool) -> Any:
    """Return the rows of each step, and the history after them. Roll back."""

    def work(tx: Tx) -> None:
        lines = stepwise(tx, procedure, params) if one_by_one else tx.call(procedure, **params)
        # Both write the same time differently.
        rows = [[json.loads(bytes(line).replace(b"+00:00", b"Z")) for line in step] for step in lines]
        raise _Undone(rows, tx.rows(_HISTORY))

    try:
        world.ledger.transact(work)
    except _Undone as found:
        return found.args
    raise AssertionError("it raises what it has found")


def _steps(world: World, procedure: Procedure, **params: Any) -> list[int]:
    """Return how many rows each step has, the same in both ways."""
    found = _tried(world, procedure, params, one_by_one=False)
    assert found == _tried(world, procedure, params, one_by_one=True)
    return [len(rows) for rows in found[0]]


def _ended(world: World, *jobs: ClaimedJob, app: str = "") -> dict[str, Any]:
    """Return parameters for the ends of these jobs, and for the claim of a job of this app."""
    ended = parameters({job.right: Outcome(ending=Ending.DONE, output='√ "1"') for job in jobs})
    terms = {"worker": world.worker, "unbounded": False, "saga": False, "digest": ""}
    pushes = PossiblePushes.of({job.id: None for job in jobs if job.app == "a"})
    return {**ended, **terms, **pushes._asdict(), "app": app, "alone": True, "most": 1}


def _taken(world: World, names: Sequence[str]) -> list[ClaimedJob]:
    return [world.take(name) for name in names]


def test_ends_are_recorded_and_counted_as_by_the_statements(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("c")
    a, b = _taken(world, ["a", "b"])
    assert _steps(world, SETTLE_JOBS, **_ended(world, a)) == [1, 1, 1, 0, 0, 0]
    assert _steps(world, SETTLE_JOBS, **_ended(world, a, b)) == [2, 1, 1, 0, 0, 0]


def test_ends_stop_at_a_job_that_must_be_judged(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("c")
    a, b = _taken(world, ["a", "b"])
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET expansion = 'entered' WHERE app = 'b'"))
    assert _steps(world, SETTLE_JOBS, **_ended(world, a, b)) == [1, 0, 0, 0, 0, 0]
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET expansion = NULL WHERE app = 'b'"))


def test_an_opened_job_is_claimed_as_by_the_statements(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", kwargs={"x": [1, 0.5, "√", None, {"y": 10**30}]})
    a = world.take("a")
    assert _steps(world, SETTLE_JOBS, **_ended(world, a, app="b")) == [1, 1, 1, 0, 1, 0]


def test_an_opened_job_is_not_claimed_if_its_app_has_a_ready_job(world: World) -> None:
    world.apps("a -> b")
    world.submit("b")
    world.submit("b", "2")
    a = world.take("a")
    world.finish("a/2")
    assert _steps(world, SETTLE_JOBS, **_ended(world, a, app="b")) == [1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("apps", "next_app", "gates"),
    [("a -> b, a -> c", "b", 2), ("a -> b, x -> b", "b", 1), ("a -> b", "c", 1)],
    ids=["two children", "a gate that stays shut", "a child of another app"],
)
def test_only_a_single_opened_job_of_the_next_app_is_claimed(
    world: World, apps: str, next_app: str, gates: int
) -> None:
    world.apps(apps)
    for app in sorted(world.catalogue):
        world.submit(app)
    a = world.take("a")
    finished, _, *rest = _steps(world, SETTLE_JOBS, **_ended(world, a, app=next_app))
    assert (finished, rest) == (1, [gates, 0, 0, 0])


def test_the_claim_of_an_opened_job_names_it_if_a_child_waits_for_it_to_run(world: World) -> None:
    world.define(
        {
            "a": {"job_id": "{x}"},
            "b": {"job_id": "{x}", "depends_on": {"app_name": ["a"]}},
            "c": {"job_id": "{x}", "depends_on": {"app_name": ["b"], "when": "running"}},
        }
    )
    world.submit("c")
    a = world.take("a")
    _, _, *rest = _steps(world, SETTLE_JOBS, **_ended(world, a, app="b"))
    assert rest == [1, 0, 1, 1]
