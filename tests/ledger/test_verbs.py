"""Verbs of the table of states: each is used by an operation, and is recorded in the history."""

from collections.abc import Callable

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.states import VERBS, Verb
from sluice.ledger.sagas import suspension
from tests.ledger.flights import Sagas
from tests.world import LEASE_S, World


def _one(world: World, ending: Ending = Ending.DONE, **words: object) -> None:
    world.apps("a -> b", **words)
    world.submit("b")
    world.finish("a", ending)


def _pushed(world: World) -> None:
    world.apps("a -> c, b -> c")
    world.submit("a")
    world.finish("a")


def _skip(world: World) -> None:
    world.define({"a": {"job_id": "{x}", "valid_if_or": {"x": ["9"]}}})
    world.submit("a")


def _late(world: World) -> None:
    world.apps("a", timeout=5)
    world.submit("a")
    world.claim("a")
    world.tick(after_s=8)


def _lost(world: World, losses: int) -> None:
    world.apps("a", max_losses=losses)
    world.submit("a")
    world.claim("a")
    world.tick(after_s=LEASE_S + 1)


def _overdue(world: World) -> None:
    world.apps("a")
    world.submit("a", policy={"end_before": "2026-01-01T00:00:10Z"})
    world.tick(after_s=11)


def _overrun(world: World) -> None:
    world.apps("a")
    world.submit("a", policy={"end_before": "2026-01-01T00:00:10Z"})
    claimed = world.claim("a")
    world.now = world.now.replace(second=11)
    assert claimed is not None
    world.record(claimed)


def _cancelled(world: World) -> None:
    world.apps("a")
    world.cancel(world.submit("a"))


def _paused(world: World) -> None:
    world.apps("a")
    world.pause(world.submit("a"))


def _landed(world: World) -> None:
    world.define({"a": {"table_dependencies": [{"table": "events"}]}})
    world.submit("a", None, start="2024-04-01", end="2024-04-01")
    world.land("events", "2024-04-01")


def _undone(world: World) -> None:
    words = {"job_id": "{x}", "bash_cmd": "true"}
    needs = {"depends_on": {"app_name": ["a"]}}
    world.define({"a": words | {"compensate": "undo"}, "b": words | needs, "undo": words})
    world.submit("b", mode="saga")
    world.finish("a")
    world.finish("b", Ending.ERROR)
    world.tick()
    world.finish("undo")


def _revived(world: World) -> None:
    _one(world)
    world.submit("a", rerun="job")


def _resumed(world: World) -> None:
    _one(world, Ending.SUSPENDED)
    world.ledger.transact(lambda tx: suspension.resume(tx, [world.known("a").id]))


def _called_off(world: World) -> None:
    world.apps("a")
    submission = world.submit("a")
    sagas = Sagas(world)
    claimed = sagas.claim()
    world.cancel(submission)
    sagas.end(claimed, Ending.ERROR)


def _split(world: World) -> None:
    world.define({"a": {"chunk_size": 2, "bash_cmd": "true", "on_failure": "bisect"}})
    world.submit("a", None, work_ids=[1, 2])
    world.finish("a/1-2@1", Ending.ERROR)


SCENARIOS: dict[str, Callable[[World], None]] = {
    "expect": _pushed,
    "request": _one,
    "skip": _skip,
    "make_ready": _one,
    "fail_upstream": lambda world: _one(world, Ending.ERROR),
    "claim": _one,
    "record": _one,
    "hand_back": lambda world: _one(world, Ending.HANDED_BACK),
    "requeue": lambda world: _lost(world, 1),
    "time_out": _late,
    "fail_lost": lambda world: _lost(world, 0),
    "succeed": _one,
    "retry": lambda world: _one(world, Ending.ERROR, max_fails=1),
    "fail": lambda world: _one(world, Ending.ERROR),
    "mark_fatal": lambda world: _one(world, Ending.UNDO_FAILED),
    "expire": _overdue,
    "expire_late": _overrun,
    "cancel_undone": _called_off,
    "split": _split,
    "cancel": _cancelled,
    "pause": _paused,
    "mark_landed": _landed,
    "undo": _undone,
    "suspend": lambda world: _one(world, Ending.SUSPENDED),
    "resume": _resumed,
    "rerun": _revived,
}


def test_every_verb_has_a_scenario() -> None:
    assert list(SCENARIOS) == [verb.name for verb in VERBS]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_each_verb_is_recorded_with_its_documented_states_and_actor(verb: Verb, world: World) -> None:
    SCENARIOS[verb.name](world)
    rows = world.ledger.transact(
        lambda tx: tx.rows("SELECT source, target, by FROM transition WHERE verb = %(verb)s", verb=verb.name)
    )
    assert rows
    for source, target, by in rows:
        assert (None if source == "-" else source) in verb.sources
        assert target == verb.target
        assert by in verb.by
