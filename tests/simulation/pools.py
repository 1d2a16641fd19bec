"""Random pools and rate limits for drawn apps, and the checks of their slots and tokens after every step."""

import random
from typing import Any

from sluice.jobs.states import DISPATCHED, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.limits.app_pauses import HAS_TO_WAIT
from sluice.ledger.limits.rate_limits import tokens

_DISPATCHED = sql_list(*sorted(DISPATCHED))
# Pools with more dispatched jobs than slots. No limit ever changes here, so all jobs of a pool have the same one.
_CROWDED = f"""
SELECT pool FROM job WHERE pool IS NOT NULL AND state IN ({_DISPATCHED}) GROUP BY pool HAVING count(*) > min(pool_limit)
"""
# Jobs that wait although their pool has a free slot. Transactions do not overlap here, so no locked row is skipped, and
# no job has to wait for the groomer.
_IN_VAIN = f"""
SELECT id FROM job WHERE waiting_for_slot AND coalesce(end_before > {NOW}, true) AND NOT {HAS_TO_WAIT}
    AND rate_bucket IS NULL AND pool_limit > (
    SELECT count(*) FROM job other WHERE other.pool = job.pool AND other.state IN ({_DISPATCHED}))
"""
# Buckets with fewer tokens than jobs that have reserved one.
_OVERDRAWN = f"""
SELECT bucket FROM (
    SELECT DISTINCT rate_bucket AS bucket FROM job WHERE rate_bucket IS NOT NULL) AS used
WHERE {tokens("used.bucket")} < 0
"""


def with_drawn_pools(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """Return the apps. In half of the worlds some apps are in pools, of their own or shared, or have a rate limit."""
    if rng.random() < 0.5:
        return apps
    shared = {"pool": "shared", "limit": rng.randint(1, 3)}
    return {name: {**app, **_drawn_words(rng, app, shared), **_rate(name)} for name, app in apps.items()}


def crowded(tx: Tx) -> list[str]:
    """Return the pools with more dispatched jobs than slots."""
    return tx.column(_CROWDED)


def overdrawn(tx: Tx) -> list[str]:
    """Return the buckets with fewer tokens than ready jobs. So any claims of these would exceed the rate limit."""
    return tx.column(_OVERDRAWN)


def waiting_in_vain(tx: Tx) -> list[int]:
    """Return the jobs that wait for a slot although one is free."""
    return tx.column(_IN_VAIN)


def _drawn_words(rng: random.Random, app: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    if rng.random() < 0.3:
        return {}
    own = "{key}" if app.get("job_id") == "{key}" else "{x}"
    key = rng.choice((own, "{app_name} {kwargs.k}") if "job_id" in app else ("{kwargs.k}", "{job_id}"))
    return {"concurrency": rng.choice((1, 2, shared, shared, {"key": key, "limit": 1}))}


def _rate(name: str) -> dict[str, Any]:
    """Return a rate limit for some apps, by name. So it stays as it is if the world gets other definitions, and the
    rest of a world stays as its seed draws it."""
    rng = random.Random(f"rate of {name}")
    if rng.random() < 0.5:
        return {}
    limit = {"limit": rng.choice(("5/s", "2/s", "1/3s")), "burst": rng.randint(1, 3)}
    return {"rate_limit": limit | rng.choice(({}, {"key": "{job_id}"}, {"key": "{kwargs.k}"}))}
