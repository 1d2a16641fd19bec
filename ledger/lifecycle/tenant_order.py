"""The first waiting submissions of each tenant, which a planner takes out of their order.

However many submissions wait, the cost depends on the number of waiting apps alone (measured: 1 ms beside 100,000
submissions of one app, 30 ms for 60 apps).
"""

from collections.abc import Mapping

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.policy.tenants import DEFAULT_TENANT
from sluice.ledger.database.connection import Tx, arrays

#: Limit of the counting of a tenant's waiting submissions, which finds the tenant with the most.
COUNTED_MAX = 200

# The predicate of the index ``submission_received_app``. No other index can be used for it.
_IN_APP_ORDER = f"""
FROM submission
WHERE state COLLATE "C" = '{SubmissionState.RECEIVED}' AND paused_at IS NULL AND next_plan_at IS NULL
"""
# Reads the names of the apps one after the other, and at most ``COUNTED_MAX`` submissions of each. The first 255
# characters of a name count.
_FIRST_WAITING = f"""
WITH RECURSIVE app_name AS (
    (SELECT left(app, 255) AS name {_IN_APP_ORDER} ORDER BY left(app, 255) LIMIT 1)
    UNION ALL
    SELECT (SELECT left(app, 255) {_IN_APP_ORDER} AND left(app, 255) > app_name.name ORDER BY left(app, 255) LIMIT 1)
    FROM app_name WHERE app_name.name IS NOT NULL
), app_tenant AS (
    SELECT name, coalesce(given.tenant, %(usual)s::text) AS tenant
    FROM app_name
    LEFT JOIN unnest(%(apps)s::text[], %(tenants)s::text[]) AS given (app, tenant) ON left(given.app, 255) = name
), waiting AS MATERIALIZED (
    SELECT oldest.*, tenant FROM app_tenant CROSS JOIN LATERAL (
        SELECT id, number, received_at {_IN_APP_ORDER} AND left(app, 255) = app_tenant.name
        ORDER BY received_at, number LIMIT {COUNTED_MAX}) AS oldest
), placed AS (
    SELECT id, number, row_number() OVER (PARTITION BY tenant ORDER BY received_at, number) AS place FROM waiting
    WHERE tenant <> (
        SELECT tenant FROM waiting GROUP BY tenant
        ORDER BY least(count(*), {COUNTED_MAX}) DESC, min(received_at), tenant LIMIT 1)
)
SELECT id FROM placed WHERE place <= %(most)s ORDER BY place, number
"""


def first_waiting(tx: Tx, tenants: Mapping[str, str], most: int) -> list[str]:
    """Return the first waiting submissions of each tenant, up to ``most``, but none of the tenant with the most.

    Tenants with ``COUNTED_MAX`` or more are compared by their oldest submission instead, because it is next in the
    order of arrival. ``tenants`` has the tenant of each app that does not belong to the default tenant.
    """
    rows = [*tenants.items()]
    return tx.column(_FIRST_WAITING, **arrays(rows, "apps", "tenants"), usual=DEFAULT_TENANT, most=most)
