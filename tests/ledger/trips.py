"""Apps with compensations, and sagas across these apps that fail."""

from typing import Any

from sluice.jobs.model.job import Ending
from tests.world import World

UNDONE = "s/compensation"


def undone(*parents: str, by: str = "", **words: Any) -> dict[str, Any]:
    """Return an app that needs ``parents`` and is undone by the app ``by``."""
    needs = {"depends_on": {"app_name": [*parents]}} if parents else {}
    return {"job_id": "{x}", "bash_cmd": "true", **needs, **({"compensate": by} if by else {}), **words}


def define(world: World, **apps: dict[str, Any]) -> None:
    undoing = {app["compensate"] for app in apps.values() if "compensate" in app} - {"irreversible"}
    world.define(apps | {name: {"job_id": "{x}", "bash_cmd": "true"} for name in sorted(undoing)})


def chain(world: World) -> None:
    define(
        world,
        book=undone(by="unbook"),
        pay=undone("book", by="refund"),
        send=undone("pay"),
    )


def fail(world: World, *done: str, at: str, app: str | None = None) -> None:
    """Run a saga in which the jobs ``done`` succeed and ``at`` fails, and have its compensation planned."""
    world.submit(app or at, id="s", mode="saga")
    for job in done:
        world.finish(job)
    world.finish(at, Ending.ERROR)
    world.tick()
