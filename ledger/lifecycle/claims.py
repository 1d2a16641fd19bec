"""Claims of jobs by workers, and the selection of the jobs that a claim takes.

Exactly one claim can hold a job. The claim's number grows with every claim and guards every write. So a worker that
comes back late is refused, and its result is dropped. ``ledger.lifecycle.outcomes`` stores the outcomes of claims.

A notification names jobs, but the claim takes the same number of the most urgent ready jobs of that app. A worker that
knows that these jobs take next to no time may take more.

Why a notification names jobs and not only their number: jobs get their ids when they are planned, and a queue delivers
its messages in the order in which the jobs became ready. If a claim took the first jobs by id, the children of a large
earlier plan would always be taken before the jobs of a later submission. Claims by number are not faster either
(measured with 1, 2 and 4 workers, 1 and 10 jobs each: 0.6 to 1.2 times the jobs a second, and about 1.0 in most runs).

A queue delivers its messages in the order of sending. So a job that is more urgent than jobs announced earlier
*overtakes* them: the next notification for any job of its app takes it. Of two equally urgent jobs that both have a
start time, the job with the earlier start time overtakes too. The job that lost its place stays ready. The notification
of the job that overtook does not find that job any more, and takes the most urgent job of that moment.

A job that is ``alone`` is an exception. It never takes a place among several jobs. While it is ready, its own
notification takes no other job. If it is more urgent than all jobs that a notification for several would take, that
notification takes it alone. The named jobs are then announced again. So a job of a lost worker does not wait for a
whole backlog.

Invariants of the selection: a notification for n jobs takes at least n if that many are available. So the notifications
that were sent suffice for the ready jobs, in whatever order they arrive. A superfluous notification costs a look-up.

Race of two notifications for jobs of one app: each locks the jobs that it names, in id order, and waits for them. Only
then does it take other jobs, and it passes over locked jobs, because their holder is about to take them. So two
notifications never wait for each other in a circle, and none waits for a job that it does not name. If the holder of
the last available job does not take it after all, a notification was used up for nothing. The groomer repeats it like a
lost notification.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec import Raw, Struct, json, structs

from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.policy.priority import in_turn
from sluice.jobs.states import CLAIM, MAKE_READY, By, State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.history import VerbBy
from sluice.ledger.database.procedures import ColumnOf, ContinueIf, ProcedureStep, read
from sluice.ledger.database.transitions import IN_TURN, NOW, estimated_as_one, guard, move, move_twice
from sluice.ledger.job_graph import shared_kwargs
from sluice.ledger.job_graph.readiness import ALONE, MAY_BEGIN, READY_COLUMNS, UNEXPIRED, ReadyJob
from sluice.ledger.keyspaces.partitions import LEFT
from sluice.ledger.limits import rate_limits
from sluice.ledger.limits.app_pauses import IS_PAUSED

#: SQL for the number above which claims and tasks are numbered, so that a restored ledger gives out no number again
#: (``ledger.recovery.restoration``). Null if the ledger was never restored. ``greatest`` ignores a null.
ID_FLOOR = "(SELECT max(id_floor) FROM restoration)"
_TURNS = "unnest(%(jobs)s::bigint[], %(rounds)s::int[]) AS given (id, round)"
# A worker may not take new work after its lease has ended, because its jobs are about to be given to other workers.
_TO_BE_HAD = f"""
job.round = given.round AND {UNEXPIRED} AND NOT {IS_PAUSED} AND EXISTS (
    SELECT 1 FROM worker WHERE worker.id = %(worker)s::uuid AND worker.left_at IS NULL AND worker.lease_until > {NOW})
"""
# Removed jobs may be planned again (``ledger.retention.job_removal``).
_NEXT = f"greatest(job.claim, {ID_FLOOR}, (SELECT claim FROM claim_floor)) + 1"
_IS_OURS = f"""
claim = {_NEXT}, worker = %(worker)s::uuid, unbounded = %(unbounded)s::bool,
saga_open = job.saga_open OR %(saga)s::bool,
saga_first_claim = CASE WHEN job.saga_open THEN job.saga_first_claim WHEN %(saga)s::bool THEN {_NEXT} END,
attempt_timeout_at =
    CASE WHEN NOT (job.saga_open OR %(saga)s::bool) THEN {NOW} + make_interval(secs => job.timeout_s) END
