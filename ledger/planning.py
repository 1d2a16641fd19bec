"""Planning: a plan's jobs, needs and gates enter the ledger.

Who races whom: two plans for the same keys (the primary key decides; what was not inserted belongs to
the other and becomes an edge to his job), and a plan against a parent that is just ending (see ``counts``).
What a crash leaves: nothing, for a plan is one transaction.
"""

import msgspec
from msgspec import Struct

from jobs.plan import Plan, PlannedJob, Standing, Wish
from jobs.ref import JobName
from jobs.states import SKIP, WANT, By, State
from ledger import counts, reviving, wishes
from ledger.connection import Tx, arrays
from ledger.counts import Told
from ledger.release import release, strand
from ledger.sql import NOW, move

# Plans insert in an order that all processes share (see jobs.plan.Plan), so two that overlap wait for
# each other's uncommitted keys in one direction only.
_INSERT = f"""
WITH made AS (
    INSERT INTO job (app, key, state, priority, max_fails, max_timeouts, max_losses, timeout_s, retry,
                     overrides, kwargs, not_before, end_before, created_at, changed_at)
    SELECT app, key, state, priority, max_fails, max_timeouts, max_losses, timeout_s, retry::jsonb,
           overrides::jsonb, kwargs::jsonb, not_before, end_before, {NOW}, {NOW}
    FROM unnest(%(app)s::text[], %(key)s::text[], %(state)s::text[], %(priority)s::int[],
                %(max_fails)s::int[], %(max_timeouts)s::int[], %(max_losses)s::int[], %(timeout_s)s::float8[],
                %(retry)s::text[], %(overrides)s::text[], %(kwargs)s::text[],
                %(not_before)s::timestamptz[], %(end_before)s::timestamptz[])
         WITH ORDINALITY AS new (app, key, state, priority, max_fails, max_timeouts, max_losses, timeout_s,
                                 retry, overrides, kwargs, not_before, end_before, place)
    ORDER BY place
    ON CONFLICT (app, version, key) DO NOTHING
    RETURNING id, app, key, state, changed_at
), logged AS (
    INSERT INTO transition (job, at, source, target, verb, by, round, claim)
    SELECT id, changed_at, '-', made.state, verb, '{By.PLANNER}', 0, 0
    FROM made JOIN unnest(%(targets)s::text[], %(verbs)s::text[]) AS made_by (state, verb) USING (state)
)
SELECT id, app, key FROM made
"""

_FIND = """
SELECT job.id, job.app, job.key, job.state
FROM job JOIN unnest(%(app)s::text[], %(key)s::text[]) AS named (app, key) USING (app, key)
WHERE job.version = ''
"""

# The expected ones first: they will be written, and a share lock that has to grow invites a deadlock.
_HOLD_EXPECTED = f"""
SELECT id FROM job WHERE id = ANY(%(jobs)s) AND state = '{State.EXPECTED}' ORDER BY id FOR UPDATE
"""
_HOLD = "SELECT id, state FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR SHARE"

_WANT_EXPECTED = move(
    WANT,
    By.PLANNER,
    given="unnest(%(jobs)s::bigint[], %(priority)s::int[], %(max_fails)s::int[], %(max_timeouts)s::int[], "
    "%(max_losses)s::int[], %(timeout_s)s::float8[], %(retry)s::text[], %(overrides)s::text[], "
    "%(kwargs)s::text[], %(not_before)s::timestamptz[], %(end_before)s::timestamptz[]) AS given (id, priority, "
    "max_fails, max_timeouts, max_losses, timeout_s, retry, overrides, kwargs, not_before, end_before)",
    sets="priority = given.priority, max_fails = given.max_fails, max_timeouts = given.max_timeouts, "
    "max_losses = given.max_losses, timeout_s = given.timeout_s, retry = given.retry::jsonb, "
    "overrides = given.overrides::jsonb, kwargs = given.kwargs::jsonb, not_before = given.not_before, "
    "end_before = given.end_before",
)

_SKIP_EXPECTED = move(SKIP, By.PLANNER, condition=f"job.state = '{State.EXPECTED}'")

_INSERT_GATES = """
INSERT INTO gate (child, gate, name, unmet, dead)
SELECT *, 0, 0 FROM unnest(%(child)s::bigint[], %(gate)s::int[], %(name)s::text[])
ON CONFLICT (child, gate) DO NOTHING
"""
_INSERT_NEEDS = """
INSERT INTO need (child, gate, parent, condition)
SELECT * FROM unnest(%(child)s::bigint[], %(gate)s::int[], %(parent)s::bigint[], %(condition)s::text[])
ON CONFLICT (child, gate, parent) DO NOTHING
"""
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


def find(tx: Tx, names: list[JobName]) -> dict[JobName, Known]:
    """Which of these jobs the ledger has. It locks nothing: a hint for a walk, not a basis for a write."""
    rows = tx.rows(_FIND, **arrays(names, "app", "key"))
    known = (Known(id, app, key, State(state)) for id, app, key, state in rows)
    return {job.name: job for job in known}


