"""Cost of planning the jobs that one job adds (``job.expand``), compared with a submission of as many jobs."""

import time

from sluice.actors.executor import transactions
from sluice.actors.planner import handlers
from sluice.broker.messages import Executed, Plan
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import SluiceError
from sluice.jobs.expansions import PARTS_MAX, Expansion, encoded
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import submissions
from sluice.ops.bench.pipelines import Apps
from sluice.ops.bench.saga_runs import claimed_jobs
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import scaled
from sluice.ops.bench.workers import peak_mb

#: Jobs that the job adds.
PARTS = scaled(PARTS_MAX)
_PLANNED = "SELECT (SELECT count(*) FROM job) - 1, (SELECT count(*) FROM need)"


def definitions() -> Apps:
    """Return an app whose job adds jobs of ``part``, the app that needs them all, and an app with as many jobs."""
    one = {"job_id": "{z}", "autofill_values": {"z": [1]}}
    return {
        "source": one,
        "part": {"job_id": "{z}_{n}"},
        "join": one,
        "plain": {"job_id": "{n}", "autofill_values": {"n": f"0:{PARTS}"}},
    }


def plan_expansion(ledger_url: str, catalogue: Catalogue) -> Figures:
    """Record the success of a job that adds jobs, and plan these. Afterwards plan as many jobs without needs."""
    ledger = Ledger(ledger_url)
    [job] = claimed_jobs(ledger, catalogue, "source")
    keys = tuple(f"1_{number}" for number in range(PARTS))
    body = encoded([Expansion("part", keys, then=JobName("join", "1"))])
    transactions.record(ledger, {job.right: Outcome(ending=Ending.DONE, expansions=body)})
    idle_mb, cpu_s, began = peak_mb(), time.process_time(), time.perf_counter()
    handlers.executed(ledger, catalogue, Executed(jobs=(job.right.job,)))
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_s
    most_mb = peak_mb()
    [(added, needs)] = ledger.transact(lambda tx: tx.rows(_PLANNED))
    if added != PARTS + 1:
        raise SluiceError("The added jobs were not planned.")
    plain_s = _plain_s(ledger, catalogue)
    ledger.close()
    return {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "grown_mb": most_mb - idle_mb,
        "peak_mb": most_mb,
        "jobs": added,
        "needs": needs,
        "plain_wall_s": plain_s,
        "to_plain_ratio": wall_s / plain_s,
    }


def _plain_s(ledger: Ledger, catalogue: Catalogue) -> float:
    """Return the seconds that planning a submission of as many jobs without needs takes."""
    asked = Submission(app="plain", id="plain")
    ledger.transact(lambda tx: submissions.receive(tx, [asked]))
    began = time.perf_counter()
    handlers.plan(ledger, catalogue, Plan(submissions=("plain",)))
    return time.perf_counter() - began