"""
# A later claim of a flight is no start.
_BUCKET = "CASE WHEN NOT saga_open OR saga_first_claim = claim THEN rate_bucket END AS rate_bucket"
_CLAIMED = f"""
{_BUCKET}, id, app, key, round, claim, work_ids, overrides, timeout_s, handle, {LEFT} AS partitions, flight, saga_open,
CASE jsonb_typeof(kwargs) WHEN 'object' THEN kwargs END AS kwargs,
CASE jsonb_typeof(kwargs) WHEN 'string' THEN kwargs #>> '{{}}' END AS kwargs_digest
"""
_READ = (
    "app, key, worker, work_ids, overrides, timeout_s, handle, flight, saga_open, saga_first_claim, rate_bucket, "
    "output_table, kwargs"
)
_OPEN_ROUND = """
opened AS (INSERT INTO round (job, claim, round, worker, running_at, digest)
           SELECT id, claim, round, worker, changed_at, %(digest)s::text FROM moved)
"""
_CLAIM = move(
    CLAIM,
    By.EXECUTOR,
    given=_TURNS,
    condition=_TO_BE_HAD,
    sets=_IS_OURS,
    returning=_CLAIMED,
    columns=_READ,
    also=_OPEN_ROUND,
)
# For jobs behind a dependency group (gate) that this transaction has opened.
_BEGIN = move_twice(
    MAKE_READY,
    By.PLANNER,
    VerbBy(CLAIM, By.EXECUTOR),
    given=_TURNS,
    condition=f"{MAY_BEGIN} AND {_TO_BE_HAD}",
    sets=f"unblocked = true, {_IS_OURS}",
    returning=_CLAIMED,
    columns=_READ,
    also=_OPEN_ROUND,
)
# Claimed jobs with children that wait for them to run. They are read in a statement after the claim's own: by then a
# plan that locked the parent first has written its need (``ledger.job_graph.dependencies``).
_AWAITED = """
SELECT DISTINCT parent AS id FROM need
WHERE parent = ANY(%(jobs)s::bigint[]) AND condition = 'running' AND met IS NULL ORDER BY parent
"""


class ClaimedJob(Struct, frozen=True):
    """Job that this worker may run, and the data to run it.

    ``handle`` was stored by an earlier claim (``ledger.external_work``). ``work_ids`` are in parts
    (``jobs.keys.work_ids``). ``partitions`` are the partitions that a step has yet to make. A job that is ``saga_open``
    has a journal for this ``flight`` (``ledger.sagas.journals``), even if its app is no saga by now. The claim took a
    token from its ``rate_bucket``.
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
    saga_open: bool = False
    kwargs_digest: str | None = None
    rate_bucket: str | None = None

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)

    @property
    def right(self) -> Claim:
        return Claim(self.id, self.claim)


class ClaimResult(Struct, frozen=True):
    """Result of a claim.

    ``jobs`` belong to this worker. ``awaited`` are jobs with children that wait for them to run; the caller must notify
    these. ``passed_over`` are jobs that gave way to a job that must be alone; they need another notification.
    """

    jobs: list[ClaimedJob]
    awaited: list[int]
    passed_over: list[ReadyJob] = []


NOTHING_TAKEN = ClaimResult([], [])


class ClaimTerms(Struct, frozen=True):
    """Terms by which a worker claims jobs of an app.

    ``digest`` is the digest of the definition by which the worker runs them. If their work is ``unbounded``, a child
    that waits for a job to run is notified once the work is started (``ledger.external_work``). The claim of a ``saga``
    opens a flight: it is completed or undone, and has no deadline.
    """

    worker: UUID
    digest: str = ""
    unbounded: bool = False
    saga: bool = False


def claim(
    tx: Tx, app: str, turns: list[tuple[int, int]], terms: ClaimTerms, *, at_once: int = 1
) -> ClaimResult:
    """Claim as many jobs of this app as there are (job, round) pairs: the most urgent jobs, usually the named jobs.

    If ``at_once`` is more, up to ``at_once`` jobs are claimed. A named job gives its place to another job if it is not
    available any more, or if the other job overtakes it. Fewer jobs are claimed if no more are ready, and none if the
    worker has no lease. They are returned in the order in which to run them.
    """
    named = lock_named(tx, turns)
    chosen = lock_most_urgent(tx, app, named, len(turns), at_once)
    taken = _taken(tx, chosen, _take(tx, _CLAIM, chosen, terms))
    if len(turns) > 1 and any(job.alone for job in chosen):
        return structs.replace(taken, passed_over=named)
    return taken


