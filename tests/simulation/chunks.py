"""Random apps that are keyed by chunk, submissions for them, and the checks of their jobs."""

import random
from typing import Any

from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import LIVE, RERUN, SPLIT, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph.work_ids import is_divisible
from tests.simulation.chunk_readers import without_results
from tests.simulation.removals import Removals

IDS = range(1, 7)
_UNDER_WAY = sql_list(*sorted(LIVE - {State.EXPECTED}))

_IDS_OF = """
CROSS JOIN LATERAL jsonb_array_elements({job}.work_ids) AS part
CROSS JOIN LATERAL generate_series((part ->> 0)::int, (part ->> -1)::int) AS work_id
"""
# Pairs of live chunks of two submissions that cover the same work ID. A chunk for a dependency does not run IDs that
# another chunk runs already. Chunks that were requested by name, and chunks that were run again, are excepted.
_TWICE_AT_ONCE = f"""
WITH spared AS (
    SELECT job.id, job.app, job.key, job.freshness_scope FROM job
    WHERE state IN ({_UNDER_WAY}) AND work_ids IS NOT NULL AND pruned_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM submission_job WHERE submission_job.job = job.id
          AND request_reason = {RequestReason.ASKED:d})
      AND NOT EXISTS (SELECT 1 FROM transition WHERE transition.job = job.id AND verb = '{RERUN.name}')
), covered AS (
    SELECT spared.*, split_part(split_part(spared.key, '@', 2), '.', 1) AS whose, work_id
    FROM spared JOIN job USING (id) {_IDS_OF.format(job="job")}
)
SELECT a.app || '/' || a.key || ' and ' || b.key FROM covered a JOIN covered b USING (app, freshness_scope, work_id)
WHERE a.id < b.id AND a.whose <> b.whose
"""
# Work IDs that a succeeded submission requested and that no succeeded job of it covers.
_LEFT_OUT = f"""
SELECT submission.number, submission.id, asked.work_id FROM submission
CROSS JOIN LATERAL (SELECT jsonb_array_elements(request -> 'work_ids')::int AS work_id) asked
WHERE submission.state = '{SubmissionState.SUCCEEDED}' AND request ? 'work_ids' AND NOT EXISTS (
    SELECT 1 FROM submission_job JOIN job ON job.id = submission_job.job {_IDS_OF.format(job="job")}
    WHERE submission_job.submission = submission.number AND job.app = submission.app
      AND job.state = '{State.SUCCEEDED}' AND work_id = asked.work_id)
"""
# Work IDs of a split chunk that are in more than one job that was not split.
_IN_TWO = f"""
SELECT app || ' ' || whose || ' ' || work_id FROM (
    SELECT job.app, substring(job.key FROM '@[^@]*$') AS whose, work_id FROM job {_IDS_OF.format(job="job")}
    WHERE job.state <> '{State.SPLIT}') each
GROUP BY app, whose, work_id HAVING count(*) > 1
"""
_UNDIVIDED = f"""
SELECT app || '/' || key FROM job WHERE state IN ({sql_list(*SPLIT.existing)}) AND {is_divisible("job")}
"""
# Work IDs of succeeded jobs that are not recorded as fresh.
_UNRECORDED = f"""
SELECT app || ' ' || work_id FROM (
    SELECT DISTINCT job.app, job.freshness_scope, work_id::text FROM job {_IDS_OF.format(job="job")}
    WHERE job.state = '{State.SUCCEEDED}'
) succeeded LEFT JOIN freshness USING (app, freshness_scope, work_id)
WHERE freshness.at IS NULL
"""


def drawn_chunk_apps(rng: random.Random) -> dict[str, Any]:
    """Draw no apps, or two to four. Each may depend on any of those before it."""
    apps: dict[str, Any] = {}
    for place in range(rng.choice((0, 0, 2, 3, 4))):
        parents = [name for name in apps if rng.random() < 0.6]
        apps[f"chunks{place}"] = {
            "chunk_size": rng.randint(1, 4),
            "bash_cmd": "true",
            "dependencies": [_drawn_dependency(rng, parent) for parent in parents],
            "on_failure": rng.choice(("fail", "bisect")),
            "freshness_by": rng.choice(([], [], ["market"])),
            "max_fails": rng.choice((0, 1)),
            "max_timeouts": rng.choice((0, 1)),
            "max_losses": rng.choice((0, 2, 50)),
            "timeout": rng.choice((8, 60)),
        }
    return apps


def drawn_chunk_words(rng: random.Random, app: str) -> dict[str, Any]:
    """Draw a submission of work IDs. Sometimes it requests a chunk by its key, which may or may not exist."""
    if rng.random() < 0.15:
        key = f"{rng.choice(('1', '1-2', '3-4'))}@{rng.randint(1, 4)}"
        return {"app": app, "key": key, "rerun": rng.choice(("job", "downstream"))}
    ids = sorted(rng.sample(IDS, rng.randint(1, len(IDS))))
    return {"app": app, "work_ids": ids, "kwargs": {"market": rng.choice(("north", "south"))}}


def twice_at_once(tx: Tx) -> list[str]:
    return tx.column(_TWICE_AT_ONCE)


def unaccounted(tx: Tx, removals: Removals | None) -> list[str]:
    """Return the violations about work IDs, in a world at rest. The results of removed jobs count."""
    promises = (_IN_TWO, _UNDIVIDED, _UNRECORDED)
    return [
        *without_results(tx, removals.jobs if removals else ()),
        *(
            f"{id} {work_id}"
            for number, id, work_id in tx.rows(_LEFT_OUT)
            if not removals or work_id not in removals.results(number)
        ),
        *(broken for promise in promises for broken in tx.column(promise)),
    ]


def _drawn_dependency(rng: random.Random, parent: str) -> dict[str, Any]:
    dependency: dict[str, Any] = {"job_type": parent, "max_lag": rng.choice((0, "20s", "1h"))}
    if rng.random() < 0.3:
        dependency["unique"] = True
    if rng.random() < 0.3:
        dependency["custom_kwargs"] = {"market": rng.choice(("north", "south"))}
    if rng.random() < 0.2:
        dependency["allow_missing_work_ids"] = True
    return dependency