def plan(tx: Tx, plan: Plan) -> Told:
    """Enter a plan: the jobs of it that may run at once."""
    new = _insert(tx, plan.jobs)
    ids = _hold(tx, plan.jobs)
    skipped = [ids[job.name] for job in plan.jobs if job.standing is Standing.SKIPPED]
    tx.rows(_SKIP_EXPECTED, jobs=skipped)
    wanted = [job for job in plan.jobs if job.standing is Standing.WANTED]
    fresh = _want_expected(tx, [job for job in wanted if job.name not in new], ids)
    fresh += [ids[job.name] for job in wanted if job.name in new]
    _connect(tx, plan.jobs, ids, set(fresh))
    wishes.want(tx, [(number, ids[name], wish) for number, name, wish in plan.wants])
    counts.recount(tx, fresh)
    waiting = fresh + _revive(tx, plan, ids, [ids[job.name] for job in wanted])
    ready = release(tx, By.PLANNER, waiting)
    told = counts.tell(tx, skipped + strand(tx, waiting))
    return Told(ready + told.ready, sorted({*told.turned, *tx.column(_TURNED, jobs=waiting)}))


def _insert(tx: Tx, jobs: tuple[PlannedJob, ...]) -> set[JobName]:
    """Insert what is not there yet; the names of what this very transaction made."""
    if not jobs:
        return set()
    verbs = {standing.verb.target: standing.verb.name for standing in Standing}
    rows = tx.rows(
        _INSERT,
        app=[job.name.app for job in jobs],
        key=[job.name.key for job in jobs],
        state=[job.standing.verb.target for job in jobs],
        targets=list(verbs),
        verbs=list(verbs.values()),
        **_terms(jobs),
    )
    return {JobName(app, key) for _, app, key in rows}


def _terms(jobs: tuple[PlannedJob, ...] | list[PlannedJob]) -> dict[str, list[object]]:
    """What a job runs under, as columns. It is kept per job, so that SQL can judge losses and timeouts."""
    policies = [job.policy for job in jobs]
    return {
        "priority": [policy.priority for policy in policies],
        "max_fails": [policy.max_fails for policy in policies],
        "max_timeouts": [policy.max_timeouts for policy in policies],
        "max_losses": [policy.max_losses for policy in policies],
        "timeout_s": [policy.timeout_s for policy in policies],
        "retry": [msgspec.json.encode(policy.retry).decode() for policy in policies],
        "overrides": [_json(job.overrides) for job in jobs],
        "kwargs": [_json(job.kwargs) for job in jobs],
        "not_before": [policy.start_after for policy in policies],
        "end_before": [policy.end_before for policy in policies],
    }


def _json(words: object) -> str | None:
    return msgspec.json.encode(words).decode() if words else None


def _hold(tx: Tx, jobs: tuple[PlannedJob, ...]) -> dict[JobName, int]:
    """The ids of all jobs of the plan (their parents are among them), locked against ending meanwhile."""
    ids = {name: known.id for name, known in find(tx, [job.name for job in jobs]).items()}
    tx.rows(_HOLD_EXPECTED, jobs=list(ids.values()))
    tx.rows(_HOLD, jobs=list(ids.values()))
    return ids


def _want_expected(tx: Tx, jobs: list[PlannedJob], ids: dict[JobName, int]) -> list[int]:
    """Wake those of the jobs that were only expected; they get the terms of whoever asked first."""
    if not jobs:
        return []
    return tx.column(_WANT_EXPECTED, jobs=[ids[job.name] for job in jobs], **_terms(jobs))


def _connect(tx: Tx, jobs: tuple[PlannedJob, ...], ids: dict[JobName, int], fresh: set[int]) -> None:
    """Write the gates and needs of the jobs that this plan set waiting."""
    gates = [
        (ids[job.name], place, gate)
        for job in jobs
        if ids[job.name] in fresh
        for place, gate in enumerate(job.gates)
    ]
    needs = [
        (child, place, ids[need.parent], need.when) for child, place, gate in gates for need in gate.needs
    ]
    if gates:
        named = [(child, place, gate.name) for child, place, gate in gates]
        tx.write(_INSERT_GATES, **arrays(named, "child", "gate", "name"))
    if needs:
        tx.write(_INSERT_NEEDS, **arrays(needs, "child", "gate", "parent", "condition"))


def _revive(tx: Tx, plan: Plan, ids: dict[JobName, int], wanted: list[int]) -> list[int]:
    """Run again what was cancelled and is wanted now, and what the plan asks for; all whom that touches."""
    touched = reviving.want_again(tx, wanted).touched
    for again in plan.reruns:
        revived = reviving.rerun(tx, [ids[name] for name in again.names], downstream=again.downstream)
        wishes.want(tx, [(again.submission, job, Wish.PUSHED) for job in revived.jobs])
        touched += revived.touched
    return touched