def claim_opened(
    tx: Tx, app: str, opened: Sequence[ReadyJob], terms: ClaimTerms, *, at_once: int = 1
) -> ClaimResult:
    """Claim jobs behind dependency groups (gates) that this transaction has opened, without a notification.

    Ready jobs of the app that overtake them may take their place. The claim releases the opened jobs that it takes; the
    caller must release the others.
    """
    chosen = lock_most_urgent(tx, app, opened, len(opened), at_once)
    own = {job.job for job in opened}
    begun = _take(tx, _BEGIN, [job for job in chosen if job.job in own], terms)
    others = _take(tx, _CLAIM, [job for job in chosen if job.job not in own], terms)
    return _taken(tx, chosen, begun + others)


def claimed_when_opened(tx: Tx, begun: Sequence[Raw], awaited: Sequence[Raw]) -> ClaimResult | None:
    """Return the result of ``begin_opened`` from the rows of its last two steps; None if nothing was claimed."""
    if not begun:
        return None
    return ClaimResult(_completed(tx, read(begun, ClaimedJob)), [json.decode(line)["id"] for line in awaited])


def _take(tx: Tx, sql: str, chosen: list[ReadyJob], terms: ClaimTerms) -> list[ClaimedJob]:
    if not chosen:
        return []
    turns = [(job.job, job.round) for job in chosen]
    claimed = tx.structs(ClaimedJob, sql, **arrays(turns, "jobs", "rounds"), **structs.asdict(terms))
    return _completed(tx, claimed)


def _completed(tx: Tx, claimed: list[ClaimedJob]) -> list[ClaimedJob]:
    """Take the tokens of these jobs. Return the jobs with the kwargs that they refer to; each has a copy of its own."""
    rate_limits.take(tx, [job.rate_bucket for job in claimed if job.rate_bucket])
    texts = shared_kwargs.read(tx, {job.kwargs_digest for job in claimed if job.kwargs_digest})
    return [
        structs.replace(job, kwargs=json.decode(texts[job.kwargs_digest])) if job.kwargs_digest else job
        for job in claimed
    ]


def _taken(tx: Tx, chosen: list[ReadyJob], claimed: list[ClaimedJob]) -> ClaimResult:
    if not claimed:
        return NOTHING_TAKEN
    order = {job.job: place for place, job in enumerate(chosen)}
    claimed.sort(key=lambda job: order[job.id])
    return ClaimResult(claimed, tx.column(_AWAITED, jobs=[job.id for job in claimed]))


# The trial of a breaker: no other job may take its place.
_IS_TRIAL = "EXISTS (SELECT 1 FROM app_pause WHERE app_pause.app = job.app AND app_pause.trial = job.id)"
_COLUMNS_OF_NAMED = READY_COLUMNS.replace(ALONE, f"({ALONE} OR {_IS_TRIAL})")
_HOLD = f"""
SELECT {_COLUMNS_OF_NAMED} FROM job
JOIN {estimated_as_one("unnest(%(jobs)s::bigint[], %(rounds)s::int[]) AS given (id, turn)")} USING (id)
WHERE {guard(CLAIM)} AND job.round = given.turn AND {UNEXPIRED}
ORDER BY job.id FOR UPDATE OF job
"""
# A scan along the index job_urgency. Only that index has this collation, so that Postgres can use no other. The index
# gives the reason.
_READY = f"""
SELECT {READY_COLUMNS} FROM job
WHERE job.app COLLATE "C" = %(app)s::text AND job.state COLLATE "C" = '{State.READY}'
  AND {UNEXPIRED} AND (%(alone)s::bool OR NOT {ALONE}) AND job.id <> ALL(%(held)s::bigint[])
"""
_FIRST = f"ORDER BY {IN_TURN} LIMIT %(most)s::int"
_ANY = f"{_READY} {_FIRST}"
# Two ranges of that index, and one range of the index job_start; they are mostly empty. If they were written as one
# comparison of rows, Postgres before 18 would read all equal entries to the end.
_MORE_URGENT = f"""
({_READY} AND -job.priority < %(rank)s::int {_FIRST})
UNION ALL
({_READY} AND -job.priority = %(rank)s::int
    AND coalesce(job.effective_deadline, 'infinity') < coalesce(%(by)s::timestamptz, 'infinity') {_FIRST})
UNION ALL
({_READY} AND -job.priority = %(rank)s::int
    AND coalesce(job.effective_deadline, 'infinity') = coalesce(%(by)s::timestamptz, 'infinity')
    AND job.not_before < %(start)s::timestamptz
    ORDER BY -job.priority, coalesce(job.effective_deadline, 'infinity'), job.not_before, job.id LIMIT %(most)s)
"""
_TAKE = f"{_ANY} FOR UPDATE SKIP LOCKED"


