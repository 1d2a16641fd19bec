"""Bisection of failed chunks: two halves replace a chunk with `on_failure: bisect` that has failed for good.

Invariants after the commit: the whole is ``split``, and two jobs have half of its work IDs each. They take over its
terms, its needs, its place in its children's needs, and all submissions that request it. No job waits for the whole any
more. Between the end of a run and the split, the end decides nothing: to its children such a parent is still open (see
``ledger.job_graph.dependencies.VERDICT``). So failing chunks are split until single IDs fail, and only these make
children ``upstream_failed``.

If a parent or child is itself a chunk, it is related only to the half that has an ID in common with it. So children of
the good IDs do not fail because of the bad ones.

Races:

- Two transactions that split the same job: the second finds it split.
- A plan that names the whole holds its row FOR SHARE. Either it has written all its requests and needs before this
  transaction moves them. Or it finds the whole split and moves them itself (``replace_split``).
- A cancellation: this transaction locks the submissions that request the whole before the whole, and then checks
  whether they still do. Either it sees them cancelled, or the cancellation sees the halves.
- A plan that makes a child more urgent: this transaction locks the children before they lend to the halves.

Lock order: submissions, wholes, needs, gates, children.

A crash before the commit leaves a failed job in the propagation outbox. The groomer has that
end propagated again, and the job is split first.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from sluice.jobs.keys.work_ids import WorkId, ids_of, parts_of, short_text_of
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import JSON, SubmissionState
from sluice.jobs.states import REQUEST, SPLIT, By, State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.history import VerbBy, number
from sluice.ledger.database.transitions import NOW, move
from sluice.ledger.job_graph import priorities
from sluice.ledger.job_graph.insertion import TERMS
from sluice.ledger.job_graph.readiness import ReadyJob, make_ready
from sluice.ledger.job_graph.work_ids import is_divisible, overlaps
from sluice.ledger.lifecycle.submissions import cancel_unwanted
from sluice.ledger.limits import pauses

# A chunk that is executed may be about to fail.
_ABOUT_TO_BE_SPLIT = f"""
SELECT job.id FROM job LEFT JOIN round ON round.job = job.id AND round.claim = job.claim
WHERE job.id = ANY(%(jobs)s) AND {is_divisible("job")}
  AND ({SPLIT.guard} OR job.state = '{State.EXECUTED}' AND round.ending IS DISTINCT FROM '{Ending.DONE}')
"""
_SPLIT = move(SPLIT, By.PLANNER, condition=is_divisible("job"), returning="id, key, work_ids")
_HOLD_SUBMISSIONS = f"""
SELECT number FROM submission
WHERE state = '{SubmissionState.ACTIVE}' AND number IN (SELECT submission FROM submission_job
    WHERE job = ANY(%(wholes)s))
