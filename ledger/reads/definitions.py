"""Apps with different definitions in living workers."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from sluice.jobs.catalogue.known import KnownDefinitions
from sluice.ledger.connection import Tx
from sluice.ledger.sql import NOW

#: Maximum number of apps that are returned.
APPS_MAX = 50

# Catalogues are expanded only if several exist, and each distinct one once, however many workers have it.
_VARIANTS = f"""
WITH living AS MATERIALIZED (
    SELECT catalogue, count(*) AS workers, min(host || ':' || pid) AS one, (array_agg(id))[1] AS id
    FROM worker WHERE left_at IS NULL AND lease_until > {NOW} AND catalogue IS NOT NULL
    GROUP BY catalogue
), variant AS MATERIALIZED (
    SELECT app.key AS app, app.value AS digest, living.workers, living.one
    FROM living JOIN worker ON worker.id = living.id CROSS JOIN LATERAL jsonb_each_text(worker.definitions) AS app
    WHERE (SELECT count(*) FROM (SELECT catalogue FROM living UNION SELECT %(own)s::text) each
           WHERE catalogue IS NOT NULL) > 1
    UNION ALL
    SELECT app.key, app.value, 0, NULL FROM jsonb_each_text(%(apps)s::jsonb) AS app
), differing AS (
    SELECT app FROM variant GROUP BY app HAVING count(DISTINCT digest) > 1 ORDER BY app LIMIT {APPS_MAX}
)
SELECT app, digest, sum(workers)::int AS workers, min(one) AS one,
       (digest = %(apps)s::jsonb ->> app) IS TRUE AS is_own
FROM variant WHERE app IN (SELECT app FROM differing) GROUP BY app, digest
ORDER BY app, workers DESC, digest
"""


class Variant(Struct, frozen=True, kw_only=True):
    """Definition of an app. ``workers`` is the number of living workers that have it; ``one`` of them is named.
    ``is_own``: this process has it too."""

    app: str
    digest: str
    workers: int
    one: str | None
    is_own: bool


def differing(tx: Tx, own: KnownDefinitions | None = None) -> Sequence[Variant]:
    """Return the variants of each app of which two workers, or a worker and this process, have different definitions.
    Workers of versions before this was recorded are not compared."""
    apps = msgspec.json.encode(own.apps if own else {}).decode()
    return tx.structs(Variant, _VARIANTS, own=own.digest if own else None, apps=apps)
