"""Random breakers for apps that were drawn, and what must not begin while one is open."""

import random
from typing import Any

from sluice.ledger.connection import Tx

# Of what a breaker has paused, each app with the trial that may be claimed, and under which claim.
_OPEN = "SELECT app, coalesce(trial, -1), coalesce(trial_claim, -1) FROM app_pause"
_BEGUN = """
SELECT job.app, job.id, transition.claim FROM transition JOIN job ON job.id = transition.job
WHERE transition.id > %(since)s AND transition.verb = 'claim'
"""


def with_drawn_breakers(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """The same apps; most of them have one that opens soon, and are tried again often enough for it to matter."""
    return {name: {**app, **_drawn_words(rng)} if rng.random() < 0.8 else app for name, app in apps.items()}


def open_breakers(tx: Tx) -> dict[str, tuple[int, int]]:
    """The apps that are paused, each with its trial and the last claim of that."""
    return {app: (trial, claim) for app, trial, claim in tx.rows(_OPEN)}


def begun_in_spite(tx: Tx, since: int, before: dict[str, tuple[int, int]]) -> list[str]:
    """What was claimed after this transition though the breaker of its app was open then."""
    return [
        f"begun though the breaker of {app} is open: {job} under claim {claim}"
        for app, job, claim in (tx.rows(_BEGUN, since=since) if before else ())
        if app in before and before[app] != (job, claim - 1)
    ]


def _drawn_words(rng: random.Random) -> dict[str, Any]:
    pause_s = rng.choice((1, 3, 10))
    breaker = {"fails": rng.randint(1, 3), "pause": pause_s, "pause_max": pause_s * rng.choice((1, 4))}
    return {"breaker": breaker, "max_fails": rng.choice((1, 5, 50))}
