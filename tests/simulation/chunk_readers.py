"""Random apps with keys that need work IDs, and a check that their jobs started with results."""

import random
from collections.abc import Collection, Mapping
from typing import Any

from sluice.jobs.keys.identifiers import Value
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from tests.simulation.removals import RemovedJob

#: Job with key ``n`` needs the work IDs ``n`` and this one.
SHARED = 3
_KEYS = (1, 2)

# Work IDs that a job needed and that had not succeeded when the job began. Removed history proves nothing.
_WITHOUT_RESULTS = f"""
SELECT report.app, report.key, needed.work_id, round.running_at
FROM job report JOIN round ON round.job = report.id AND round.claim = report.claim
CROSS JOIN LATERAL (VALUES (report.key::int), ({SHARED})) AS needed (work_id)
WHERE report.app LIKE 'report%%' AND round.running_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM job chunk CROSS JOIN LATERAL jsonb_array_elements(chunk.work_ids) AS part
    LEFT JOIN transition ON transition.job = chunk.id AND transition.target = '{State.SUCCEEDED}'
    WHERE chunk.app = 'chunks' || substring(report.app FROM 7)
      AND needed.work_id BETWEEN (part ->> 0)::int AND (part ->> -1)::int
      AND (chunk.pruned_at IS NOT NULL OR transition.at <= round.running_at))
"""


class OfChunks:
    """Relation between the jobs of ``report0`` and the work IDs of ``chunks0``, or of the apps with another number."""

    def __init__(self, number: int) -> None:
        self._report, self._chunks = f"report{number}", f"chunks{number}"

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[tuple[str, dict[str, int]]]:
        return [(self._chunks, {"work_id": work_id}) for work_id in (int(ids["n"]), SHARED)]

    def children(self, app: str, ids: Mapping[str, Value]) -> list[tuple[str, dict[str, int]]]:
        return [(self._report, {"n": n}) for n in _KEYS if ids["work_id"] in (n, SHARED)]


of_chunks0, of_chunks1, of_chunks2, of_chunks3 = map(OfChunks, range(4))


def with_drawn_chunk_readers(rng: random.Random, apps: dict[str, Any]) -> dict[str, Any]:
    """Return the apps. In half of the worlds, jobs with keys need work IDs of one app, and mostly other jobs need
    these.

    Other worlds draw the same as without this choice.
    """
    drawn = random.Random(str(rng.getstate()))
    chunked = [name for name in apps if "chunk_size" in apps[name]]
    if drawn.random() < 0.5 or not chunked:
        return apps
    number = drawn.choice(chunked).removeprefix("chunks")
    bridge: dict[str, Any] = {
        "_func": f"tests.simulation.chunk_readers:of_chunks{number}",
        "app_name": [f"chunks{number}"],
    }
    if drawn.random() < 0.4:
        bridge["max_lag"] = drawn.choice(("20s", "1h"))
    work = {"bash_cmd": "true", "max_fails": drawn.choice((0, 1)), "max_losses": 50}
    readers: dict[str, Any] = {f"report{number}": {**work, "job_id": "{n}", "depends_on": bridge}}
    if drawn.random() < 0.6:
        readers["mail"] = {**work, "job_id": "{n}", "depends_on": {"app_name": [f"report{number}"]}}
    return apps | readers


def needs_work_ids(app: Mapping[str, Any]) -> bool:
    return "_func" in app.get("depends_on", {})


def without_results(tx: Tx, removed: Collection[RemovedJob]) -> list[str]:
    """Return the jobs that have begun although a work ID that they need had no result, with these work IDs. ``removed``
    are the jobs that were removed, also those that had a result."""
    return [
        f"{app}/{key} {work_id}"
        for app, key, work_id, began in tx.rows(_WITHOUT_RESULTS)
        if not any(
            job.app == app.replace("report", "chunks")
            and job.state == State.SUCCEEDED
            and work_id in job.work_ids
            and job.changed_at <= began
            for job, _ in removed
        )
    ]
