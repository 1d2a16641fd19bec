"""Mean duration of one job of each app, as far as it is known. It serves estimates only; no decision depends on it."""

from collections.abc import Sequence

from sluice.ledger.database.connection import Tx, arrays

# A locked row is skipped: a mean does not need every sample, and no transaction must wait for it.
_NOTE = """
WITH seen AS (
    SELECT app, avg(seconds) AS mean_s FROM unnest(%(app)s::text[], %(seconds)s::float8[]) AS run (app, seconds)
    GROUP BY app
), free AS (
    SELECT app FROM app_runtime WHERE app IN (SELECT app FROM seen) ORDER BY app FOR UPDATE SKIP LOCKED
), updated AS (
    UPDATE app_runtime SET mean_s = 0.8 * app_runtime.mean_s + 0.2 * seen.mean_s
    FROM seen JOIN free USING (app) WHERE app_runtime.app = seen.app
)
INSERT INTO app_runtime (app, mean_s)
SELECT app, mean_s FROM seen WHERE NOT EXISTS (SELECT 1 FROM app_runtime WHERE app_runtime.app = seen.app)
ON CONFLICT (app) DO NOTHING
"""
_KNOWN = "SELECT app, mean_s FROM app_runtime WHERE app = ANY(%(apps)s)"


def note(tx: Tx, runs: Sequence[tuple[str, float]]) -> None:
    """Add the durations of runs, in seconds by app, to the means."""
    if runs:
        tx.write(_NOTE, **arrays(runs, "app", "seconds"))


def known_s(tx: Tx, apps: Sequence[str]) -> dict[str, float]:
    """Return the mean seconds per job of these apps. Apps without a known duration are left out."""
    return dict(tx.rows(_KNOWN, apps=sorted(set(apps))))
