"""Workloads of Sluice: their descriptions, and the code of one run of each."""

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from sluice.actors.planner import handlers
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.broker.messages import Plan
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import SluiceError
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import remember
from sluice.ledger.lifecycle import submissions
from sluice.ledger.reads import submission_progress
from sluice.ops.bench import baseline
from sluice.ops.bench.console_latency import looking
from sluice.ops.bench.embedded import embedded
from sluice.ops.bench.expansion_plan import PARTS, definitions, plan_expansion
from sluice.ops.bench.machine import reference_figures
from sluice.ops.bench.pipelines import Apps, backfill, chunks, deep, grid, layers, many_apps, scattered_ids
from sluice.ops.bench.saga_runs import fly
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import CHAIN, FLAT, scaled
from sluice.ops.bench.workers import peak_mb
from sluice.planner.keyspaces.choose import keyspace_of

_YEAR = {"start": "2025-01-01-00", "end": "2025-12-31-23"}


#: Groups of ``plan``. Each is a hundred jobs with three needs each.
_GROUPS = scaled(1_000)
#: Groups of ``plan-million``. With the first layer they are nearly a million jobs, the limit of one submission.
_GROUPS_OF_A_MILLION = scaled(9_700)


class Workload(Struct, frozen=True):
    """Workload of Sluice. ``run`` takes the address of an empty ledger. With ``by_name`` it runs only if it
    is named.
    """

    what: str
    run: Callable[[str], Figures]
    by_name: bool = False


def _load(_: str) -> Figures:
    with TemporaryDirectory() as folder:
        source = _written(many_apps(), Path(folder))
        began = time.perf_counter()
        load([source])
        return {"load_s": time.perf_counter() - began}


def _parents(_: str) -> Figures:
    catalogue = _catalogue(grid())
    few, all_ = (_gates_s(catalogue, app, key) for app, key in (("cell", "7_9"), ("sum", "1")))
    return {"of_three_ms": few * 1000, "of_all_100000_ms": all_ * 1000}


def _gates_s(catalogue: Catalogue, app: str, key: str) -> float:
    found = catalogue.app(app)
    began = time.perf_counter()
    keyspace_of(found, catalogue).gates(found, key)
    return time.perf_counter() - began


def _plan_deep(ledger_url: str, groups: int) -> Figures:
    """Plan layers of jobs. Afterwards write the same rows by COPY and build the same graph by networkx, as a
    baseline.
    """
    planned = _plan(ledger_url, deep(groups), "deepest")
    ledger = Ledger(ledger_url)
    copy_s, graph_s = baseline.copied_s(ledger), baseline.drawn_s(ledger)
    ledger.close()
    return {
        **planned,
        "copy_s": copy_s,
        "networkx_s": graph_s,
        "to_copy_and_networkx_ratio": planned["wall_s"] / (copy_s + graph_s),
    }


def _plan_grid(ledger_url: str) -> Figures:
    return _plan(ledger_url, grid(), "cell")


def _plan_layers(ledger_url: str) -> Figures:
    return _plan(ledger_url, layers(), "layer4")


def _plan_chunks(ledger_url: str) -> Figures:
    return _plan(ledger_url, chunks(), "report")


def _plan_chunks_on_past(ledger_url: str) -> Figures:
    """Plan chunks of which every other hundred IDs are fresh in each dependency."""
    apps, ids = chunks(), scattered_ids()
    parents = [name for name in apps if name != "report"]
    ledger = Ledger(ledger_url)
    for first, age_s in ((0, 1.0), (100, 86_400.0)):
        aged = [id for start in range(first, len(ids), 200) for id in ids[start : start + 100]]
        ledger.transact(partial(remember, apps=parents, ids=aged, age_s=age_s))
    ledger.close()
    return _plan(ledger_url, apps, "report")


def _plan_backfill(ledger_url: str) -> Figures:
    return _plan(ledger_url, backfill(step_size=1), "report", **_YEAR)


def _plan_backfill_by_day(ledger_url: str) -> Figures:
    return _plan(ledger_url, backfill(step_size=24), "report", **_YEAR)


