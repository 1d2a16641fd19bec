"""Short notation for definitions with ``max_lag``, and jobs that succeeded some hours ago."""

import re
from collections.abc import Iterator
from typing import Any

from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.world import World

HOUR_S = 3600.0

_NEED = re.compile(r"(\w+)(?:\(([^)]*)\))?")


def lags(text: str, **more: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the apps of a text like ``a; z; c: a(6h) z; e: z | a(0)``.

    Each app is keyed by ``{x}``. Behind the colon are the apps that it needs, with ``max_lag`` in parentheses; ``|``
    separates alternatives. ``more`` are further options, by app.
    """
    apps: dict[str, dict[str, Any]] = {}
    for part in text.split(";"):
        name, _, needs = part.partition(":")
        apps[name.strip()] = {"job_id": "{x}", **_groups(needs), **more.get(name.strip(), {})}
    return apps


def done(world: World, *apps: str, hours_ago: float) -> None:
    """Let a job of each app succeed while no other job waits for it, then let this time pass."""
    for app in apps:
        world.submit(app, push="wanted")
        world.finish(app)
    world.tick(after_s=hours_ago * HOUR_S)


def begun(world: World, app: str) -> ClaimedJob:
    world.beat(world.worker)
    claimed = world.claim(app)
    assert claimed is not None
    return claimed


def _groups(text: str) -> dict[str, Any]:
    groups = {f"way{place}": [*_mappings(way)] for place, way in enumerate(text.split("|")) if way.strip()}
    return {"depends_on": groups} if groups else {}


def _mappings(text: str) -> Iterator[dict[str, Any]]:
    for name, lag in _NEED.findall(text):
        yield {"app_name": [name], **({"max_lag": int(lag) if lag.isdecimal() else lag} if lag else {})}
