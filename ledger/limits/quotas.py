"""Quotas of tenants: active jobs, and submissions per minute.

Active jobs are read from the counted transitions (``ledger.stats.state_counts``), which are about two seconds old. So a
quota may be exceeded by the jobs that are planned in that time, and by the jobs of the last submission that fits.

Submissions are counted by clock minutes, in one row for each tenant with such a quota. Two planners of one tenant's
submissions update the row one after the other, until the transaction of the first ends. Each locks the rows of its
tenants in the order of their names, and before it locks a job. A crash undoes the count with the plan.
"""

from collections.abc import Iterable, Mapping

from sluice.jobs.states import ACTIVE, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW

_ACTIVE = f"""
SELECT coalesce(sum(jobs), 0)::bigint FROM state_count
WHERE app = ANY(%(apps)s::text[]) AND state IN ({sql_list(*ACTIVE)})
"""
_COUNT = f"""
INSERT INTO quota_minute AS counted (tenant, minute, submissions)
SELECT tenant, date_trunc('minute', {NOW}), submissions
FROM unnest(%(tenants)s::text[], %(counts)s::bigint[]) AS given (tenant, submissions) ORDER BY tenant
ON CONFLICT (tenant) DO UPDATE SET
    submissions = excluded.submissions
        + CASE WHEN counted.minute = excluded.minute THEN counted.submissions ELSE 0 END,
    minute = excluded.minute
RETURNING tenant, submissions
"""


def active_jobs(tx: Tx, apps: Iterable[str]) -> int:
    """Return how many jobs of these apps have not ended, as counted last."""
    return int(tx.column(_ACTIVE, apps=[*apps])[0])


def count_submissions(tx: Tx, counts: Mapping[str, int]) -> dict[str, int]:
    """Add submissions to the present minute of each tenant. Return the tenants' sums, including these."""
    return dict(tx.rows(_COUNT, **arrays([*counts.items()], "tenants", "counts")))