def _plan_expansion(ledger_url: str) -> Figures:
    return plan_expansion(ledger_url, _catalogue(definitions()))


def _plan(ledger_url: str, apps: Apps, app: str, **words: str) -> Figures:
    """Plan one submission. Measure it from received to planned, in the time and memory of this process.

    Without ``words`` the submission requests every job of the app.
    """
    catalogue = _catalogue(apps)
    ledger = Ledger(ledger_url)
    wanted = msgspec.convert({"app": app, "id": "bench", **words}, Submission)
    ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
    idle_mb, cpu_s, began = peak_mb(), time.process_time(), time.perf_counter()
    handlers.plan(ledger, catalogue, Plan(submissions=("bench",)))
    wall_s = time.perf_counter() - began
    found = ledger.transact(lambda tx: submission_progress.status(tx, "bench"))
    if found is None or found.state is not SubmissionState.ACTIVE:
        raise SluiceError("The submission was not planned.", where=(found and found.reason) or "")
    figures = {
        "wall_s": wall_s,
        "cpu_s": time.process_time() - cpu_s,
        "grown_mb": peak_mb() - idle_mb,
        "jobs": ledger.transact(lambda tx: tx.column("SELECT count(*) FROM job"))[0],
        "needs": ledger.transact(lambda tx: tx.column("SELECT count(*) FROM need"))[0],
    }
    ledger.close()
    return figures


def _catalogue(apps: Apps) -> Catalogue:
    """Return the catalogue as every process loads it."""
    with TemporaryDirectory() as folder:
        return Definitions(Settings(apps=(_written(apps, Path(folder)),))).current


def _written(apps: Apps, folder: Path) -> str:
    path = folder / "apps.json"
    path.write_text(json.dumps(apps))
    return str(path)


WORKLOADS: Mapping[str, Workload] = {
    "machine": Workload(
        "reference figures of the machine: a loop in Python, a round trip to Postgres, a commit of one row",
        reference_figures,
    ),
    "load": Workload("300 apps are loaded and checked as a whole", _load),
    "parents": Workload("the parents of one job, in process: three of them, and 100,000", _parents),
    "plan": Workload(
        f"one submission pulls {100 * _GROUPS:,} jobs that each need three jobs of the layer before; "
        "compared with COPY and networkx",
        partial(_plan_deep, groups=_GROUPS),
    ),
    "plan-million": Workload(
        f"the same with {100 * _GROUPS_OF_A_MILLION:,} jobs; runs only if named",
        partial(_plan_deep, groups=_GROUPS_OF_A_MILLION),
        by_name=True,
    ),
    "plan-grid": Workload("one submission of 100,000 jobs, each needing three of 650 others", _plan_grid),
    "plan-layers": Workload(
        "one submission pulls five layers of 20,000 jobs, each needing four", _plan_layers
    ),
    "plan-backfill": Workload(
        "one submission of a year of 50 hourly apps, with a job for each partition", _plan_backfill
    ),
    "plan-backfill-by-day": Workload("the same, with a job for each day", _plan_backfill_by_day),
    "plan-expansion": Workload(
        f"one job adds {PARTS:,} jobs and a job that needs them all (job.expand); "
        "compared with a submission of as many jobs",
        _plan_expansion,
    ),
    "embedded": Workload(
        f"flat, {FLAT:,} jobs, and chain-in-one, {CHAIN:,}, under `sluice up` without configuration",
        embedded,
    ),
    "saga-steps": Workload(
        "sagas of 50 steps that do nothing, and the same number of commits of one row", fly
    ),
    "looking": Workload(
        "response times of the console after 1,000,000 jobs; runs only if named",
        looking,
        by_name=True,
    ),
    "plan-chunks": Workload(
        "one submission of 1,000,000 work IDs, 10,000 chunks that need three apps", _plan_chunks
    ),
    "plan-chunks-on-past": Workload(
        "the same, with 1,000,000 recorded runs of each of these apps", _plan_chunks_on_past
    ),
}
