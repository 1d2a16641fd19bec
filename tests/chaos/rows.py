"""Rows of the ledger after a run, table by table. Times are seconds since the epoch by the database's clock."""

from typing import Any

from msgspec import Struct

from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.recovery.invariants import Breach, breaches
from tests.chaos import stamps
from tests.simulation.journals import off_course


class Job(Struct, frozen=True):
    id: int
    app: str
    key: str
    state: State
    round: int
    claim: int
    output_table: str | None
    pool: str | None
    pool_limit: int | None
    is_held: bool
    is_pruned: bool

    @property
    def name(self) -> str:
        return f"{self.app}/{self.key}"


class Transition(Struct, frozen=True):
    id: int
    job: int
    at: float
    source: str
    target: str
    verb: str
    by: str
    round: int
    claim: int
    note: str | None


class Round(Struct, frozen=True):
    job: int
    claim: int
    round: int
    running_at: float
    executed_at: float | None
    ending: str | None


class Need(Struct, frozen=True):
    child: int
    gate: int
    parent: int
    condition: str
    stale_claim: int | None
    met: bool | None


class Gate(Struct, frozen=True):
    child: int
    gate: int


class Submission(Struct, frozen=True):
    number: int
    id: str
    app: str
    state: str
    ended_at: float | None
    rerun: str | None


class Want(Struct, frozen=True):
    submission: int
    job: int
    request_reason: int


class Schedule(Struct, frozen=True):
    id: str
    rule: str
    timezone: str
    next_due: float | None


class Firing(Struct, frozen=True):
    schedule: str
    due: float
    outcome: str
    submission: str | None


class Step(Struct, frozen=True):
    """One entry of a saga's journal."""

    job: int
    flight: int
    seq: int
    claim: int
    name: str
    direction: str
    result: str
    at: float


class Partition(Struct, frozen=True):
    table_name: str
    partition: int
    job: int | None
    is_there: bool


class Owed(Struct, frozen=True):
    job: int


class Stamp(Struct, frozen=True):
    """Row that a job wrote together with its success."""

    app: str
    key: str
    claim: int


class Rows(Struct, frozen=True):
    """The ledger, table by table, each in the order of its key.

    ``stamps`` is a table outside the ledger. ``astray`` has journal entries that do not follow the entry before them.
    ``breaches`` is the result of the ledger's own check.
    """

    jobs: list[Job]
    transitions: list[Transition]
    rounds: list[Round]
    needs: list[Need]
    gates: list[Gate]
    submissions: list[Submission]
    wants: list[Want]
    schedules: list[Schedule]
    firings: list[Firing]
    steps: list[Step]
    partitions: list[Partition]
    owed: list[Owed]
    stamps: list[Stamp]
    astray: list[str]
    breaches: list[Breach]


def read_rows(tx: Tx) -> Rows:
    tables: dict[str, Any] = {name: tx.structs(kind, sql) for name, (kind, sql) in _TABLES.items()}
    stamped = tx.structs(Stamp, stamps.READ) if tx.column(stamps.THERE)[0] else []
    return Rows(**tables, stamps=stamped, astray=[*off_course(tx)], breaches=breaches(tx))


def _epoch(column: str) -> str:
    return f"extract(epoch FROM {column})::float8 AS {column}"


_JOBS = """
SELECT id, app, key, state, round, claim, output_table, pool, pool_limit, pruned_at IS NOT NULL AS is_pruned,
       worker IS NOT NULL OR waiting_for_slot OR next_poll_at IS NOT NULL AS is_held
FROM job ORDER BY id
"""
_TRANSITIONS = f"""
SELECT id, job, {_epoch("at")}, source, target, verb, by, round, claim, note FROM transition ORDER BY job, id
"""
_ROUNDS = f"""
SELECT job, claim, round, {_epoch("running_at")}, {_epoch("executed_at")}, ending FROM round ORDER BY job, claim
"""
_SUBMISSIONS = f"""
SELECT number, id, app, state, {_epoch("ended_at")}, request ->> 'rerun' AS rerun FROM submission ORDER BY number
"""
_SCHEDULES = f"SELECT id, rule, timezone, {_epoch('next_due')} FROM schedule ORDER BY id"
_FIRINGS = f"SELECT schedule, {_epoch('due')}, outcome, submission FROM firing ORDER BY schedule, due"
_STEPS = f"""
SELECT job, flight, seq, claim, name, direction, result, {_epoch("at")} FROM saga_journal ORDER BY job, flight, seq
"""
_PARTITIONS = """
SELECT table_name, partition, job, done_at IS NOT NULL AS is_there FROM partition
    ORDER BY table_name, version, partition
"""
_TABLES: dict[str, tuple[type[Struct], str]] = {
    "jobs": (Job, _JOBS),
    "transitions": (Transition, _TRANSITIONS),
    "rounds": (Round, _ROUNDS),
    "needs": (Need, "SELECT * FROM need ORDER BY child, gate, parent"),
    "gates": (Gate, "SELECT child, gate FROM gate ORDER BY child, gate"),
    "submissions": (Submission, _SUBMISSIONS),
    "wants": (Want, "SELECT submission, job, request_reason FROM submission_job ORDER BY submission, job"),
    "schedules": (Schedule, _SCHEDULES),
    "firings": (Firing, _FIRINGS),
    "steps": (Step, _STEPS),
    "partitions": (Partition, _PARTITIONS),
    "owed": (Owed, "SELECT job FROM propagation_outbox ORDER BY job"),
}
