"""Random breakers for drawn apps, and the check that no job begins while one is open."""

import random
from typing import Any

from sluice.ledger.database.connection import Tx

# Each paused app, with the job that may be tried and the last claim before the trial.
_OPEN = "SELECT app, coalesce(trial, -1), coalesce(trial_claim, -1) FROM app_pause"
# Each with the claim before it. Its number is lower by more than one if a removed job had more claims.
_BEGUN = """
SELECT job.app, job.id, transition.claim, (
    SELECT max(claim) FROM transition earlier WHERE earlier.job = job.id AND earlier.claim < transition.claim) AS last
FROM transition JOIN job ON job.id = transition.job
WHERE transition.id > %(since)s AND transition.verb = 'claim'
"""


def with_drawn_breakers(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """Return the apps, most of them with a breaker that opens soon, and with enough tries for it to matter."""
    return {name: {**app, **_drawn_words(rng)} if rng.random() < 0.8 else app for name, app in apps.items()}


def open_breakers(tx: Tx) -> dict[str, tuple[int, int]]:
    """Return the paused apps, each with its trial and the last claim of the trial."""
    return {app: (trial, claim) for app, trial, claim in tx.rows(_OPEN)}


def begun_in_spite(tx: Tx, since: int, before: dict[str, tuple[int, int]]) -> list[str]:
    """Return the jobs that were claimed after this transition although the breaker of their app was open before."""
    return [
        f"begun although the breaker of {app} is open: {job} under claim {claim}"
        for app, job, claim, last in (tx.rows(_BEGUN, since=since) if before else ())
        if app in before and before[app] != (job, last)
    ]


def _drawn_words(rng: random.Random) -> dict[str, Any]:
    pause_s = rng.choice((1, 3, 10))
    breaker = {"fails": rng.randint(1, 3), "pause": pause_s, "pause_max": pause_s * rng.choice((1, 4))}
    return {"breaker": breaker, "max_fails": rng.choice((1, 5, 50))}