ORDER BY number FOR SHARE
"""

# A half begins at once, and is no partition job.
_NOT_COPIED = {"unblocked", "not_before", "output_table"}
_ALSO_COPIED = ("effective_deadline", "notify", "notify_on", "late_at", "late", "due_within_s")
_TERMS = ", ".join([*_ALSO_COPIED, *(term.column for term in TERMS if term.column not in _NOT_COPIED)])
# Halves are open, because the whole was allowed to run. ``make_ready`` decides whether they may run now.
_INSERT = f"""
WITH made AS (
    INSERT INTO job (bisected_from, key, work_ids, state, unblocked, created_at, changed_at, {_TERMS})
    SELECT whole.id, half.key, half.work_ids::jsonb, '{REQUEST.target}', true, {NOW}, {NOW},
           {", ".join(f"whole.{term}" for term in _TERMS.split(", "))}
    FROM unnest(%(wholes)s::bigint[], %(keys)s::text[], %(work_ids)s::text[])
         WITH ORDINALITY AS half (whole, key, work_ids, place) JOIN job whole ON whole.id = half.whole
    ORDER BY half.place
    RETURNING id, app, bisected_from, changed_at
), logged AS (
    INSERT INTO history (job, at, kind, round, claim, note)
    SELECT made.id, made.changed_at, {number(None, VerbBy(REQUEST, By.PLANNER))}, 0, 0, 'half of ' || whole.key
    FROM made JOIN job whole ON whole.id = made.bisected_from ORDER BY made.id
)
SELECT id, app FROM made ORDER BY id
"""

# SQL that is true if the other job is related to the half. A job that is related to the whole for another reason than a
# common ID is related to both halves.
_CONCERNS = (
    f"(other.work_ids IS NULL OR {overlaps('half.work_ids', 'other.work_ids')}"
    f" OR NOT {overlaps('whole.work_ids', 'other.work_ids')})"
)
# Needs are copied as they are: an open need cannot belong to the gate that let the whole run.
_COPY_NEEDS = f"""
WITH copied AS (
    INSERT INTO need (child, gate, parent, condition, met, stale_claim)
    SELECT half.id, need.gate, need.parent, need.condition, need.met, need.stale_claim
    FROM need JOIN job whole ON whole.id = need.child JOIN job half ON half.bisected_from = whole.id
    JOIN job other ON other.id = need.parent
    WHERE need.child = ANY(%(wholes)s) AND {_CONCERNS}
    RETURNING child, gate, parent, met
)
INSERT INTO gate (child, gate, name, unmet, impossible)
SELECT half.id, gate.gate, gate.name, count(copied.parent) FILTER (WHERE copied.met IS NOT TRUE),
       count(copied.parent) FILTER (WHERE copied.met IS FALSE)
FROM gate JOIN job half ON half.bisected_from = gate.child
LEFT JOIN copied ON copied.child = half.id AND copied.gate = gate.gate
WHERE gate.child = ANY(%(wholes)s) GROUP BY half.id, gate.gate, gate.name
"""

_COPY_WANTS = """
INSERT INTO submission_job (submission, job, request_reason)
SELECT submission_job.submission, half.id, submission_job.request_reason FROM submission_job
    JOIN job half ON half.bisected_from = submission_job.job
WHERE submission_job.job = ANY(%(wholes)s) ORDER BY submission_job.submission, half.id
ON CONFLICT (submission, job) DO UPDATE SET request_reason = least(submission_job.request_reason,
    excluded.request_reason)
