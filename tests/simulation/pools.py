"""Random pools for drawn apps, and the checks of their slots after every step."""

import random
from typing import Any

from sluice.jobs.states import DISPATCHED, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import NOW
from sluice.ledger.limits.app_pauses import HAS_TO_WAIT

_DISPATCHED = sql_list(*sorted(DISPATCHED))
# Pools with more dispatched jobs than slots. No limit ever changes here, so all jobs of a pool have the same one.
_CROWDED = f"""
SELECT pool FROM job WHERE pool IS NOT NULL AND state IN ({_DISPATCHED}) GROUP BY pool HAVING count(*) > min(pool_limit)
"""
# Jobs that wait although their pool has a free slot. Transactions do not overlap here, so no locked row is skipped, and
# no job has to wait for the groomer.
_IN_VAIN = f"""
SELECT id FROM job WHERE waiting_for_slot AND coalesce(end_before > {NOW}, true) AND NOT {HAS_TO_WAIT}
    AND pool_limit > (
    SELECT count(*) FROM job other WHERE other.pool = job.pool AND other.state IN ({_DISPATCHED}))
"""


def with_drawn_pools(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """Return the apps. In half of the worlds some apps are in pools, of their own or shared."""
    if rng.random() < 0.5:
        return apps
    shared = {"pool": "shared", "limit": rng.randint(1, 3)}
    return {name: {**app, **_drawn_words(rng, app, shared)} for name, app in apps.items()}


def crowded(tx: Tx) -> list[str]:
    """Return the pools with more dispatched jobs than slots."""
    return tx.column(_CROWDED)


def waiting_in_vain(tx: Tx) -> list[int]:
    """Return the jobs that wait for a slot although one is free."""
    return tx.column(_IN_VAIN)


def _drawn_words(rng: random.Random, app: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    if rng.random() < 0.3:
        return {}
    own = "{key}" if app.get("job_id") == "{key}" else "{x}"
    key = rng.choice((own, "{app_name} {kwargs.k}") if "job_id" in app else ("{kwargs.k}", "{job_id}"))
    return {"concurrency": rng.choice((1, 2, shared, shared, {"key": key, "limit": 1}))}
