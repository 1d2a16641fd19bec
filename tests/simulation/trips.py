"""Checks of sagas across apps: the undone jobs after a failure, their order, and the remaining effects."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.submission import COMPENSATION, SAGA, SubmissionState
from sluice.jobs.states import LIVE, State, sql_list
from sluice.ledger.database.connection import Tx

_OVER = sql_list(SubmissionState.FAILED, SubmissionState.CANCELLED)
_COUNTS = sql_list(SubmissionState.ACTIVE, SubmissionState.SUCCEEDED)

# Planned compensations, each with the saga that it undoes.
_PLANNED = f"""
SELECT undo.id, undo.number, saga.id, saga.number FROM submission undo
JOIN submission saga ON undo.id = saga.id || '{COMPENSATION}'
WHERE undo.request ? 'compensates' AND undo.planned_at IS NOT NULL
"""
# Jobs that a saga itself has run, that are still succeeded, and that no other active or succeeded submission requests.
_EFFECTS = f"""
SELECT job.id, job.app, job.key FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = %(saga)s AND job.state = '{State.SUCCEEDED}'
  AND (SELECT max(at) FROM transition WHERE transition.job = job.id AND target = '{State.SUCCEEDED}')
      >= (SELECT planned_at FROM submission WHERE number = %(saga)s)
  AND EXISTS (SELECT 1 FROM round WHERE round.job = job.id)
  AND NOT EXISTS (
      SELECT 1 FROM submission_job other JOIN submission ON submission.number = other.submission
      WHERE other.job = job.id AND other.submission <> %(saga)s AND submission.state IN ({_COUNTS}))
"""
_GOING_ON = f"""
SELECT job.app || '/' || job.key FROM submission_job JOIN job ON job.id = submission_job.job
WHERE submission_job.submission = %(saga)s
    AND job.state IN ({sql_list(*sorted(LIVE - {State.EXPECTED, State.WAITING}))})
  AND NOT EXISTS (
      SELECT 1 FROM submission_job other JOIN submission ON submission.number = other.submission
      WHERE other.job = job.id AND other.submission <> %(saga)s AND submission.state IN ({_COUNTS}))
"""
_UNDOING = """
SELECT job.undoes FROM submission_job JOIN job ON job.id = submission_job.job WHERE submission_job.submission = %(undo)s
"""
# Jobs that used an effect which is being undone, and that should have been undone before. A job used an effect if it
# began while the effect existed.
_BELOW = f"""
WITH RECURSIVE below (undo, saga, id, since) AS (
    SELECT undo.id, saga.number, undo.undoes, done.changed_at
    FROM job undo JOIN job done ON done.id = undo.undoes AND done.claim = undo.undoes_claim
    JOIN submission_job ON submission_job.job = undo.id JOIN submission ON submission.number = submission_job.submission
    JOIN submission saga ON submission.id = saga.id || '{COMPENSATION}'
    WHERE undo.state = '{State.RUNNING}' AND done.state = '{State.SUCCEEDED}'
      AND submission.state = '{SubmissionState.ACTIVE}'
    UNION
    SELECT below.undo, below.saga, child.id, child.changed_at
    FROM below JOIN need ON need.parent = below.id JOIN job child ON child.id = need.child
    JOIN submission_job ON submission_job.job = child.id AND submission_job.submission = below.saga
    JOIN round ON round.job = child.id AND round.claim = child.claim
    WHERE need.met AND round.running_at >= below.since
)
SELECT undo.app || '/' || undo.key, child.app || '/' || child.key FROM below
JOIN job undo ON undo.id = below.undo JOIN job child ON child.id = below.id JOIN job other ON other.undoes = child.id
JOIN submission_job ON submission_job.job = other.id JOIN submission ON submission.number = submission_job.submission
JOIN submission saga ON saga.number = below.saga AND submission.id = saga.id || '{COMPENSATION}'
WHERE child.id <> undo.undoes AND child.state = '{State.SUCCEEDED}' AND child.claim = other.undoes_claim
"""
# Planned sagas with a bad end that have no compensation, or a refused one without a reason.
_FORGOTTEN = f"""
SELECT saga.id FROM submission saga LEFT JOIN submission undo ON undo.id = saga.id || '{COMPENSATION}'
WHERE saga.request ->> 'mode' = '{SAGA}' AND saga.state IN ({_OVER}) AND saga.planned_at IS NOT NULL
  AND (undo.id IS NULL OR (undo.state = '{SubmissionState.REFUSED}' AND undo.reason IS NULL))
