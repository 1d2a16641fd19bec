"""Freshness: when each app last succeeded on each work ID, and unfinished jobs that may still succeed on it.

It is written when a chunk is judged, in the same transaction, so the children of the chunk find it fresh. A plan that
skips fresh work also looks for unfinished work. So that no two plans overlook each other, they take turns
(``lock_apps``).
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from sluice.jobs.keys.work_ids import WorkId, parts_of
from sluice.jobs.model.freshness import Age, UnfinishedWork
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, SPLIT, State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.state_ranges import of_app
from sluice.ledger.database.transitions import NOW
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.job_graph.shared_kwargs import KWARGS
from sluice.ledger.job_graph.work_ids import is_divisible

_UNDER_WAY = sql_list(*sorted(LIVE - {State.EXPECTED}))
#: First of the two numbers of the advisory locks by which planners take turns.
_TURNS = 5_318_008


def _in_earnest(kwargs: str) -> str:
    """Return the condition that these kwargs do not set ``testing``: a trial run of a pipeline leaves no trace."""
    return f"coalesce({kwargs} -> 'testing', 'false') IN ('false', 'null')"


_LAST_RUNS = """
FROM job JOIN round ON round.job = job.id AND round.claim = job.claim
CROSS JOIN LATERAL jsonb_array_elements(job.work_ids) AS parts (part)
CROSS JOIN LATERAL (
    SELECT part #>> '{}' AS work_id WHERE jsonb_typeof(part) = 'string'
    UNION ALL
    SELECT generate_series((part ->> 0)::bigint, (part ->> -1)::bigint)::text WHERE jsonb_typeof(part) = 'array'
) AS each
"""
_RECORD = f"""
INSERT INTO freshness (app, freshness_scope, work_id, at)
SELECT job.app, job.freshness_scope, each.work_id, max(coalesce(round.executed_at, {NOW}))
{_LAST_RUNS}
WHERE job.id = ANY(%(jobs)s) AND {_in_earnest(KWARGS)}
GROUP BY job.app, job.freshness_scope, each.work_id
ORDER BY job.app, job.freshness_scope, each.work_id
ON CONFLICT (app, freshness_scope, work_id) DO UPDATE SET at = greatest(freshness.at, excluded.at)
"""
_WITHDRAW = f"""
WITH made AS (
    SELECT job.app, job.freshness_scope, each.work_id, round.executed_at {_LAST_RUNS} WHERE job.id = ANY(%(jobs)s)
), held AS MATERIALIZED (
    SELECT freshness.app, freshness.freshness_scope, freshness.work_id FROM freshness
        JOIN made USING (app, freshness_scope, work_id)
    WHERE freshness.at <= made.executed_at ORDER BY 1, 2, 3 FOR UPDATE OF freshness
)
DELETE FROM freshness USING held
WHERE (freshness.app, freshness.freshness_scope, freshness.work_id) = (held.app, held.freshness_scope, held.work_id)
"""
_AGES = """
WITH asked AS (
    SELECT chunk, generate_series(first, last)::text AS work_id
    FROM unnest(%(runs)s::int[], %(firsts)s::bigint[], %(lasts)s::bigint[]) AS run (chunk, first, last)
    UNION ALL
    SELECT chunk, work_id FROM unnest(%(places)s::int[], %(texts)s::text[]) AS listed (chunk, work_id)
)
SELECT chunk, count(*) - count(freshness.at), min(freshness.at)
FROM asked LEFT JOIN freshness
    ON freshness.app = %(app)s AND freshness.freshness_scope = %(freshness_scope)s AND freshness.work_id = asked.work_id
GROUP BY chunk ORDER BY chunk
"""
# Runs of the app as a whole: a submission of single chunks by their keys does not count.
_LAST_RUN = f"""
SELECT ended_at FROM submission
WHERE app = %(app)s AND state = '{SubmissionState.SUCCEEDED}'
  AND coalesce(request -> 'key', 'null') = 'null' AND coalesce(request -> 'keys', 'null') = 'null'
  AND {_in_earnest("(request -> 'kwargs')")} AND NOT request ? 'compensates'
  AND NOT EXISTS (
      SELECT FROM jsonb_each(coalesce(nullif(%(freshness_scope)s, ''), '{{}}')::jsonb) AS told (name, value)
      WHERE coalesce(request -> 'kwargs' -> name, 'null') <> value)
