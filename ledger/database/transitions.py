"""The statement that every transition uses, and the clock that every statement reads."""

from typing import TypedDict, Unpack

from sluice.jobs.states import DISPATCHED, TERMINAL, By, State, Verb, sql_list
from sluice.ledger.database.history import VerbBy, kind_of
from sluice.ledger.database.job_events import alerts, notified

#: The database's clock. Simulations and tests pass an instant instead.
NOW = "coalesce(%(now)s::timestamptz, clock_timestamp())"

#: SQL for the time from which a job could have started. A retry is placed by the time at which it is due again: before
#: jobs that become due later, and behind jobs that became due during its delay.
DUE = "coalesce(not_before, created_at)"
#: The order in which jobs that may run are run: by ``jobs.policy.priority.Urgency``, then by the time at which they
#: were due.
IN_TURN = f"-priority, coalesce(effective_deadline, 'infinity'), {DUE}, id"

#: SQL for the bucket from which a job needs a token to start, or an empty text. A flight that has begun needs none. It
#: has the lines of Postgres, so that its index can be compared with the schema.
BUCKET = "\nCASE\n    WHEN saga_open THEN ''\n    ELSE coalesce(rate_bucket, '')\nEND"

#: SQL for the time from which the groomer must handle a job that has not ended: its deadline, or its lateness if that
#: was not noticed yet. It has the lines of Postgres, like ``BUCKET``.
TIME_LIMIT = (
    "LEAST(end_before,\nCASE\n    WHEN NOT late THEN late_at\n    ELSE NULL::timestamp with time zone\nEND)"
)

#: The parameters of a verb that gets nothing but the ids of its jobs.
IDS = "unnest(%(jobs)s::bigint[]) AS given (id)"
#: Statement that locks jobs in the order of their ids, as every statement that moves jobs does.
HOLD_JOBS = "SELECT id FROM job WHERE id = ANY(%(jobs)s) ORDER BY id FOR UPDATE"

#: Longest interval in seconds, about 95 years. Longer ones could lead to times that a timestamp cannot hold.
LONGEST_S = 3e9

_GIVEN_UP = f"CASE WHEN source IN ({sql_list(*sorted(DISPATCHED))}) THEN pool END AS pool"

#: Seconds that a worker has to end its external work itself, if its job was ended and the worker is about to notice
#: that.
ENDS_ITSELF_S = 10.0


#: The columns of ``job`` that the rows of the history and the events are made from.
_LOGGED = ("id", "changed_at", "round", "claim", "state", "notify_on")


class Clauses(TypedDict, total=False):
    """SQL that completes the statement of a move."""

    #: Source of the jobs, with the alias ``given`` and a column ``id``. By default, ``IDS``.
    given: str
    #: Further condition, which may read ``job`` and ``given``.
    condition: str
    #: Further assignments, which may read ``job`` and ``given``.
    sets: str
    #: Note in the history, which reads the row as moved.
    note: str
    #: Columns of the result, which reads the row as moved. By default, the id and the pool of the released slot.
    returning: str
    #: One more common table expression, which reads ``moved``.
    also: str
    #: Columns of ``job`` that the note, the result and ``also`` read. Default: all. A row of ``moved`` is copied for
    #: each of its readers, and a job has some 80 columns. Measured for a claim or an end: 3 % less with a few columns.
    columns: str
    #: Whether the job's external work is over, or can be found by its token alone.
    forgets_work: bool


def interval(seconds: str) -> str:
    """Return SQL for an interval of this many seconds, at most ``LONGEST_S``, or null."""
    return f"CASE WHEN {seconds} IS NOT NULL THEN make_interval(secs => least({seconds}, {LONGEST_S})) END"


def move(verb: Verb, by: By, **clauses: Unpack[Clauses]) -> str:
    """Return the statement by which jobs change state: lock, check, write, log.

    ``held`` locks the jobs in id order to avoid deadlocks, and reads each row again after the wait. The UPDATE repeats
    the guard; its result is ``moved``, with the former state as ``source`` and the former claim as ``its_claim``. The
    row of ``history`` is written with it, and so are the events that a rule of the job sends (``job_events``).
    """
    _check(verb, by)
    return f"""
    {_moved(verb, verb.target, _logged(verb, by, clauses), clauses)}
    SELECT {_returned(verb, clauses)} FROM moved ORDER BY id
    """


def move_twice(verb: Verb, by: By, then: VerbBy, **clauses: Unpack[Clauses]) -> str:
    """Return the statement of ``move`` by which jobs also take a further step, at the same moment."""
    _check(verb, by)
    if then.by not in then.verb.by or verb.target not in then.verb.sources:
        raise ValueError(f"{then.by} does not {then.verb.name} after {verb.name}")
    return f"""
    {_moved(verb, then.verb.target, _logged(verb, by, clauses, then), clauses)}
    SELECT {_returned(verb, clauses)} FROM moved ORDER BY id
    """


