"""Workers and their leases. A job's lease is its worker's, so one row beats for all that a process holds."""

from uuid import UUID

import msgspec
from msgspec import Struct

from sluice.jobs.catalogue.known import KnownDefinitions
from sluice.jobs.ref import Claim
from sluice.jobs.states import State
from sluice.ledger import plan_attempts
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.sql import NOW

_JOIN = f"""
INSERT INTO worker (id, host, pid, queues, threads, code, started_at, lease_until)
VALUES (%(id)s, %(host)s, %(pid)s, %(queues)s, %(threads)s, %(code)s, {NOW},
        {NOW} + make_interval(secs => %(lease_s)s))
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, left_at = NULL
"""
# A lease that ran out is renewed all the same: what it protected may be gone, the process is not.
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
SELECT worker.host, worker.pid, count(*) AS jobs, count(*) FILTER (WHERE job.id = ANY(%(ended)s)) AS failed
FROM job JOIN round ON round.job = job.id AND round.claim = job.claim JOIN worker ON worker.id = round.worker
WHERE job.id = ANY(%(jobs)s)
GROUP BY worker.id ORDER BY worker.host, worker.pid
"""
_LEAVE = f"UPDATE worker SET left_at = {NOW}, lease_until = least(lease_until, {NOW}) WHERE id = %(id)s"

# Taking a pulse only saves work: whatever it guards is safe to do twice.
_PULSE = f"""
INSERT INTO pulse (name, holder, at) VALUES (%(name)s, %(holder)s, {NOW})
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, at = excluded.at
WHERE pulse.holder = excluded.holder OR pulse.at < {NOW} - make_interval(secs => %(term_s)s)
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
    """Make a worker known; only one that is may claim. ``threads`` is how many jobs it runs at once, ``code`` the
    version of the users' code that it has."""
    tx.write(_JOIN, id=id, host=host, pid=pid, queues=queues, threads=threads, code=code, lease_s=lease_s)


def know(tx: Tx, id: UUID, known: KnownDefinitions) -> None:
    """Record by which definitions the worker goes from now on, for comparison with others."""
    tx.write(
        _KNOW,
        id=id,
        catalogue=known.digest,
        definitions=msgspec.json.encode(known.apps).decode(),
        problem=known.problem,
    )


def beat(tx: Tx, id: UUID, claims: list[Claim], *, lease_s: float) -> set[Claim]:
    """Renew the lease, and learn which of the worker's claims still stand."""
    tx.write(_BEAT, id=id, lease_s=lease_s)
    return {Claim(*row) for row in tx.rows(_HELD, **arrays(claims, "jobs", "claims"))}


def strays(tx: Tx, id: UUID, known: list[Claim], *, grace_s: float) -> list[Claim]:
    """The worker's running claims that it knows nothing of, though they are older than this.

    They are left by a claim whose COMMIT went through and whose answer was lost: it was run again, and took
    other jobs. Their lease is the worker's and would protect them as long as that lives.
    """
    rows = tx.rows(_STRAYS, id=id, grace_s=grace_s, **arrays(known, "jobs", "claims"))
    return [Claim(*row) for row in rows]


class LostWorker(Struct, frozen=True):
    """A worker whose lease has ended, and how many jobs were taken from it. ``failed`` of them were lost too often."""

    host: str
    pid: int
    jobs: int
    failed: int


def lost(tx: Tx, requeued: list[int], ended: list[int]) -> list[LostWorker]:
    """Return the workers from which this transaction has taken these jobs."""
    jobs = requeued + ended
    return tx.structs(LostWorker, _LOST, jobs=jobs, ended=ended) if jobs else []


def leave(tx: Tx, id: UUID) -> None:
    """A worker that stops gives its lease up: whatever it still holds is the groomer's at once.
    Planning that it breaks off has not ended it."""
    plan_attempts.keep(tx, id, [])
    tx.write(_LEAVE, id=id)


def take_pulse(tx: Tx, name: str, holder: UUID, *, term_s: float) -> bool:
    """Whether this holder leads: it did already, or whoever did has not been heard of for a term."""
    return bool(tx.column(_PULSE, name=name, holder=holder, term_s=term_s))
