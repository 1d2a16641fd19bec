"""Random pools for apps that were drawn, and what holds of their slots after every step."""

import random
from typing import Any

from sluice.jobs.states import DISPATCHED, sql_list
from sluice.ledger.app_pauses import HAS_TO_WAIT
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

_DISPATCHED = sql_list(*sorted(DISPATCHED))
# Here no limit ever changes, so it is the same for all jobs of a pool.
_CROWDED = f"""
SELECT pool FROM job WHERE pool IS NOT NULL AND state IN ({_DISPATCHED}) GROUP BY pool HAVING count(*) > min(pool_limit)
"""
# Nothing happens at the same time as anything else, so no row is passed over and nobody waits for the groomer.
_IN_VAIN = f"""
SELECT id FROM job WHERE queued AND coalesce(end_before > {NOW}, true) AND NOT {HAS_TO_WAIT} AND pool_limit > (
    SELECT count(*) FROM job other WHERE other.pool = job.pool AND other.state IN ({_DISPATCHED}))
"""


def with_drawn_pools(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """The same apps. Mostly none of them is in a pool; now and then some are, in pools of their own or together."""
    if rng.random() < 0.5:
        return apps
    shared = {"pool": "shared", "limit": rng.randint(1, 3)}
    return {name: {**app, **_drawn_words(rng, app, shared)} for name, app in apps.items()}


def crowded(tx: Tx) -> list[str]:
    """Pools of which more jobs are dispatched than may be."""
    return tx.column(_CROWDED)


def waiting_in_vain(tx: Tx) -> list[int]:
    """Jobs that stand in line for a slot that is free."""
    return tx.column(_IN_VAIN)


def _drawn_words(rng: random.Random, app: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    if rng.random() < 0.3:
        return {}
    own = "{key}" if app.get("job_id") == "{key}" else "{x}"
    key = rng.choice((own, "{app_name} {kwargs.k}") if "job_id" in app else ("{kwargs.k}", "{job_id}"))
    return {"concurrency": rng.choice((1, 2, shared, shared, {"key": key, "limit": 1}))}
