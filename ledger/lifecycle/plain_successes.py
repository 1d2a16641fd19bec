"""Successes that need no judgement: recorded, judged and propagated by one procedure.

A round without an error is such a success, unless the job

- has an ``end_before``;
- is a chunk, or makes partitions;
- is a saga in flight, or a compensation;
- runs until it is stopped;
- adds jobs, or has added jobs before.

Such jobs are left unchanged. They are recorded (``outcomes``), and the planner judges them.

Invariants: the history has both steps, that of the executor and that of the planner, at the same moment. No other
transaction sees the job between them. The job has ended then, and this transaction holds it and propagates its end. The
claim guards the write as it guards a record: an outcome that is offered twice or too late changes nothing.

A crash before the commit leaves the claim as it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct, structs

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.observe.failpoints import TransactionKind
from sluice.jobs.states import RECORD, SUCCEED, By
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.database.history import VerbBy
from sluice.ledger.database.procedures import ColumnOf, ContinueIf, Procedure, ProcedureStep, read
from sluice.ledger.database.transitions import move_twice
from sluice.ledger.job_graph import demand, dependencies
from sluice.ledger.job_graph.demand import NO_PUSHES, AffectedByEnds, AffectedRow, PossiblePushes
from sluice.ledger.job_graph.dependencies import CountedChildren, CountedGate
from sluice.ledger.lifecycle import claims
from sluice.ledger.lifecycle.claims import ClaimedJob, ClaimResult, ClaimTerms
from sluice.ledger.lifecycle.judgements import IS_PLAIN
from sluice.ledger.lifecycle.outcomes import HELD
from sluice.ledger.lifecycle.rounds import ENDED, close_rounds, parameters
from sluice.ledger.limits.breakers import SUCCEEDED, reporting

_SUCCEEDED = f"SELECT app, '{SUCCEEDED}' AS ending, NULL AS error, abort_reason FROM moved"
_FINISH = move_twice(
    RECORD,
    By.EXECUTOR,
    VerbBy(SUCCEED, By.PLANNER),
    given=ENDED,
    condition=f"{HELD} AND {IS_PLAIN}",
    sets="external_status = NULL, dispatch_attempts = 0",
    forgets_work=True,
    returning="id, app, pool",
    columns="app, pool, abort_reason",
    also=f"closed AS ({close_rounds('held AS given')}), told AS ({reporting(_SUCCEEDED)})",
)


#: Most jobs of a call of the procedure. For each row it takes some microseconds longer than a statement, and it saves
#: two round trips.
TOGETHER_MAX = 10
_ENDED = {"jobs": ColumnOf(0)}
#: The ends of jobs, what they affect, and their children. If a job needs a judgement, it stops after the first step:
#: jobs are locked before needs, and the job has yet to be recorded. If all that follows is that one job of the ``app``
#: may begin, that job is claimed. Otherwise the other statements of the transaction do what is left.
SETTLE_JOBS = Procedure(
    "settle_jobs",
    ProcedureStep(_FINISH, then=ContinueIf.ALL_ROWS, leaves_nothing="found.id > 0 AND found.pool IS NULL"),
    ProcedureStep(demand.AFFECTED, _ENDED, leaves_nothing=ContinueIf.NO_ROWS),
    ProcedureStep(
        dependencies.COUNT_DOWN,
        _ENDED,
        then=ContinueIf.OPENED_ONE,
        leaves_nothing=f"rows_of_step = 0 OR rows_of_step = 1 AND NOT found.is_open AND NOT found.has_lost"
        f" OR {ContinueIf.OPENED_ONE}",
    ),
    *claims.begin_opened(gate=2),
)


class _FinishedRow(Struct, frozen=True):
    id: int
    app: str
    pool: str | None


class PlainSuccesses(NamedTuple):
    """Jobs that have succeeded without a judgement, each with its app. If they are all that the worker reported, also
    what their ends affect, and their children. ``taken`` is the only child that may begin, if it was claimed."""

    apps: Mapping[int, str]
    affected: AffectedByEnds | None = None
    children: CountedChildren | None = None
    taken: ClaimResult | None = None


class NextApp(NamedTuple):
    """App with a job that the worker may take on at once, and the terms of that claim."""

    name: str
    terms: ClaimTerms


#: No job is taken on: no app has this name.
NO_NEXT_APP = NextApp("", ClaimTerms(UUID(int=0)))


def finish(
    tx: Tx,
    outcomes: Mapping[Claim, Outcome],
    pushes: PossiblePushes = NO_PUSHES,
    next_app: NextApp = NO_NEXT_APP,
) -> PlainSuccesses:
    """Record and judge the outcomes that need no judgement.

    If these are few and no other outcome has to be recorded, the gates of the children are counted down by the same
    procedure, and a job of the next app is claimed if it is all that may begin. Otherwise that must wait, because jobs
    are locked before needs.
    """
    done = {right: outcome for right, outcome in outcomes.items() if _may_be_plain(outcome)}
    if not done:
        return PlainSuccesses({})
    if len(done) < len(outcomes) or len(done) > TOGETHER_MAX:
        rows = tx.rows(_FINISH, **parameters(done))
        return PlainSuccesses(_finished(tx, [_FinishedRow(*row) for row in rows]))
    found = tx.call(SETTLE_JOBS, **_given(done, pushes, next_app))
    ended, affected, gates, _, begun, awaited = found
    finished = _finished(tx, read(ended, _FinishedRow))
    if len(finished) < len(done):
        return PlainSuccesses(finished)
    return PlainSuccesses(
        finished,
        AffectedByEnds.of(read(affected, AffectedRow)),
        CountedChildren.of(read(gates, CountedGate)),
        claims.claimed_when_opened(tx, begun, awaited),
    )


def finish_alone(
    ledger: Ledger, right: Claim, outcome: Outcome, pushes: PossiblePushes, next_app: NextApp
) -> list[ClaimedJob] | None:
    """Record and judge one outcome in a transaction of one round trip, and return the job that was claimed, if any.

    None, and nothing is written, if more has to be done: for example if the job needs a judgement, if several children
    may begin, or if a submission ends.
    """
    if not _may_be_plain(outcome):
        return None
    given = _given({right: outcome}, pushes, next_app)
    found = ledger.call_alone(SETTLE_JOBS, TransactionKind.SETTLE_ALONE, **given)
    return None if found is None else read(found[4], ClaimedJob)


def are_mixed(outcomes: Iterable[Outcome]) -> bool:
    """Return whether some of the outcomes need a judgement, and others do not, unless their job does."""
    return len({_may_be_plain(outcome) for outcome in outcomes}) > 1


def _may_be_plain(outcome: Outcome) -> bool:
    return outcome.ending is Ending.DONE and outcome.expansions is None


def _given(done: Mapping[Claim, Outcome], pushes: PossiblePushes, next_app: NextApp) -> dict[str, object]:
    """Return the parameters of the procedure."""
    claim = {"app": next_app.name, "alone": True, "most": 1, **structs.asdict(next_app.terms)}
    return {**parameters(done), **claim, **pushes._asdict()}


def _finished(tx: Tx, rows: Sequence[_FinishedRow]) -> dict[int, str]:
    tx.pools.update(row.pool for row in rows if row.pool is not None)
    return {row.id: row.app for row in rows}
