"""Consistency check of the ledger: rules that a constraint on one row cannot express."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.schedules.schedule import FiringOutcome
from sluice.jobs.states import LIVE, REQUEST, RERUN, SAGA_OPEN, SPLIT, STOPPABLE, State, sql_list
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph.demand import STILL_WANTS
from sluice.ledger.job_graph.dependencies import VERDICT
from sluice.ledger.job_graph.shared_kwargs import DIGEST, IS_SHARED
from sluice.ledger.job_graph.work_ids import is_divisible, is_union
from sluice.ledger.stats.state_counts import SIDES

_LIVE = sql_list(*sorted(LIVE))
_STOPPABLE = sql_list(*sorted(STOPPABLE))

#: Apps and states in which the stored number of jobs is wrong.
MISCOUNTED = f"""
(SELECT app, state, count(*) AS jobs FROM job GROUP BY app, state) there
FULL JOIN (SELECT app, state, sum(jobs) AS jobs FROM ({SIDES}) side GROUP BY app, state) counted USING (app, state)
WHERE coalesce(there.jobs, 0) <> coalesce(counted.jobs, 0)
"""

# Rules that a repair can restore (``ledger.recovery.repairs``).
GATES_COUNT = "dependency groups count their dependencies correctly"
TOLD = "a job that waits for ended parents is up to date, or its update is in the propagation outbox"
OPEN = "a waiting job is unblocked if and only if a dependency group of it is met"
URGENT = "no job is more urgent than the parents that it waits for, or less urgent than its own end_before"
PAUSED = "a job that has not ended is paused if and only if all submissions that request it are"
SPLIT_OWED = "a job that must be split is in the propagation outbox"
COUNTED = "the state counts match the number of jobs in each state"
ARCHIVED = "an archived job has not changed since"
COLLECTED = "a job with the option archive is collected or not as the option requires"
WATCHED = "external work that no worker holds has a time for its next poll, and nothing else has"
ROUNDS_END = "a round that has not ended belongs to a running job, under its current claim"
BREAKER_PAUSES = "only an app that has a breaker is paused by one"
NAMED = "dependencies and requests name jobs that exist"
KWARGS_EXIST = "kwargs that a job refers to exist"
# Rules about other things than jobs.
BELONGS = "a partition belongs to a job that exists, and that makes partitions of its table"
FIRED = "a due time that was fired has its submission"
SCHEDULED = "a submission of a schedule belongs to a recorded firing"
TRIED = "the trial job of a breaker is a job of its app"

#: Kind of the rows that break these rules, which return names. The other rules return ids of jobs.
_OTHER_THINGS = {
    BELONGS: "partitions",
    FIRED: "due times",
    SCHEDULED: "submissions",
    COUNTED: "counts",
    TRIED: "apps",
    BREAKER_PAUSES: "apps",
}
_JOBS = "jobs"

_RULES = {
    "the history of a job leads to its state": """
        SELECT job.id FROM job WHERE state <> (
            SELECT target FROM transition WHERE transition.job = job.id ORDER BY transition.id DESC LIMIT 1)
    """,
    "each step of a history begins where the previous step ended, or after removed steps": """
        SELECT job FROM (
            SELECT job, source, lag(target) OVER (PARTITION BY job ORDER BY id) AS before FROM transition
        ) step WHERE source <> coalesce(before, (
            SELECT CASE WHEN pruned_at IS NULL THEN '-' ELSE step.source END FROM job WHERE job.id = step.job), '-')
    """,
    "a claim has at most one outcome": f"""
        SELECT job FROM transition WHERE source = '{State.RUNNING}' GROUP BY job, claim HAVING count(*) > 1
    """,
    ROUNDS_END: f"""
        SELECT job FROM round WHERE ending IS NULL AND NOT EXISTS (
            SELECT 1 FROM job WHERE job.id = round.job AND job.claim = round.claim AND job.state = '{State.RUNNING}')
    """,
    "claims of a job do not overlap": """
        SELECT job FROM (
            SELECT job, running_at, max(coalesce(executed_at, running_at)) OVER (
                PARTITION BY job ORDER BY claim ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM round) run WHERE running_at < before
    """,
    "a job that ran had every dependency of a dependency group met": f"""
        SELECT job.id FROM job WHERE job.state IN ('{State.READY}', '{State.RUNNING}', '{State.EXECUTED}')
          AND NOT job.saga_open AND EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id)
          AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id AND NOT EXISTS (
              SELECT 1 FROM need WHERE need.child = gate.child AND need.gate = gate.gate
                AND need.met IS NOT TRUE))
    """,
    GATES_COUNT: """
        SELECT gate.child FROM gate LEFT JOIN need USING (child, gate)
        GROUP BY gate.child, gate.gate, gate.unmet, gate.impossible
        HAVING gate.unmet <> count(need.parent) FILTER (WHERE need.met IS NOT TRUE)
            OR gate.impossible <> count(need.parent) FILTER (WHERE need.met IS FALSE)
    """,
    TOLD: f"""
        SELECT need.child FROM need JOIN job parent ON parent.id = need.parent JOIN job child ON child.id = need.child
        WHERE child.state = '{State.WAITING}' AND NOT child.unblocked AND need.met IS DISTINCT FROM {VERDICT}
          AND NOT (need.condition = 'running' AND need.met IS TRUE)
          AND NOT EXISTS (SELECT 1 FROM propagation_outbox WHERE propagation_outbox.job = parent.id)
    """,
    OPEN: f"""
        SELECT id FROM job WHERE state = '{State.WAITING}' AND NOT saga_open AND unblocked <> (
            NOT EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id)
            OR EXISTS (SELECT 1 FROM gate WHERE gate.child = job.id AND gate.unmet = 0))
    """,
    URGENT: f"""
        SELECT need.child FROM need JOIN job parent ON parent.id = need.parent JOIN job child ON child.id = need.child
        WHERE need.met IS NULL AND child.state = '{State.WAITING}' AND NOT child.unblocked
          AND parent.state IN ({_LIVE}) AND (child.priority > parent.priority
              OR child.effective_deadline < coalesce(parent.effective_deadline, 'infinity'))
        UNION ALL SELECT id FROM job
        WHERE state IN ({_STOPPABLE}) AND end_before < coalesce(effective_deadline, 'infinity')
    """,
    "a job that can be stopped is requested by a submission that is not cancelled": f"""
        SELECT job.id FROM job WHERE job.state IN ({_STOPPABLE}) AND NOT job.saga_open
          AND EXISTS (SELECT 1 FROM submission_job WHERE submission_job.job = job.id)
          AND NOT EXISTS (
              SELECT 1 FROM submission_job JOIN submission ON submission.number = submission_job.submission
              WHERE submission_job.job = job.id AND submission.state <> '{SubmissionState.CANCELLED}')
    """,
    # LIMIT, so that each submission is found by its number. A join would read all of them for each job, with statistics
    # from before they arrived.
    PAUSED: f"""
        SELECT job.id FROM job WHERE job.state IN ({_LIVE}) AND job.paused <> coalesce((
            SELECT bool_and(submission.paused_at IS NOT NULL)
            FROM submission_job CROSS JOIN LATERAL (
                SELECT * FROM submission WHERE number = submission_job.submission LIMIT 1) AS submission
            WHERE submission_job.job = job.id AND {STILL_WANTS}), false)
    """,
    "a job that waits for a slot of its pool waits for nothing else": f"""
        SELECT id FROM job WHERE waiting_for_slot
            AND (state <> '{State.WAITING}' OR NOT unblocked OR paused OR pool IS NULL)
    """,
    "the jobs that a success adds are planned, or will be": f"""
        SELECT job.id FROM job WHERE job.state = '{State.SUCCEEDED}' AND job.expansion = 'open'
          AND NOT EXISTS (SELECT 1 FROM propagation_outbox WHERE propagation_outbox.job = job.id)
          AND EXISTS (SELECT 1 FROM submission_job JOIN submission ON submission.number = submission_job.submission
                      WHERE submission_job.job = job.id AND {STILL_WANTS})
    """,
    "a job that was split has two halves, and their work IDs are together its own": f"""
        SELECT id FROM job WHERE state = '{State.SPLIT}' AND NOT (
            2 = (SELECT count(*) FROM job half WHERE half.bisected_from = job.id)
            AND {is_union("job.work_ids", "SELECT half.work_ids FROM job half WHERE half.bisected_from = job.id")})
    """,
    "no job depends on a job that was split, and its submissions request its halves": f"""
        SELECT need.child FROM need JOIN job parent ON parent.id = need.parent WHERE parent.state = '{State.SPLIT}'
        UNION ALL SELECT half.id FROM submission_job JOIN job half ON half.bisected_from = submission_job.job
            JOIN submission ON submission.number = submission_job.submission
        WHERE submission.state = '{SubmissionState.ACTIVE}' AND NOT EXISTS (
            SELECT 1 FROM submission_job own WHERE own.submission = submission_job.submission AND own.job = half.id)
    """,
    SPLIT_OWED: f"""
        SELECT id FROM job WHERE job.{SPLIT.guard} AND {is_divisible("job")}
          AND NOT EXISTS (SELECT 1 FROM propagation_outbox WHERE propagation_outbox.job = job.id)
    """,
    BELONGS: """
        SELECT partition.table_name || ', number ' || partition.partition
        FROM partition LEFT JOIN job ON job.id = partition.job
        WHERE partition.job IS NOT NULL AND partition.table_name IS DISTINCT FROM job.output_table
    """,
    "the partitions of a step exist once it has succeeded": f"""
        SELECT job.id FROM partition JOIN job ON job.id = partition.job
        WHERE job.state = '{State.SUCCEEDED}' AND partition.done_at IS NULL
    """,
    "a step that has not run has partitions to make": f"""
        SELECT job.id FROM job WHERE job.output_table IS NOT NULL AND job.state IN ({_LIVE})
          AND NOT EXISTS (SELECT 1 FROM partition WHERE partition.job = job.id)
          AND NOT EXISTS (
              SELECT 1 FROM transition ran WHERE ran.job = job.id AND ran.target = '{State.RUNNING}' AND ran.id > (
                  SELECT max(anew.id) FROM transition anew
                  WHERE anew.job = job.id AND anew.verb IN ('{REQUEST.name}', '{RERUN.name}')))
    """,
    FIRED: f"""
        SELECT schedule || ' at ' || due FROM firing WHERE outcome = '{FiringOutcome.FIRED}'
          AND NOT EXISTS (SELECT 1 FROM submission WHERE submission.id = firing.submission)
    """,
    SCHEDULED: """
        SELECT submission.id FROM submission JOIN schedule ON schedule.id = split_part(submission.id, ':', 2)
        WHERE starts_with(submission.id, 'schedule:')
          AND NOT EXISTS (SELECT 1 FROM firing WHERE firing.submission = submission.id)
    """,
    ARCHIVED: """
        SELECT id FROM job WHERE archived_at < (SELECT max(at) FROM transition WHERE transition.job = job.id)
    """,
    COLLECTED: """
        SELECT id FROM job WHERE overrides ? 'archive' AND needs_collection <> (overrides ->> 'archive' = 'manual')
    """,
    WATCHED: f"""
        SELECT id FROM job WHERE (next_poll_at IS NOT NULL) <> (handle IS NOT NULL
          AND (state NOT IN ({_LIVE}) OR state = '{State.RUNNING}' AND worker IS NULL))
    """,
    "the entries of a journal follow each other without gaps, and belong to a flight that has begun": """
        SELECT saga_journal.job FROM saga_journal LEFT JOIN job ON job.id = saga_journal.job
        GROUP BY saga_journal.job, saga_journal.flight, job.flight, job.claim
        HAVING count(*) <> max(saga_journal.seq) OR saga_journal.flight > coalesce(job.flight, -1)
            OR max(saga_journal.claim) > job.claim
    """,
    "a saga that has begun has not ended, unless it could not be undone": f"""
        SELECT id FROM job WHERE saga_open AND (NOT unblocked OR state NOT IN ({sql_list(*SAGA_OPEN)}))
    """,
    "no job is suspended while the event that it waits for exists": f"""
        SELECT job.id FROM job JOIN saga_signal ON saga_signal.job = job.id AND saga_signal.flight = job.flight
        WHERE job.state = '{State.SUSPENDED}' AND (saga_signal.name IS NULL OR job.event IS NULL
            OR saga_signal.name = job.event)
          AND NOT EXISTS (SELECT 1 FROM saga_journal WHERE saga_journal.event = saga_signal.id)
    """,
    COUNTED: f"""
        SELECT app || ' ' || state || ': ' || coalesce(there.jobs, 0) || ', counted as ' || coalesce(counted.jobs, 0)
        FROM {MISCOUNTED}
    """,
    TRIED: """
        SELECT app_pause.app FROM app_pause WHERE trial IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM job WHERE job.id = app_pause.trial AND job.app = app_pause.app AND claim >= trial_claim)
    """,
    BREAKER_PAUSES: """
        SELECT app FROM app_pause WHERE until IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM breaker WHERE breaker.app = app_pause.app)
    """,
    NAMED: """
        SELECT child FROM need WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.id = need.parent)
           OR NOT EXISTS (SELECT 1 FROM job WHERE job.id = need.child)
        UNION ALL SELECT job FROM submission_job WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.id = submission_job.job)
    """,
    KWARGS_EXIST: f"""
        SELECT id FROM job WHERE {IS_SHARED}
          AND NOT EXISTS (SELECT 1 FROM shared_kwargs WHERE shared_kwargs.digest = {DIGEST})
    """,
}

#: Maximum number of examples for a broken rule.
EXAMPLES_MAX = 10

_ALL = "\nUNION ALL\n".join(
    f"""
    (SELECT '{rule}', broken::text, total FROM (
        SELECT broken, count(*) OVER () AS total
        FROM (SELECT DISTINCT broken FROM ({sql}) AS each (broken)) AS rows_once
        ORDER BY broken LIMIT {EXAMPLES_MAX}) examples)
    """
    for rule, sql in _RULES.items()
)
_NAMES = "SELECT id, app || '/' || key FROM job WHERE id = ANY(%(jobs)s)"


class Breach(Struct, frozen=True):
    """Rule that does not hold. ``count`` is the number of things that break it, ``of`` is their kind in the plural.
    ``examples`` are some of them: jobs by ``app/key``, submissions by id."""

    rule: str
    count: int
    of: str
    examples: list[str]

    @property
    def things(self) -> str:
        """Number and kind of the things that break it: ``1 job``, ``3 jobs``."""
        return f"{self.count:,} {self.of.removesuffix('s') if self.count == 1 else self.of}"

    @property
    def job(self) -> JobName | None:
        """Job that breaks the rule; None if the examples are no jobs, or if the first of them does not exist."""
        if self.of != _JOBS or not self.examples or self.examples[0].startswith("#"):
            return None
        app, _, key = self.examples[0].partition("/")
        return JobName(app, key)


def breaches(tx: Tx) -> list[Breach]:
    """Return every broken rule. One statement reads one snapshot, so transactions under way cause no false breaches."""
    found: dict[str, list[str]] = {}
    totals: dict[str, int] = {}
    for rule, row, total in tx.rows(_ALL):
        found.setdefault(rule, []).append(row)
        totals[rule] = total
    names = _names(tx, [row for rule, rows in found.items() if rule not in _OTHER_THINGS for row in rows])
    return [
        Breach(rule, totals[rule], _OTHER_THINGS.get(rule, _JOBS), [names.get(row, row) for row in rows])
        for rule, rows in found.items()
    ]


def broken(tx: Tx, rule: str, *, limit: int) -> list[Any]:
    """Return rows that break one rule, at most ``limit``, to be repaired: ids of jobs, or names."""
    return tx.column(f"SELECT broken.* FROM ({_RULES[rule]}) broken LIMIT {limit:d}")


def _names(tx: Tx, jobs: Sequence[str]) -> dict[str, str]:
    """Return the names of jobs by id. A job that does not exist is named by its id."""
    if not jobs:
        return {}
    known = {str(id): name for id, name in tx.rows(_NAMES, jobs=[int(job) for job in jobs])}
    return {job: known.get(job, f"#{job}, which does not exist") for job in jobs}
