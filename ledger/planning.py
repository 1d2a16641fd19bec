"""Planning: a plan's jobs, needs and gates enter the ledger.

Who races whom: two plans for the same keys (see ``entering``), and a plan against a parent that is just ending
(see ``counts``). What this transaction inserts nobody else sees yet, so only what was there before is locked,
and only children of that, or of what is skipped, are counted again after their needs have been written.
What a crash leaves: nothing, for a plan is one transaction.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from jobs.plan import Plan, PlannedJob, Standing, Wish
from jobs.ref import JobName
from jobs.states import By, State
from ledger import counts, entering, gates, reviving, urgency, wishes
from ledger.connection import Tx, arrays
from ledger.counts import Told
from ledger.release import Ready, release, strand

_FIND = """
SELECT job.id, job.app, job.key, job.state
FROM job JOIN unnest(%(app)s::text[], %(key)s::text[]) AS named (app, key) USING (app, key)
WHERE job.version = ''
"""

# The expected ones first: they will be written, and a share lock that has to grow invites a deadlock.
_HOLD_EXPECTED = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state = '{State.EXPECTED}' ORDER BY id FOR UPDATE
"""
_HOLD = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR SHARE"

# Jobs that were planned with one alternative dead already and another neither dead nor met.
_TURNED = """
SELECT child FROM gate WHERE child = ANY(%(jobs)s) GROUP BY child
HAVING bool_or(dead > 0) AND NOT bool_and(dead > 0) AND NOT bool_or(unmet = 0)
"""


class Known(Struct, frozen=True):
    """A job that the ledger has, in the state it had when it was read."""

    id: int
    app: str
    key: str
    state: State

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def find(tx: Tx, names: Collection[JobName]) -> dict[JobName, Known]:
    """Which of these jobs the ledger has. It locks nothing: a hint for a walk, not a basis for a write."""
    if not names:
        return {}
    rows = tx.rows(_FIND, **arrays(list(names), "app", "key"))
    known = (Known(id, app, key, State(state)) for id, app, key, state in rows)
    return {job.name: job for job in known}


def plan(tx: Tx, plan: Plan) -> Told:
    """Enter a plan: the jobs of it that may run at once."""
    made = entering.insert(tx, plan.jobs)
    older = _hold(tx, [job.name for job in plan.jobs if job.name not in made])
    ids = made | older
    skipped = [job.name for job in plan.jobs if job.standing is Standing.SKIPPED]
    entering.skip(tx, [ids[name] for name in skipped])
    wanted = [job for job in plan.jobs if job.standing is Standing.WANTED]
    woken = entering.wake(tx, [job for job in wanted if job.name in older], ids)
    fresh = [job for job in wanted if job.name in made or ids[job.name] in woken]
    gates.write(tx, fresh, ids)
    asked_again = [job for job in wanted if job.name in older and ids[job.name] not in woken]
    again = [ids[name] for rerun in plan.reruns for name in rerun.names]
    changed = gates.outdated(tx, asked_again, ids, again)
    gates.replace(tx, changed, ids)
    wishes.want(tx, [(number, ids[name], wish) for number, name, wish in plan.wants])
    unsure = [ids[job.name] for job in (*_decided(fresh, older.keys() | set(skipped)), *changed)]
    counts.recount(tx, unsure)
    revived = _revive(tx, plan, asked_again, ids)
    raised = urgency.ask(tx, {ids[job.name]: job.policy.priority for job in asked_again})
    touched = sorted({*unsure, *revived})
    urgency.lend(tx, sorted({*touched, *raised, *(ids[job.name] for job in fresh)}))
    ready = release(tx, By.PLANNER, [*touched, *(ids[job.name] for job in fresh if entering.is_open(job))])
    stranded = strand(tx, touched)
    told = counts.tell(tx, [*(ids[name] for name in skipped), *stranded])
    turned = tx.column(_TURNED, jobs=touched) if touched else []
    return Told(
        _as_asked(ready, plan, ids) + told.ready,
        sorted({*told.turned, *turned}),
        {**stranded, **told.stranded},
    )


def _hold(tx: Tx, names: list[JobName]) -> dict[JobName, int]:
    """The ids of the plan's jobs that were there before, locked against ending meanwhile."""
    ids = {name: known.id for name, known in find(tx, names).items()}
    if ids:
        tx.rows(_HOLD_EXPECTED, jobs=list(ids.values()))
        tx.rows(_HOLD, jobs=list(ids.values()))
    return ids


def _decided(jobs: Iterable[PlannedJob], names: Collection[JobName]) -> list[PlannedJob]:
    """Those of the jobs that need any of these, whose state may have decided the need already."""
    if not names:
        return []
    return [job for job in jobs if any(need.parent in names for gate in job.gates for need in gate.needs)]


def _revive(tx: Tx, plan: Plan, jobs: Sequence[PlannedJob], ids: Mapping[JobName, int]) -> list[int]:
    """Run again what was cancelled and is wanted now, and what the plan asks for; all whom that touches.

    Those that the plan names begin anew under its terms, the others under those they had.
    """
    if not jobs and not plan.reruns:
        return []
    revived = reviving.want_again(tx, [ids[job.name] for job in jobs])
    begun, touched = revived.jobs, revived.touched
    for again in plan.reruns:
        revived = reviving.rerun(tx, [ids[name] for name in again.names], downstream=again.downstream)
        wishes.want(tx, [(again.submission, job, Wish.PUSHED) for job in revived.jobs])
        begun, touched = begun + revived.jobs, touched + revived.touched
    entering.renew(tx, [job for job in jobs if ids[job.name] in set(begun)], ids)
    return touched


def _as_asked(ready: list[Ready], plan: Plan, ids: Mapping[JobName, int]) -> list[Ready]:
    """In the order in which they were asked for: of two that are equally urgent, who came first goes first."""
    places = {ids[name]: place for place, (_, name, _) in reversed([*enumerate(plan.wants)])} if ready else {}
    return sorted(ready, key=lambda job: places.get(job.job, len(places)))