def move_or_wait_for_slot(verb: Verb, by: By, waiting: str, **clauses: Unpack[Clauses]) -> str:
    """Return the statement of ``move`` for jobs that may have a pool. Those are not moved: ``waiting`` is set, and they
    wait for a slot, which ``pools.admit`` assigns. The last column of the result is their pool."""
    _check(verb, by)
    returning = _returned(verb, clauses)
    return f"""
    {_moved(verb, verb.target, _logged(verb, by, clauses), clauses, only=" AND given.its_pool IS NULL")}, lined_up AS (
        UPDATE job SET {waiting} FROM held
        WHERE job.id = held.id AND held.its_pool IS NOT NULL AND NOT job.waiting_for_slot RETURNING job.*
    )
    SELECT {returning}, NULL AS pool FROM moved UNION ALL SELECT {returning}, pool FROM lined_up ORDER BY id
    """


def _moved(verb: Verb, target: State, history: str, clauses: Clauses, *, only: str = "") -> str:
    """Return the common table expressions of a move. ``only`` is a further condition for jobs that are held."""
    forgets = "handle = NULL, next_poll_at = NULL, failed_polls = 0"
    work = forgets if clauses.get("forgets_work") else _work(verb)
    parts = [
        *(f"state = '{target}'", f"changed_at = {NOW}", _leaving(verb), work),
        *(alerts(target), clauses.get("sets", "")),
    ]
    also = "".join(f", {each}" for each in (notified(target), clauses.get("also")) if each)
    return f"""WITH held AS MATERIALIZED (
        SELECT job.state AS source, job.pool AS its_pool, job.claim AS its_claim, job.alerts AS its_alerts, given.*
        FROM job JOIN {estimated_as_one(clauses.get("given", IDS))} USING (id)
        WHERE {guard(verb)} AND ({clauses.get("condition", "true")}) ORDER BY job.id FOR UPDATE OF job
    ), moved AS (
        UPDATE job SET {", ".join(filter(None, parts))}
        FROM held AS given
        WHERE job.id = given.id AND {guard(verb)}{only}
        RETURNING {_kept(clauses)}, given.source, given.its_claim, given.its_alerts
    ), logged AS (
        INSERT INTO history (job, at, kind, round, claim, claim_before, note)
        {history}
    ){also}"""


def _kept(clauses: Clauses) -> str:
    """Return the columns of ``job`` in ``moved``."""
    if "columns" not in clauses:
        return "job.*"
    names = dict.fromkeys([*_LOGGED, *clauses["columns"].split(", ")])
    return ", ".join(f"job.{name}" for name in names)


def _returned(verb: Verb, clauses: Clauses) -> str:
    return clauses.get("returning") or (f"id, {_GIVEN_UP}" if gives_up_a_slot(verb) else "id")


def _check(verb: Verb, by: By) -> None:
    if by not in verb.by:
        raise ValueError(f"{by} does not {verb.name}")


def estimated_as_one(given: str) -> str:
    """Return this source of rows, one for each of ``jobs``, with a limit by which Postgres estimates one row. So each
    row is looked up by the primary key.

    For an array Postgres estimates ten rows. While a table has a hundred jobs, reading all of them looks cheaper than
    ten look-ups. A process keeps that plan until the table is analyzed, and meanwhile there may be 100,000 jobs
    (measured: 65 ms for a claim instead of 0.7).
    """
    return f"(SELECT * FROM {given}\n            LIMIT cardinality(%(jobs)s::bigint[])) AS given"


def guard(verb: Verb) -> str:
    """Return the verb's guard for a job that is found by its id, written so that no partial index can answer it.

    While the statistics are from a time with hardly any ready job, the index of the ready jobs looks cheaper than the
    primary key. Each claim would then read all of 100,000 jobs (measured: 180 ms instead of 1).
    """
    return f"CASE WHEN job.{verb.guard} THEN true END"


def gives_up_a_slot(verb: Verb) -> bool:
    """Return whether the verb may move a job that is ready or running to a state that holds no slot."""
    return verb.target not in DISPATCHED and not DISPATCHED.isdisjoint(verb.sources)


def _logged(verb: Verb, by: By, clauses: Clauses, then: VerbBy | None = None) -> str:
    """Return the query for the history rows: one for each job."""
    before = "nullif(its_claim, claim)" if then else "NULL"
    note = clauses.get("note", "NULL")
    return f"""SELECT id, changed_at, {kind_of(VerbBy(verb, by), then)}, round, claim, {before}, {note}
        FROM moved ORDER BY id"""


def _leaving(verb: Verb) -> str:
    """Return assignments that clear the columns of the state that a job leaves. CHECKs require them.

    A job that stops running has no worker. A job that stops waiting does not wait for a slot.
    """
    left = {
        State.RUNNING: "worker = NULL, attempt_timeout_at = NULL",
        State.WAITING: "waiting_for_slot = false",
    }
    return ", ".join(words for source, words in left.items() if source in verb.sources)


def _work(verb: Verb) -> str:
    """Return assignments for external work. A job that is over has it ended (``external_work``); any other job finds it
    again."""
    if verb.target in TERMINAL:
        grace = f"CASE WHEN job.worker IS NULL THEN 0 ELSE {ENDS_ITSELF_S} END"
        when = f"CASE WHEN job.handle IS NOT NULL THEN {NOW} + make_interval(secs => {grace}) END"
        return f"next_poll_at = {when}, failed_polls = 0, external_status = NULL, dispatch_attempts = 0"
    return "next_poll_at = NULL" if State.RUNNING in verb.sources else ""