def begin_opened(gate: int) -> tuple[ProcedureStep, ...]:
    """Return the steps that claim the job of a gate that has just opened, if its ``app`` has no ready job that could
    overtake it. ``gate`` is the step with the row of that gate; the first of these steps has the number after it."""
    return (
        ProcedureStep(
            _ANY, {"held": ColumnOf(gate)}, then=ContinueIf.NO_ROWS, leaves_nothing=ContinueIf.NO_ROWS
        ),
        ProcedureStep(
            _BEGIN,
            {"jobs": ColumnOf(gate), "rounds": ColumnOf(gate, "round")},
            then=ContinueIf.SOME_ROWS,
            leaves_nothing="found.id > 0 AND found.rate_bucket IS NULL AND found.kwargs_digest IS NULL",
        ),
        ProcedureStep(_AWAITED, {"jobs": ColumnOf(gate + 2)}, leaves_nothing=ContinueIf.NO_ROWS),
    )


def lock_named(tx: Tx, turns: Sequence[tuple[int, int]]) -> list[ReadyJob]:
    """Lock and return the jobs that can be claimed among these (job, round) pairs."""
    return [ReadyJob(*row) for row in tx.rows(_HOLD, **arrays(turns, "jobs", "rounds"))]


def lock_most_urgent(
    tx: Tx, app: str, named: Sequence[ReadyJob], places: int, at_once: int
) -> list[ReadyJob]:
    """Lock and return the jobs to take for a notification that names ``places`` jobs, the most urgent first.

    ``named`` are the named jobs that are available. This transaction holds them, or has just opened their dependency
    groups (gates). The number of jobs is at most ``places``, or ``at_once`` if that is more. If a job that must be
    alone is more urgent than all of several, it is taken in their place.
    """
    if places == 1 and any(job.alone for job in named):
        return [*named]
    most = max(places, at_once)
    if most > 1 and (alone := _alone_in_front(tx, app, named)):
        return alone
    among = {"app": app, "held": [job.job for job in named], "alone": most == 1}
    vacant = _open_places(named, _look(tx, named, most, among), most) if named else most
    taken = [ReadyJob(*row) for row in tx.rows(_TAKE, **among, most=vacant)] if vacant else []
    return sorted([*named, *taken], key=in_turn)[:most]


def _alone_in_front(tx: Tx, app: str, named: Sequence[ReadyJob]) -> list[ReadyJob]:
    """Lock and return the app's most urgent ready job, if it must be alone and is more urgent than the named jobs."""
    among = {"app": app, "held": [job.job for job in named], "alone": True, "most": 1}
    first = [ReadyJob(*row) for row in tx.rows(_ANY, **among)]
    if not any(job.alone and _goes_before_all(job, named) for job in first):
        return []
    taken = [ReadyJob(*row) for row in tx.rows(_TAKE, **among)]
    return [job for job in taken if job.alone and _goes_before_all(job, named)]


def _goes_before_all(job: ReadyJob, named: Sequence[ReadyJob]) -> bool:
    return all(job.urgency < other.urgency for other in named)


def _look(tx: Tx, named: Sequence[ReadyJob], most: int, among: Mapping[str, object]) -> list[ReadyJob]:
    """Return other ready jobs without locks, the most urgent first; if no place is vacant, only more urgent jobs."""
    if len(named) < most:
        return [ReadyJob(*row) for row in tx.rows(_ANY, **among, most=most)]
    least = max(named, key=in_turn)
    rows = tx.rows(
        _MORE_URGENT,
        **among,
        rank=-least.priority,
        by=least.effective_deadline,
        start=least.not_before,
        most=most,
    )
    return sorted((ReadyJob(*row) for row in rows), key=in_turn)[:most]


def _open_places(named: Sequence[ReadyJob], others: list[ReadyJob], places: int) -> int:
    """Return how many of the others to take. If more were locked, other notifications would needlessly pass over them.

    Vacant places are filled first. Then the most urgent of the others are compared with the least urgent named jobs,
    pair by pair.
    """
    vacant = min(places - len(named), len(others))
    giving_way = sorted(named, key=in_turn, reverse=True)
    overtaking = zip(others[vacant:], giving_way, strict=False)
    return vacant + sum(_overtakes(other, own) for other, own in overtaking)


def _overtakes(other: ReadyJob, own: ReadyJob) -> bool:
    if other.urgency != own.urgency or other.not_before is None or own.not_before is None:
        return other.urgency < own.urgency
    return other.not_before < own.not_before
