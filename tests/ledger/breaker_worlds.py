"""Worlds of an app with a breaker: helpers that open the breaker, and that read its state."""

from typing import Any

from sluice.jobs.model.job import Ending
from sluice.ledger.limits import app_pauses
from sluice.ledger.limits.app_pauses import AppPause
from tests.world import World

BREAKER = {"fails": 3, "pause": 30, "pause_max": 100}


def define(world: World, **words: Any) -> None:
    world.define({"a": {"job_id": "{x}", "bash_cmd": "true", "breaker": BREAKER, "max_fails": 9, **words}})


def submit(world: World, many: int) -> None:
    for nth in range(many):
        world.submit("a", str(nth))


def fail(world: World, *jobs: str, ending: Ending = Ending.ERROR) -> None:
    for job in jobs:
        world.finish(job, ending)


def broken(world: World, many: int = 5, **words: Any) -> None:
    """Let three rounds fail, so that the breaker is open."""
    define(world, **words)
    submit(world, many)
    fail(world, "a/0", "a/1", "a/2")
    world.tick()
    assert pause(world) is not None


def pause(world: World) -> AppPause | None:
    return world.ledger.transact(lambda tx: app_pauses.pause_of(tx, "a"))


def fails(world: World) -> int:
    (fails,) = world.ledger.transact(lambda tx: tx.column("SELECT fails FROM breaker"))
    return int(fails)


def news(world: World) -> list[tuple[int, int]]:
    rows = world.ledger.transact(
        lambda tx: tx.rows("SELECT failed, succeeded FROM breaker_event ORDER BY id")
    )
    return [(failed, succeeded) for failed, succeeded in rows]


def trial(world: World) -> str:
    """Return the name of the job that is on trial."""
    (name,) = world.ledger.transact(
        lambda tx: tx.column("SELECT app || '/' || key FROM job WHERE id = (SELECT trial FROM app_pause)")
    )
    return str(name)


def wait(world: World, after_s: float) -> None:
    """Let time pass, and renew the leases of the workers."""
    world.tick(after_s=after_s)
    world.ledger.transact(
        lambda tx: tx.write("UPDATE worker SET lease_until = %(now)s::timestamptz + interval '15 s'")
    )
