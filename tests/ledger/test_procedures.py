"""Procedures do what their statements do if they are sent one by one."""

import json
from collections.abc import Sequence
from typing import Any

from sluice.jobs.model.job import Ending, Outcome
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.procedures import Procedure
from sluice.ledger.lifecycle.claims import BEGIN_OPENED_JOB, ClaimedJob
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
        rows = [[json.loads(line.replace("+00:00", "Z")) for line in step] for step in lines]
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


def _ended(*jobs: ClaimedJob) -> dict[str, Any]:
    ended = parameters({job.right: Outcome(ending=Ending.DONE, output='√ "1"') for job in jobs})
    return ended | {"pushing_apps": ["a"]}


def _taken(world: World, names: Sequence[str]) -> list[ClaimedJob]:
    return [world.take(name) for name in names]


def test_ends_are_recorded_and_counted_as_by_the_statements(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("c")
    a, b = _taken(world, ["a", "b"])
    assert _steps(world, SETTLE_JOBS, **_ended(a)) == [1, 1, 1]
    assert _steps(world, SETTLE_JOBS, **_ended(a, b)) == [2, 1, 1]


def test_ends_stop_at_a_job_that_must_be_judged(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("c")
    a, b = _taken(world, ["a", "b"])
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET expansion = 'entered' WHERE app = 'b'"))
    assert _steps(world, SETTLE_JOBS, **_ended(a, b)) == [1, 0, 0]
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET expansion = NULL WHERE app = 'b'"))


def test_an_opened_job_is_claimed_as_by_the_statements_unless_its_app_has_a_ready_job(world: World) -> None:
    world.apps("a -> b")
    world.submit("b", kwargs={"x": [1, 0.5, "√", None, {"y": 10**30}]})
    world.finish("a")
    job = world.known("b").id
    # Its group has opened, and it is not released yet.
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET state = 'waiting' WHERE app = 'b'"))
    turn = {"app": "b", "held": [job], "jobs": [job], "rounds": [0], "alone": True, "most": 1}
    terms = {"worker": world.worker, "unbounded": False, "saga": False, "digest": ""}
    assert _steps(world, BEGIN_OPENED_JOB, **turn, **terms) == [0, 1, 0]
    world.submit("b", "2")
    world.finish("a/2")
    assert _steps(world, BEGIN_OPENED_JOB, **turn, **terms) == [1, 0, 0]
    world.ledger.transact(lambda tx: tx.write("UPDATE job SET state = 'ready' WHERE app = 'b'"))