ORDER BY ended_at DESC LIMIT 1
"""
# A failed job that is about to be split goes on with its halves.
_JOBS_UNDER_WAY = (
    " UNION ALL ".join(
        f"SELECT id, app, key, state, freshness_scope, work_ids FROM job WHERE {condition} AND work_ids IS NOT NULL"
        f" AND (state IN ({_UNDER_WAY}) OR {is_divisible('job')})"
        for condition in of_app("ANY(%(apps)s::text[])", {*LIVE, *SPLIT.existing} - {State.EXPECTED})
    )
    + " ORDER BY id"
)
_SUBMISSIONS_BEFORE = f"""
SELECT id, app FROM submission
WHERE app = ANY(%(apps)s) AND state = '{SubmissionState.RECEIVED}' AND paused_at IS NULL
  AND (number < %(number)s OR %(number)s = 0)
ORDER BY number
"""
_TAKE_TURN = (
    "SELECT pg_advisory_xact_lock(%(turns)s, hashtext(app)) FROM unnest(%(apps)s::text[]) AS each (app)"
)


def record(tx: Tx, jobs: list[int]) -> None:
    """Record that these chunks have succeeded: their results are as old as the end of their last run."""
    tx.write(_RECORD, jobs=jobs)


def withdraw(tx: Tx, jobs: list[int]) -> None:
    """Remove the freshness of the last runs of these chunks, because their results are undone.

    Results that another run has made since then stay.
    """
    tx.write(_WITHDRAW, jobs=jobs)


def lock_apps(tx: Tx, apps: Collection[str]) -> None:
    """Keep other transactions from planning chunks of these apps until this transaction ends."""
    if apps:
        tx.rows(_TAKE_TURN, turns=_TURNS, apps=sorted(apps))


class FreshnessFacts(Struct, frozen=True):
    """Facts from the ledger for planning the submission with this ``number``; 0 if it does not exist yet."""

    tx: Tx
    now: datetime
    number: int

    def ages(self, app: str, freshness_scope: str, chunks: Sequence[Sequence[WorkId]]) -> list[Age]:
        runs: list[tuple[int, int, int]] = []
        texts: list[tuple[int, str]] = []
        for place, chunk in enumerate(chunks):
            for part in parts_of(chunk):
                if isinstance(part, str):
                    texts.append((place, part))
                else:
                    runs.append((place, part[0], part[-1]))
        rows = self.tx.rows(
            _AGES,
            app=app,
            freshness_scope=freshness_scope,
            **arrays(runs, "runs", "firsts", "lasts"),
            **arrays(texts, "places", "texts"),
        )
        return [Age(missing, oldest) for _, missing, oldest in rows]

    def last_run(self, app: str, freshness_scope: str) -> datetime | None:
        return next(iter(self.tx.column(_LAST_RUN, app=app, freshness_scope=freshness_scope)), None)

    def look_up(self, names: Collection[JobName]) -> dict[JobName, KnownJob]:
        return known_jobs.find(self.tx, names)

    def busy(self, apps: Collection[str]) -> list[UnfinishedWork]:
        """Return unfinished jobs, and older unplanned submissions; the work IDs of the latter are not known yet."""
        jobs = [
            UnfinishedWork(
                app=app,
                what=f"{app}/{key}",
                job=id,
                state=State(state),
                freshness_scope=freshness_scope,
                parts=work_ids,
            )
            for id, app, key, state, freshness_scope, work_ids in self.tx.rows(
                _JOBS_UNDER_WAY, apps=sorted(apps)
            )
        ]
        before = self.tx.rows(_SUBMISSIONS_BEFORE, apps=sorted(apps), number=self.number)
        return [*jobs, *(UnfinishedWork(app=app, what=f"submission {id}") for id, app in before)]


class AsIfAlone(FreshnessFacts, frozen=True):
    """Facts without unfinished work, for a plan that cannot wait. Some work may be done twice."""

    def busy(self, _apps: Collection[str]) -> list[UnfinishedWork]:
        return []