"""
_HOLD_NEEDS = """
SELECT child, gate FROM need WHERE parent = ANY(%(wholes)s) ORDER BY child, gate, parent FOR UPDATE
"""
_HOLD_GATES = """
SELECT gate.child FROM gate JOIN unnest(%(child)s::bigint[], %(gate)s::int[]) AS touched (child, gate)
USING (child, gate) ORDER BY gate.child, gate.gate FOR UPDATE OF gate
"""
# The gates are adjusted and not recounted, because a recount would also settle the ends of other parents.
_HAND_OVER = f"""
WITH gone AS (
    DELETE FROM need WHERE parent = ANY(%(wholes)s) RETURNING child, gate, parent, condition, added, met
), come AS (
    INSERT INTO need (child, gate, parent, condition, added, met)
    SELECT gone.child, gone.gate, half.id, gone.condition, gone.added, gone.met
    FROM gone JOIN job whole ON whole.id = gone.parent JOIN job half ON half.bisected_from = whole.id
    JOIN job other ON other.id = gone.child
    WHERE {_CONCERNS}
    RETURNING child, gate, met
), changed AS (
    SELECT child, gate, coalesce(sum(more) FILTER (WHERE met IS NOT TRUE), 0) AS unmet,
           coalesce(sum(more) FILTER (WHERE met IS FALSE), 0) AS impossible
    FROM (SELECT child, gate, met, 1 AS more FROM come
          UNION ALL SELECT child, gate, met, -1 FROM gone) each
    GROUP BY child, gate
)
UPDATE gate SET unmet = gate.unmet + changed.unmet, impossible = gate.impossible + changed.impossible
FROM changed WHERE gate.child = changed.child AND gate.gate = changed.gate
"""
_HOLD_CHILDREN = "SELECT id FROM job WHERE id = ANY(%(children)s) ORDER BY id FOR UPDATE"
_HOLD_HALVES = "SELECT id, state FROM job WHERE bisected_from = ANY(%(wholes)s) ORDER BY id FOR SHARE"


class SplitResult(NamedTuple):
    """Result of splitting jobs.

    ``ready`` are halves that may run now. ``cancelled`` are halves that are no longer requested, each with its app.
    They have ended, and their ends must be propagated to their children.
    """

    ready: list[ReadyJob]
    cancelled: Mapping[int, str]


def lock_requesters(tx: Tx, jobs: list[int]) -> None:
    """Lock the submissions that request the jobs among these that may have to be split. Call it before the jobs are
    locked, because a cancellation locks its submission before its jobs."""
    wholes = tx.column(_ABOUT_TO_BE_SPLIT, jobs=jobs)
    if wholes:
        _lock_requesters(tx, wholes)


def split(tx: Tx, ended: list[int]) -> SplitResult:
    """Split the ended jobs that have failed for good and have `on_failure: bisect`. Call it before
    ``ledger.job_graph.dependencies.propagate``."""
    wholes = tx.rows(_SPLIT, jobs=ended) if ended else []
    if not wholes:
        return SplitResult([], {})
    ids = [id for id, _, _ in wholes]
    _lock_requesters(tx, ids)
    rows = [half for id, key, parts in wholes for half in _halves(id, key, parts)]
    halves: dict[int, str] = dict(tx.rows(_INSERT, **arrays(rows, "wholes", "keys", "work_ids")))
    tx.write(_COPY_NEEDS, wholes=ids)
    children = _take_place(tx, ids)
    tx.rows(_HOLD_CHILDREN, children=children)
    priorities.lend(tx, children)
    cancelled = cancel_unwanted(tx, list(halves))
    pauses.apply(tx, list(halves))
    return SplitResult(make_ready(tx, By.PLANNER, list(halves)), {half: halves[half] for half in cancelled})


def _lock_requesters(tx: Tx, wholes: list[int]) -> None:
    pauses.lock_pauses_of_requesters(tx, wholes)
    tx.rows(_HOLD_SUBMISSIONS, wholes=wholes)


def replace_split(tx: Tx, wholes: list[int]) -> list[int]:
    """Move the needs and requests of a plan from jobs that have been split to their halves. Return all of the halves.

    Each pass of the loop halves the work IDs, so the number of passes is bounded.
    """
    stood_in: list[int] = []
    while wholes:
        halves = tx.rows(_HOLD_HALVES, wholes=wholes)
        _take_place(tx, wholes)
        stood_in += [id for id, _ in halves]
        wholes = [id for id, state in halves if state == State.SPLIT]
    return stood_in


def _take_place(tx: Tx, wholes: list[int]) -> list[int]:
    """Move the requests and the children's needs from these jobs to their halves. Return the children."""
    tx.write(_COPY_WANTS, wholes=wholes)
    needs = tx.rows(_HOLD_NEEDS, wholes=wholes)
    if not needs:
        return []
    tx.rows(_HOLD_GATES, **arrays(needs, "child", "gate"))
    tx.write(_HAND_OVER, wholes=wholes)
    return sorted({child for child, _ in needs})


def _halves(whole: int, key: str, parts: JSON) -> list[tuple[int, str, str]]:
    """Return the first and the second half of the sorted IDs, each with its whole, its key and its parts."""
    ids = tuple(ids_of(parts))
    middle = (len(ids) + 1) // 2
    return [(whole, _key(key, half), _json(half)) for half in (ids[:middle], ids[middle:])]


def _key(of: str, ids: Sequence[WorkId]) -> str:
    """Return the key of a half. The suffix after `@`, which has the number of the submission, is that of the whole."""
    _, at, whose = of.rpartition("@")
    return f"{short_text_of(ids)}{at}{whose if at else ''}"


def _json(ids: Sequence[WorkId]) -> str:
    return msgspec.json.encode(parts_of(ids)).decode()
