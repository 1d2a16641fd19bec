"""Entry of steps into the ledger: the jobs of one plan that make partitions of a table, some thousands at a time.

They come table by table, in the order of their dependencies, so a plan of any size is never in memory as a whole. The
caller has locked the tables, and the jobs of other plans that these steps wait for. So an existing job under the name
of a step is dead, and is rerun. The exception is a live job that has made all of its partitions and is requested
again before it ends: it is left as it is.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import PlannedJob
from sluice.jobs.states import LIVE, By, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import dependencies, insertion, known_jobs, priorities, reruns
from sluice.ledger.job_graph.readiness import ReadyJob, make_ready
from sluice.ledger.notifications import subscriptions
from sluice.ledger.notifications.subscriptions import SubscribedJob

# Locked, so that none of these jobs ends before the additional request for it is recorded.
_HOLD_LIVING = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state IN ({sql_list(*sorted(LIVE))}) ORDER BY id FOR UPDATE
"""


class Entered(NamedTuple):
    """Result of entering steps.

    ``ready`` are jobs that may run now. ``living`` existed before and continue unchanged. ``again`` were dead and are
    rerun. ``unsure`` need jobs that existed before. If such a job has failed, they cannot start any more.
    """

    ids: Mapping[JobName, int]
    ready: list[ReadyJob]
    living: set[JobName]
    again: list[int]
    unsure: list[int]


def enter(
    tx: Tx,
    jobs: Sequence[PlannedJob],
    known: Mapping[JobName, int],
    joined: Collection[JobName],
    *,
    even: bool,
    submission: int,
) -> Entered:
    """Enter steps of a submission, given by its number. ``known`` has the ids of all jobs that they need.

    The ``joined`` ones among these existed before, so a need for them may be met already. ``even`` is true if none of
    the needed jobs is less urgent than these steps.
    """
    steps = _insert(tx, jobs)
    again = steps.ids_of(steps.dead)
    ids = {**known, **steps.ids}
    dependencies.write(tx, steps.new, ids)
    rerun_jobs = reruns.begin_anew(tx, again)
    insertion.renew(tx, steps.dead, steps.ids)
    for begun, is_again in ((steps.new, False), (steps.dead, True)):
        subscribed = [
            SubscribedJob(steps.ids[job.name], job.policy, submission)
            for job in begun
            if subscriptions.has_rules(job.policy)
        ]
        subscriptions.subscribe(tx, subscribed, again=is_again)
    dependencies.replace(tx, steps.dead, ids)
    waiting_for_others = steps.ids_of(
        job for job in jobs if job.name not in steps.living and _needs_any(job, joined)
    )
    unsure = sorted({*rerun_jobs, *waiting_for_others})
    dependencies.recount(tx, unsure)
    priorities.lend(tx, unsure if even else sorted({*unsure, *steps.ids_of(steps.new)}))
    is_open = steps.ids_of(job for job in steps.new if insertion.is_open(job))
    ready = make_ready(tx, By.PLANNER, [*unsure, *is_open])
    return Entered(steps.ids, ready, steps.living, again, unsure)


def expect(tx: Tx, jobs: Sequence[PlannedJob]) -> dict[JobName, int]:
    """Insert placeholder jobs for partitions that are made elsewhere, if they are missing. Return their ids."""
    made, older = _insert_missing(tx, jobs)
    return {**made, **older}


class _Steps(NamedTuple):
    """Steps of a plan with their ids, by the jobs that existed under their names.

    No job existed for a ``new`` step. A ``dead`` job is rerun. A ``living`` one continues unchanged.
    """

    ids: Mapping[JobName, int]
    new: list[PlannedJob]
    dead: list[PlannedJob]
    living: set[JobName]

    def ids_of(self, jobs: Iterable[PlannedJob]) -> list[int]:
        return [self.ids[job.name] for job in jobs]


def _insert(tx: Tx, jobs: Sequence[PlannedJob]) -> _Steps:
    """Insert the missing steps, and lock the existing jobs that are alive."""
    made, older = _insert_missing(tx, jobs)
    held = {*tx.column(_HOLD_LIVING, jobs=list(older.values()))} if older else set()
    living = {name for name, id in older.items() if id in held}
    new = [job for job in jobs if job.name in made]
    dead = [job for job in jobs if job.name in older and job.name not in living]
    return _Steps({**made, **older}, new, dead, living)


def _insert_missing(tx: Tx, jobs: Sequence[PlannedJob]) -> tuple[dict[JobName, int], dict[JobName, int]]:
    """Insert the jobs that do not exist yet; return the ids of the inserted and of the existing jobs."""
    made = insertion.insert(tx, jobs).ids
    older = known_jobs.find(tx, [job.name for job in jobs if job.name not in made])
    return made, {name: job.id for name, job in older.items()}


def _needs_any(job: PlannedJob, names: Collection[JobName]) -> bool:
    return bool(names) and any(need.parent in names for gate in job.gates for need in gate.needs)
