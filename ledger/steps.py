"""Steps enter the ledger: the jobs of one plan that each make partitions of a table, some thousands at a time.

They come table by table, each after those that it is made from, so a plan of any size is never in memory as a whole.
Whoever plans has taken his turn at the tables, and holds the jobs of others that these wait for; so whatever was there
before under one of their names is dead and begins anew. But for a job that has made all of its partitions, and is asked
for again before it ends: that is left to it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sluice.jobs.plan import PlannedJob
from sluice.jobs.ref import JobName
from sluice.jobs.states import LIVE, By, sql_list
from sluice.ledger import counts, entering, gates, reviving, urgency
from sluice.ledger.connection import Tx
from sluice.ledger.planning import find
from sluice.ledger.release import Ready, release

# Held, so that none of them ends before it is written down who else wants it.
_HOLD_LIVING = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state IN ({sql_list(*sorted(LIVE))}) ORDER BY id FOR UPDATE
"""


class Entered(NamedTuple):
    """``ready`` are those of the jobs that may run at once; ``living`` were there before, and go on as they did;
    ``again`` were dead and begin anew."""

    ids: Mapping[JobName, int]
    ready: list[Ready]
    living: set[JobName]
    again: list[int]


def enter(
    tx: Tx,
    jobs: Sequence[PlannedJob],
    known: Mapping[JobName, int],
    joined: Collection[JobName],
    *,
    even: bool,
) -> Entered:
    """``known`` has the ids of all that they need, of whom ``joined`` were there before and may have come to what is
    needed of them. ``even`` says that none of the others is less urgent than these."""
    made = entering.insert(tx, jobs).ids
    older = find(tx, [job.name for job in jobs if job.name not in made])
    ids = {**made, **{name: job.id for name, job in older.items()}}
    held = {*tx.column(_HOLD_LIVING, jobs=[job.id for job in older.values()])} if older else set()
    living = {name for name, job in older.items() if job.id in held}
    again = [job for job in jobs if job.name in older and job.name not in living]
    waiting_for_others = [ids[job.name] for job in jobs if job.name not in living and _needs_any(job, joined)]
    gates.write(tx, [job for job in jobs if job.name in made], {**known, **ids})
    revived = reviving.begin_anew(tx, [ids[job.name] for job in again])
    entering.renew(tx, again, ids)
    gates.replace(tx, again, {**known, **ids})
    unsure = sorted({*revived, *waiting_for_others})
    counts.recount(tx, unsure)
    urgency.lend(tx, unsure if even else sorted({*unsure, *made.values()}))
    is_open = [ids[job.name] for job in jobs if job.name in made and entering.is_open(job)]
    ready = release(tx, By.PLANNER, [*unsure, *is_open])
    return Entered(ids, ready, living, [ids[job.name] for job in again])


def expect(tx: Tx, jobs: Sequence[PlannedJob]) -> dict[JobName, int]:
    """The ids of jobs that only stand for what others make."""
    made = entering.insert(tx, jobs).ids
    older = find(tx, [job.name for job in jobs if job.name not in made])
    return {**made, **{name: each.id for name, each in older.items()}}


def _needs_any(job: PlannedJob, names: Collection[JobName]) -> bool:
    return bool(names) and any(need.parent in names for gate in job.gates for need in gate.needs)
