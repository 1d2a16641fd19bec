"""Claims of jobs by workers. ``recording`` stores their outcomes.

Exactly one claim can hold a job. The claim's number grows with every claim and guards every write. So a worker that
comes back late is refused, and its result is dropped.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec import Struct, json, structs

from sluice.jobs.ref import Claim, JobName
from sluice.jobs.states import CLAIM, RELEASE, By
from sluice.jobs.submission import JSON
from sluice.ledger import shared_kwargs
from sluice.ledger.above import ABOVE
from sluice.ledger.app_pauses import IS_PAUSED
from sluice.ledger.choosing import choose, hold
from sluice.ledger.connection import Tx, arrays
from sluice.ledger.partitions import LEFT
from sluice.ledger.release import MAY_BEGIN, UNEXPIRED, Ready
from sluice.ledger.sql import NOW, Step, move

_TURNS = "unnest(%(jobs)s::bigint[], %(rounds)s::int[]) AS given (id, round)"
# A worker may not take new work after its lease has ended, because its jobs are about to be given to other workers.
_TO_BE_HAD = f"""
job.round = given.round AND {UNEXPIRED} AND NOT {IS_PAUSED} AND EXISTS (
    SELECT 1 FROM worker WHERE worker.id = %(worker)s AND worker.left_at IS NULL AND worker.lease_until > {NOW})
"""
# Numbers that were given out before the ledger was restored are not given out again (``restoring``).
_NEXT = f"greatest(job.claim, {ABOVE}) + 1"
_IS_OURS = f"""
claim = {_NEXT}, worker = %(worker)s, unbounded = %(unbounded)s, flying = job.flying OR %(saga)s,
took_off = CASE WHEN job.flying THEN job.took_off WHEN %(saga)s THEN {_NEXT} END,
deadline = CASE WHEN NOT (job.flying OR %(saga)s) THEN {NOW} + make_interval(secs => job.timeout_s) END
"""
_CLAIMED = f"""
id, app, key, round, claim, work_ids, overrides, timeout_s, handle, {LEFT} AS partitions, flight, flying,
CASE jsonb_typeof(kwargs) WHEN 'object' THEN kwargs END AS kwargs,
CASE jsonb_typeof(kwargs) WHEN 'string' THEN kwargs #>> '{{}}' END AS kwargs_digest
"""
_OPEN_ROUND = """
opened AS (INSERT INTO round (job, claim, round, worker, running_at, digest)
           SELECT id, claim, round, worker, changed_at, %(digest)s FROM moved)