"""
# Effects that remain after their compensation succeeded. A job that ran again since then is excepted: another
# compensation undoes it, though by the same job.
_STILL_THERE = f"""
SELECT undo.id || ': ' || done.app || '/' || done.key FROM submission undo
JOIN submission_job ON submission_job.submission = undo.number JOIN job ON job.id = submission_job.job
JOIN job done ON done.id = job.undoes AND done.claim = job.undoes_claim
WHERE undo.request ? 'compensates' AND undo.state = '{SubmissionState.SUCCEEDED}'
  AND done.state = '{State.SUCCEEDED}' AND done.changed_at <= undo.ended_at
"""
# Jobs that succeeded after an undone saga was planned, and that no other submission ever requested. Some may have ended
# after the compensation. A saga that has succeeded since then, because it was retried, is not undone any more.
_CAME_LATER = f"""
SELECT undo.id, job.app, job.key FROM submission undo
JOIN submission saga ON undo.id = saga.id || '{COMPENSATION}'
JOIN submission_job ON submission_job.submission = saga.number JOIN job ON job.id = submission_job.job
WHERE undo.request ? 'compensates' AND undo.state = '{SubmissionState.SUCCEEDED}' AND saga.state IN ({_OVER})
  AND job.state = '{State.SUCCEEDED}' AND job.changed_at >= saga.planned_at
  AND (SELECT count(*) FROM submission_job own WHERE own.job = job.id) = 1
"""
_HAS_FAILED = sql_list(State.FAILED, State.FATAL, State.TIMED_OUT, State.CANCELLED)
# Failed compensations without a failed undo. The failed undo may belong to another compensation, if a job of this one
# waits for it. An operator may have run it again since the parking, so its state at that time counts, too.
_PARKED_BY_NOBODY = f"""
SELECT undo.id FROM submission undo
WHERE undo.request ? 'compensates' AND undo.state = '{SubmissionState.FAILED}' AND NOT EXISTS (
    WITH RECURSIVE own (job) AS (
        SELECT job FROM submission_job WHERE submission_job.submission = undo.number
            AND submission_job.request_reason = {RequestReason.ASKED:d}
        UNION SELECT need.parent FROM own JOIN need ON need.child = own.job
        JOIN job parent ON parent.id = need.parent AND parent.undoes IS NOT NULL
    )
    SELECT 1 FROM own JOIN job ON job.id = own.job WHERE job.state IN ({_HAS_FAILED}) OR (
        SELECT target FROM transition WHERE transition.job = job.id AND transition.at <= undo.ended_at
        ORDER BY transition.id DESC LIMIT 1) IN ({_HAS_FAILED}))
"""


class _Effect(Struct, frozen=True):
    id: int
    app: str
    key: str


class Trips:
    """Checks of compensations: of each plan when it is made, and of each undo while it runs."""

    def __init__(self, apps: Mapping[str, Any]) -> None:
        self._reversible = {
            name for name, app in apps.items() if app.get("compensate") not in {None, "irreversible"}
        }
        self._seen: set[int] = set()

    def look(self, tx: Tx) -> list[str]:
        """Return the violations."""
        if not self._reversible:
            return []
        planned = [row for row in tx.rows(_PLANNED) if row[1] not in self._seen]
        self._seen |= {undo for _, undo, *_ in planned}
        return [
            *(wrong for row in planned for wrong in self._look_at(tx, *row)),
            *(f"{undo} runs before {child} is undone" for undo, child in tx.rows(_BELOW)),
        ]

    def left(self, tx: Tx) -> list[str]:
        """Return the violations of a world at rest."""
        return [
            *(f"nobody undoes {saga}" for saga in tx.column(_FORGOTTEN)),
            *(f"undone, and still there: {each}" for each in tx.column(_STILL_THERE)),
            *(
                f"{undo} has left {app}/{key} as it is"
                for undo, app, key in tx.rows(_CAME_LATER)
                if app in self._reversible
            ),
            *(f"parked, and nothing has failed: {each}" for each in tx.column(_PARKED_BY_NOBODY)),
        ]

    def _look_at(self, tx: Tx, id_: str, undo: int, saga_id: str, saga: int) -> list[str]:
        """Check that a compensation undoes exactly the effects of its saga that no other submission relies on."""
        effects = tx.structs(_Effect, _EFFECTS, saga=saga)
        own = {each.id for each in effects if each.app in self._reversible}
        undoing = set(tx.column(_UNDOING, undo=undo))
        wrong = [f"{id_} is planned while {job} goes on" for job in tx.column(_GOING_ON, saga=saga)]
        if own != undoing:
            wrong.append(f"{id_} undoes {sorted(undoing)}, and of {saga_id} there is {sorted(own)}")
        return wrong
