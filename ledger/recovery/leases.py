"""Workers and their leases. A job's lease is its worker's, so one heartbeat row covers all jobs of a process."""

from uuid import UUID

import msgspec
from msgspec import Struct

from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.jobs.model.names import Claim
from sluice.jobs.observe.log_context import NAMED_MAX
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW
from sluice.ledger.lifecycle import plan_attempts

_JOIN = f"""
INSERT INTO worker (id, host, pid, queues, threads, code, started_at, lease_until)
VALUES (%(id)s, %(host)s, %(pid)s, %(queues)s, %(threads)s, %(code)s, {NOW},
        {NOW} + make_interval(secs => %(lease_s)s))
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, left_at = NULL
"""
# A lease that ran out is renewed all the same: its jobs may be lost, but the process is not.
_BEAT = f"""
UPDATE worker SET lease_until = greatest(lease_until, {NOW} + make_interval(secs => %(lease_s)s))
WHERE id = %(id)s
"""
_KNOW = f"""
UPDATE worker SET
    definitions_at = CASE WHEN catalogue IS DISTINCT FROM %(catalogue)s THEN {NOW} ELSE definitions_at END,
    catalogue = %(catalogue)s, definitions = %(definitions)s::jsonb, definitions_problem = %(problem)s
WHERE id = %(id)s
"""
_HELD = f"""
SELECT job.id, job.claim FROM job JOIN unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (id, claim)
USING (id) WHERE job.state = '{State.RUNNING}' AND job.claim = given.claim
"""
_STRAYS = f"""
SELECT job.id, job.claim FROM job
WHERE job.worker = %(id)s AND job.state = '{State.RUNNING}'
  AND job.changed_at < {NOW} - make_interval(secs => %(grace_s)s)
  AND (job.id, job.claim) NOT IN (SELECT * FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[]))
ORDER BY job.id
"""
_LOST = """
SELECT worker.host, worker.pid, count(*) AS jobs, count(*) FILTER (WHERE job.id = ANY(%(ended)s)) AS failed,
       (array_agg(job.app || '/' || job.key ORDER BY job.app, job.key))[:%(names_max)s] AS names
FROM job JOIN round ON round.job = job.id AND round.claim = job.claim JOIN worker ON worker.id = round.worker
WHERE job.id = ANY(%(jobs)s)
GROUP BY worker.id ORDER BY worker.host, worker.pid
"""
_LEAVE = f"UPDATE worker SET left_at = {NOW}, lease_until = least(lease_until, {NOW}) WHERE id = %(id)s"

# A pulse only saves work: everything that it guards may safely run twice.
_PULSE = f"""
INSERT INTO leader (name, holder, at) VALUES (%(name)s, %(holder)s, {NOW})
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, at = excluded.at
WHERE leader.holder = excluded.holder OR leader.at < {NOW} - make_interval(secs => %(term_s)s)
RETURNING name
"""


def join(
    tx: Tx,
    id: UUID,
    *,
    host: str,
    pid: int,
    queues: list[str],
    threads: int,
    lease_s: float,
    code: str | None = None,
) -> None:
    """Register a worker; only a registered worker may claim jobs.

    ``threads`` is the number of jobs it runs at once, ``code`` the version of its users' code.
    """
    tx.write(_JOIN, id=id, host=host, pid=pid, queues=queues, threads=threads, code=code, lease_s=lease_s)


def record_definitions(tx: Tx, id: UUID, known: KnownDefinitions) -> None:
    """Record the definitions that the worker uses from now on, for comparison with other workers."""
    tx.write(
        _KNOW,
        id=id,
        catalogue=known.digest,
        definitions=msgspec.json.encode(known.apps).decode(),
        problem=known.problem,
    )


def renew(tx: Tx, id: UUID, claims: list[Claim], *, lease_s: float) -> set[Claim]:
    """Renew the worker's lease, and return its claims that are still valid."""
    tx.write(_BEAT, id=id, lease_s=lease_s)
    return standing(tx, claims)


def standing(tx: Tx, claims: list[Claim]) -> set[Claim]:
    """Return the claims that are still valid."""
    return {Claim(*row) for row in tx.rows(_HELD, **arrays(claims, "jobs", "claims"))} if claims else set()


def strays(tx: Tx, id: UUID, known: list[Claim], *, grace_s: float) -> list[Claim]:
    """Return this worker's running claims that it does not know, although older than the grace period.

    They are left by a claim transaction that was committed while the answer was lost. It was run again and took other
    jobs. Their lease is the worker's, which would protect them as long as the worker lives.
    """
    rows = tx.rows(_STRAYS, id=id, grace_s=grace_s, **arrays(known, "jobs", "claims"))
    return [Claim(*row) for row in rows]


class LostWorker(Struct, frozen=True):
    """A worker with an expired lease, and how many jobs were taken from it. ``failed`` of these had no losses left.
    ``names`` are the first ones, as ``app/key``."""

    host: str
    pid: int
    jobs: int
    failed: int
    names: list[str]


def lost(tx: Tx, requeued: list[int], ended: list[int]) -> list[LostWorker]:
    """Return the workers from which this transaction has taken these jobs."""
    jobs = requeued + ended
    return tx.structs(LostWorker, _LOST, jobs=jobs, ended=ended, names_max=NAMED_MAX) if jobs else []


def leave(tx: Tx, id: UUID) -> None:
    """End the lease of a worker that stops. The groomer then takes its remaining jobs immediately.

    Its attempts at planning are removed, because an interrupted plan has not killed its planner.
    """
    plan_attempts.keep(tx, id, [])
    tx.write(_LEAVE, id=id)


def take_leadership(tx: Tx, name: str, holder: UUID, *, term_s: float) -> bool:
    """Return whether this holder leads: it led before, or the previous leader has not renewed its pulse for a term."""
    return bool(tx.column(_PULSE, name=name, holder=holder, term_s=term_s))
