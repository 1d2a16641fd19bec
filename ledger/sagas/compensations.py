"""Compensation across apps: the input of its plan, and its effect on the compensated jobs.

The input of the plan is the effects of a failed saga across apps (``effects``). The ledger also stores which job undoes
which (``set_undone_jobs``). Preconditions of the plan: the submission has failed or was cancelled, so no job is begun
for it alone. No job that only this submission requested is under way (``first_unfinished``).

Failed sagas that share effects are undone together (``related_sagas``). Results that one saga derived from the other's
jobs are undone first.

When a compensation has succeeded, the job that it is for leaves ``succeeded`` (``undo``). This is part of the
compensation's judgement, in the same transaction. If the job has been run again since its compensation was planned, it
has another claim, and its success stands. Its children have used its result, so its cancellation is not propagated to
them. But a child that still waits for other parents does not start with the undone result. A child that may start, or
has started, continues; if run again, it needs the result to be made again.

Race of the plan: another submission requests an affected job at this moment. Its plan locks the jobs first, and so does
this module. Either that submission is active when this module reads which submissions rely on the jobs. Or it finds
jobs that are about to be undone. Its own jobs then wait no more than other jobs with an input that is run again later.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from sluice.jobs.model.compensation import EarlierCompensation, Effect
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import COMPENSATION, SAGA, SubmissionState
from sluice.jobs.states import LIVE, UNDO, By, State, sql_list
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import move
from sluice.ledger.job_graph import dependencies
from sluice.ledger.job_graph.dependencies import Propagated
from sluice.ledger.job_graph.shared_kwargs import KWARGS
from sluice.ledger.keyspaces import freshness, partitions

_LIVE = sql_list(*sorted(LIVE))

_FAILED = f"""
SELECT number FROM submission
WHERE id = %(id)s AND request ->> 'mode' = '{SAGA}'
  AND state IN ('{SubmissionState.FAILED}', '{SubmissionState.CANCELLED}')
"""
_FELLOWS = f"""
WITH RECURSIVE fellow (number) AS (
    SELECT %(number)s::bigint
    UNION
    SELECT saga.number FROM fellow
    JOIN submission_job own ON own.submission = fellow.number
    JOIN job ON job.id = own.job AND job.state = '{State.SUCCEEDED}' AND job.claim > 0
    JOIN submission_job other ON other.job = job.id JOIN submission saga ON saga.number = other.submission
    JOIN submission undo ON undo.id = saga.id || '{COMPENSATION}' AND undo.state = '{SubmissionState.RECEIVED}'
    WHERE saga.request ->> 'mode' = '{SAGA}'
      AND saga.state IN ('{SubmissionState.FAILED}', '{SubmissionState.CANCELLED}')
)
SELECT saga.id || '{COMPENSATION}', saga.number FROM fellow JOIN submission saga USING (number)
"""
_RELIED_ON = f"""
EXISTS (SELECT 1 FROM submission_job other JOIN submission ON submission.number = other.submission
        WHERE other.job = job.id
          AND submission.state IN ('{SubmissionState.ACTIVE}', '{SubmissionState.SUCCEEDED}'))
"""
# A job that was only pushed, and waits for parents that no submission requested, goes on when a submission does.
_UNDER_WAY = f"""
SELECT job.id, job.app, job.key, saga.id AS saga FROM submission_job JOIN job ON job.id = submission_job.job
JOIN submission saga ON saga.number = submission_job.submission
WHERE submission_job.submission = ANY(%(sagas)s) AND job.state IN ({_LIVE})
  AND NOT (submission_job.request_reason = {RequestReason.PUSHED:d} AND job.state = '{State.WAITING}'
      AND NOT job.unblocked)
  AND NOT {_RELIED_ON}
ORDER BY job.id LIMIT 1
"""
_HOLD = f"""
SELECT job.id FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = ANY(%(sagas)s) AND job.state = '{State.SUCCEEDED}' ORDER BY job.id FOR UPDATE OF job
"""
# A success from before the submission was planned is not an effect of it.
_EFFECTS = f"""
SELECT job.id, job.app, job.key, job.claim, {KWARGS} AS kwargs, array_agg(asked.number ORDER BY asked.number) AS sagas
FROM submission_job JOIN job ON job.id = submission_job.job
    JOIN submission asked ON asked.number = submission_job.submission
WHERE submission_job.submission = ANY(%(sagas)s) AND job.state = '{State.SUCCEEDED}' AND job.claim > 0
  AND job.changed_at >= asked.planned_at AND NOT {_RELIED_ON}