"""
_CLAIM = move(
    CLAIM,
    By.EXECUTOR,
    given=_TURNS,
    condition=_TO_BE_HAD,
    sets=_IS_OURS,
    returning=_CLAIMED,
    also=_OPEN_ROUND,
)
# For jobs behind a dependency group (gate) that this transaction has opened.
_BEGIN = move(
    RELEASE,
    By.PLANNER,
    given=_TURNS,
    condition=f"{MAY_BEGIN} AND {_TO_BE_HAD}",
    sets=f"open = true, {_IS_OURS}",
    returning=_CLAIMED,
    then=Step(CLAIM, By.EXECUTOR),
    also=_OPEN_ROUND,
)
# Claimed jobs with children that wait for them to run. They are read in a statement after the claim's own: by then a
# plan that locked the parent first has written its need (see ``counts``).
_AWAITED = """
SELECT DISTINCT parent FROM need
WHERE parent = ANY(%(jobs)s) AND condition = 'running' AND settled IS NULL ORDER BY parent
"""


class Claimed(Struct, frozen=True):
    """Job that this worker may run, and the data to run it.

    ``handle`` was stored by an earlier claim (``handles``). ``work_ids`` are in parts (``jobs.work_ids``).
    ``partitions`` are the partitions that a step has yet to make. A job that is ``flying`` has a journal for this
    ``flight`` (``journal``), even if its app is no saga by now.
    """

    id: int
    app: str
    key: str
    round: int
    claim: int
    kwargs: Mapping[str, JSON] | None
    overrides: Mapping[str, JSON] | None
    timeout_s: float | None
    handle: JSON
    work_ids: list[JSON] | None = None
    partitions: list[int] | None = None
    flight: int = 0
    flying: bool = False
    kwargs_digest: str | None = None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def right(self) -> Claim:
        return Claim(self.id, self.claim)


class Taken(Struct, frozen=True):
    """Result of a claim.

    ``jobs`` belong to this worker. ``awaited`` are jobs with children that wait for them to run; the caller must notify
    these. ``passed_over`` are jobs that gave way to a job that must be alone; they need another notification.
    """

    jobs: list[Claimed]
    awaited: list[int]
    passed_over: list[Ready] = []


NOTHING_TAKEN = Taken([], [])


class Terms(Struct, frozen=True):
    """Terms by which a worker claims jobs of an app.

    ``digest`` is the digest of the definition by which the worker runs them. If their work is ``unbounded``, a child
    that waits for a job to run is notified once the work is started (``watching``). The claim of a ``saga`` opens a
    flight: it is completed or undone, and has no deadline.
    """

    worker: UUID
    digest: str = ""
    unbounded: bool = False
    saga: bool = False


def claim(tx: Tx, app: str, turns: list[tuple[int, int]], terms: Terms, *, at_once: int = 1) -> Taken:
    """Claim as many jobs of this app as there are (job, round) pairs: the most urgent jobs, usually the named jobs.

    If ``at_once`` is more, up to ``at_once`` jobs are claimed. A named job gives its place to another job if it is not
    available any more, or is less urgent (see ``choosing``). Fewer jobs are claimed if no more are ready, and none if
    the worker has no lease. They are returned in the order in which to run them.
    """
    named = hold(tx, turns)
    chosen = choose(tx, app, named, len(turns), at_once)
    taken = _taken(tx, chosen, _take(tx, _CLAIM, chosen, terms))
    if len(turns) > 1 and any(job.alone for job in chosen):
        return structs.replace(taken, passed_over=named)
    return taken


def begin(tx: Tx, app: str, opened: Sequence[Ready], terms: Terms, *, at_once: int = 1) -> Taken:
    """Claim jobs behind dependency groups (gates) that this transaction has opened, without a notification.

    More urgent ready jobs of the app may take their place (see ``choosing``). The claim releases the opened jobs that
    it takes; the caller must release the others.
    """
    chosen = choose(tx, app, opened, len(opened), at_once)
    own = {job.job for job in opened}
    begun = _take(tx, _BEGIN, [job for job in chosen if job.job in own], terms)
    others = _take(tx, _CLAIM, [job for job in chosen if job.job not in own], terms)
    return _taken(tx, chosen, begun + others)


def _take(tx: Tx, sql: str, chosen: list[Ready], terms: Terms) -> list[Claimed]:
    if not chosen:
        return []
    turns = [(job.job, job.round) for job in chosen]
    claimed = tx.structs(Claimed, sql, **arrays(turns, "jobs", "rounds"), **structs.asdict(terms))
    return _with_shared_kwargs(tx, claimed)


def _with_shared_kwargs(tx: Tx, claimed: list[Claimed]) -> list[Claimed]:
    """Return the jobs with the kwargs that they refer to; each job has a copy of its own."""
    texts = shared_kwargs.read(tx, {job.kwargs_digest for job in claimed if job.kwargs_digest})
    return [
        structs.replace(job, kwargs=json.decode(texts[job.kwargs_digest])) if job.kwargs_digest else job
        for job in claimed
    ]


def _taken(tx: Tx, chosen: list[Ready], claimed: list[Claimed]) -> Taken:
    if not claimed:
        return NOTHING_TAKEN
    order = {job.job: place for place, job in enumerate(chosen)}
    claimed.sort(key=lambda job: order[job.id])
    return Taken(claimed, tx.column(_AWAITED, jobs=[job.id for job in claimed]))