GROUP BY job.id ORDER BY job.id
"""
# Only if the child began after the parent had ended: needs of earlier runs belong to another life of the job.
_TIES = """
SELECT DISTINCT need.parent, need.child
FROM submission_job JOIN need ON need.child = submission_job.job
JOIN submission_job of_parent ON of_parent.submission = ANY(%(sagas)s) AND of_parent.job = need.parent
JOIN job parent ON parent.id = need.parent JOIN job child ON child.id = need.child
JOIN round ON round.job = child.id AND round.claim = child.claim
WHERE submission_job.submission = ANY(%(sagas)s) AND need.met AND round.running_at >= parent.changed_at
"""
# Children that ran for a saga that failed before. They are about to be undone, or could not be undone.
_BEHIND = f"""
SELECT DISTINCT parent.id, undo.app, undo.key
FROM job parent JOIN need ON need.parent = parent.id JOIN job child ON child.id = need.child
JOIN round ON round.job = child.id AND round.claim = child.claim
JOIN job undo ON undo.undoes = child.id AND undo.undoes_claim = child.claim
WHERE parent.id = ANY(%(effects)s) AND need.met AND round.running_at >= parent.changed_at
  AND child.state = '{State.SUCCEEDED}' AND undo.state <> '{State.SUCCEEDED}'
"""
_EARLIER = """
SELECT job.id, job.app, job.key, job.state, job.undoes_claim
FROM job JOIN unnest(%(app)s::text[], %(key)s::text[]) AS named (app, key) USING (app, key)
"""
_MARK = """
UPDATE job SET undoes = done.id, undoes_claim = done.claim, kwargs = done.kwargs
FROM unnest(%(undo)s::bigint[], %(done)s::bigint[]) AS given (undo, done) JOIN job done ON done.id = given.done
WHERE job.id = given.undo
"""


class UnfinishedJob(Struct, frozen=True):
    """Unfinished job that a ``saga`` requested."""

    id: int
    app: str
    key: str
    saga: str

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


def failed(tx: Tx, id: str) -> int | None:
    """Return the number of the saga. Return None if it is no saga, has not ended, or has succeeded."""
    return next(iter(tx.column(_FAILED, id=id)), None)


def related_sagas(tx: Tx, number: int) -> dict[str, int]:
    """Return the saga and all failed sagas that share effects with it.

    The result has their numbers, by the id of the submission that is yet to undo each.
    """
    return dict(tx.rows(_FELLOWS, number=number))


def first_unfinished(tx: Tx, sagas: Collection[int]) -> UnfinishedJob | None:
    """Return an unfinished job that no other submission relies on, or None."""
    return next(iter(tx.structs(UnfinishedJob, _UNDER_WAY, sagas=[*sagas])), None)


def effects(tx: Tx, sagas: Collection[int]) -> list[Effect]:
    """Lock and return the effects of these sagas on which no other submission relies."""
    tx.rows(_HOLD, sagas=[*sagas])
    return tx.structs(Effect, _EFFECTS, sagas=[*sagas])


def used_results(tx: Tx, sagas: Collection[int]) -> list[tuple[int, int]]:
    """Return (parent, child) pairs among all jobs of these sagas, where the child used the parent's result."""
    return [(parent, child) for parent, child in tx.rows(_TIES, sagas=[*sagas])]


def blocked_effects(tx: Tx, effects: Collection[int]) -> list[tuple[int, JobName]]:
    """Return the effects that have a child with a compensation that has not succeeded, each with its name."""
    return [(id, JobName(app, key)) for id, app, key in tx.rows(_BEHIND, effects=[*effects])]


def existing(tx: Tx, names: Collection[JobName]) -> dict[JobName, EarlierCompensation]:
    """Return the compensations that the ledger already has, by name."""
    if not names:
        return {}
    rows = tx.rows(_EARLIER, **arrays([*names], "app", "key"))
    return {
        JobName(app, key): EarlierCompensation(id, State(state), claim) for id, app, key, state, claim in rows
    }


def set_undone_jobs(tx: Tx, undoing: Mapping[int, JobName]) -> None:
    """Store on these jobs, which were just planned, which job each of them undoes; give them the kwargs of that job."""
    known = existing(tx, set(undoing.values()))
    pairs: Sequence[tuple[int, int]] = [(known[name].id, done) for done, name in undoing.items()]
    if pairs:
        tx.write(_MARK, **arrays(pairs, "undo", "done"))


_UNDO = move(
    UNDO,
    By.PLANNER,
    given="(SELECT undoes AS id, undoes_claim FROM job WHERE id = ANY(%(jobs)s) AND undoes IS NOT NULL) AS given",
    condition="job.claim = given.undoes_claim",
    note="(SELECT 'undone by ' || undo.app || '/' || undo.key FROM job undo"
    " WHERE undo.undoes = moved.id AND undo.id = ANY(%(jobs)s) LIMIT 1)",
)
_CHILDREN = "SELECT DISTINCT child FROM need WHERE parent = ANY(%(jobs)s) ORDER BY child"


def undo(tx: Tx, compensations: list[int]) -> Propagated:
    """Cancel the jobs that these compensations have undone. Return the consequences for their waiting children: those
    that can no longer start have ended, and their ends must be propagated."""
    undone = tx.column(_UNDO, jobs=compensations) if compensations else []
    if not undone:
        return Propagated([], [], {})
    freshness.withdraw(tx, undone)
    partitions.withdraw(tx, undone)
    waiting = dependencies.lock_waiting(tx, tx.column(_CHILDREN, jobs=undone))
    dependencies.recount(tx, waiting)
    return dependencies.after_recount(tx, waiting)
