"""Recording of the outcomes of claims.

The number of the claim guards every write, so the outcome of a lost claim is refused. Successes that need no judgement
end at once instead (``plain_successes``).

A crash before the commit leaves the claim as it was.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from sluice.jobs.model.history import Lost
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.states import EXPIRE, HAND_BACK, RECORD, REQUEUE, SUSPEND, TIME_OUT, By
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import HOLD_JOBS, IDS, NOW, interval, move
from sluice.ledger.job_graph import expansions
from sluice.ledger.job_graph.dependencies import add_to_outbox
from sluice.ledger.job_graph.readiness import READY_COLUMNS, ReadyJob, make_ready, move_out
from sluice.ledger.lifecycle.rounds import close_and_report, parameters
from sluice.ledger.sagas.journals import LAST
from sluice.ledger.sagas.suspension import resume_early

#: Seconds that a job waits for another worker if its worker does not have its version.
LOOK_AGAIN_S = 30.0

#: The claims that a worker reports.
CLAIMS = "unnest(%(jobs)s::bigint[], %(claims)s::bigint[]) AS given (id, claim)"
HELD = "job.claim = given.claim"
_RECORD = move(
    RECORD,
    By.EXECUTOR,
    given=CLAIMS,
    condition=HELD,
    sets=f"dispatched_at = {NOW}, dispatch_attempts = 0",
    forgets_work=True,
)
_HAND_BACK = move(
    HAND_BACK,
    By.EXECUTOR,
    given=CLAIMS,
    condition=f"{HELD} AND NOT job.paused AND job.rate_bucket IS NULL",
    sets=f"dispatched_at = {NOW}, dispatch_attempts = 0",
    returning=READY_COLUMNS,
)
# Paused jobs wait, and jobs with a rate limit wait for admission. A job that was resumed between these two statements
# also waits for a moment, until the groomer finds it due.
_HAND_BACK_TO_WAIT = move(
    REQUEUE,
    By.EXECUTOR,
    given=CLAIMS,
    condition=HELD,
    note="'handed back, and ' ||"
    " CASE WHEN rate_bucket IS NULL OR paused THEN 'paused' ELSE 'its app has a rate limit' END",
)
# A worker that has the version may start by then. Without the delay, other workers would claim the job over and over.
_SET_ASIDE = move(
    REQUEUE,
    By.EXECUTOR,
    given=CLAIMS,
    condition=HELD,
    sets=f"not_before = {NOW} + make_interval(secs => {LOOK_AGAIN_S})",
    note="'its worker does not have this version'",
)
# The wait began at the last journal entry: a moment ago, or long before if the job was resumed without its event.
_SUSPEND = move(
    SUSPEND,
    By.EXECUTOR,
    given="unnest(%(jobs)s::bigint[], %(claims)s::bigint[], %(events)s::text[], %(waits_s)s::float8[])"
    " AS given (id, claim, event, waits_s)",
    condition=HELD,
    sets=f"event = given.event, not_before = coalesce((SELECT at FROM ({LAST}) last), {NOW})"
    f" + {interval('given.waits_s')}",
)
# A job that has also passed its ``end_before`` expires, as if the groomer had found it first.
_EXPIRE = move(
    EXPIRE,
    By.EXECUTOR,
    given=CLAIMS,
    condition=f"{HELD} AND job.end_before <= {NOW}",
    forgets_work=True,
)


class TimeoutStatements(NamedTuple):
    """Statements for runs over their timeout: jobs with tries left wait for another round, the others end."""

    requeue: str
    time_out: str


def timeout_statements(by: By, *, condition: str, given: str = IDS, work_is_over: bool) -> TimeoutStatements:
    """Return the statements by which this actor ends the runs that meet the condition. If the external work is not
    over, the job that times out still has to end it."""
    requeue = move(
        REQUEUE,
        by,
        given=given,
        condition=f"{condition} AND job.timeouts < job.max_timeouts",
        sets="timeouts = job.timeouts + 1, round = job.round + 1",
        note=f"'{Lost.TIMED_OUT}'",
        forgets_work=True,
    )
    time_out = move(
        TIME_OUT,
        by,
        given=given,
        condition=f"{condition} AND job.timeouts >= job.max_timeouts",
        sets="timeouts = job.timeouts + 1",
        forgets_work=work_is_over,
    )
    return TimeoutStatements(requeue, time_out)


_TIMEOUT = timeout_statements(By.EXECUTOR, condition=HELD, given=CLAIMS, work_is_over=True)
_CLOSE_ROUNDS = close_and_report()


class Recorded(Struct, frozen=True):
    """Result of recording outcomes.

    ``executed`` jobs wait for judgement, ``ended`` jobs are over, ``ready`` jobs may run again now. ``refused`` claims
    no longer hold their job. The groomer releases jobs that are over their timeout and have tries left.
    """

    executed: list[int]
    ended: list[int]
    ready: list[ReadyJob]
    suspended: list[int]
    refused: list[Claim]


NOTHING = Recorded([], [], [], [], [])
#: Endings that one statement records, for a judgement.
_EXECUTED = {Ending.DONE, Ending.ERROR, Ending.UNDO_FAILED}


def record(tx: Tx, outcomes: Mapping[Claim, Outcome]) -> Recorded:
    """Record the outcomes of claims. An outcome that is recorded again, or too late, changes nothing."""
    by_ending: dict[Ending, list[Claim]] = {}
    for right, outcome in outcomes.items():
        by_ending.setdefault(outcome.ending, []).append(right)
    if len(outcomes) > 1 and not by_ending.keys() <= _EXECUTED:
        lock(tx, outcomes)
    executed = _record_executed(tx, outcomes, by_ending)
    ready, waiting = _hand_back(tx, _of(by_ending, Ending.HANDED_BACK, Ending.NOT_STARTED))
    others = _of(by_ending, Ending.VERSION_UNAVAILABLE)
    elsewhere = move_out(tx, _SET_ASIDE, **_columns(others)) if others else []
    suspended, resumed = _suspend(tx, outcomes, _of(by_ending, Ending.SUSPENDED))
    requeued, ended = _time_out(tx, _of(by_ending, Ending.TIMED_OUT))
    done = {*executed, *(job.job for job in ready), *waiting, *elsewhere, *suspended, *requeued, *ended}
    accepted = [right for right in outcomes if right.job in done]
    if accepted:
        tx.write(_CLOSE_ROUNDS, **parameters({right: outcomes[right] for right in accepted}))
    return Recorded(
        executed=executed,
        ended=ended,
        ready=ready + resumed,
        suspended=suspended,
        refused=[right for right in outcomes if right.job not in done],
    )


def lock(tx: Tx, outcomes: Iterable[Claim]) -> None:
    """Lock the jobs of these claims in the order of their ids. Call it before the first statement if several statements
    end them. Each of these locks its jobs in that order, but another transaction may lock all of them."""
    tx.rows(HOLD_JOBS, jobs=[right.job for right in outcomes])


def _record_executed(
    tx: Tx, outcomes: Mapping[Claim, Outcome], by_ending: dict[Ending, list[Claim]]
) -> list[int]:
    """Record the outcomes to be judged, and the jobs that the successes among them add."""
    done = _of(by_ending, Ending.DONE)
    adding = {right: added for right in done if (added := outcomes[right].expansions) is not None}
    expansions.store(tx, adding)
    executed = move_out(tx, _RECORD, **_columns(_of(by_ending, *sorted(_EXECUTED))))
    expansions.open_recorded(tx, [right for right in adding if right.job in executed])
    return executed


def _of(by_ending: dict[Ending, list[Claim]], *endings: Ending) -> list[Claim]:
    return [right for ending in endings for right in by_ending.get(ending, [])]


def _columns(claims: list[Claim]) -> dict[str, list[object]]:
    return arrays(claims, "jobs", "claims")


def _hand_back(tx: Tx, claims: list[Claim]) -> tuple[list[ReadyJob], list[int]]:
    """Return the jobs that other workers may run now, and the jobs that wait because they are paused or because their
    starts are limited. The caller admits the latter, as far as their limits allow."""
    if not claims:
        return [], []
    ready = [ReadyJob(*row) for row in tx.rows(_HAND_BACK, **_columns(claims))]
    if len(ready) == len(claims):
        return ready, []
    waiting = move_out(tx, _HAND_BACK_TO_WAIT, **_columns(claims))
    return ready + make_ready(tx, By.EXECUTOR, waiting), waiting


def _suspend(
    tx: Tx, outcomes: Mapping[Claim, Outcome], claims: list[Claim]
) -> tuple[list[int], list[ReadyJob]]:
    """Suspend the jobs. Return all of them, and the jobs among them that may run now because they need not wait."""
    if not claims:
        return [], []
    rows = [(*right, outcomes[right].event, outcomes[right].waits_s) for right in claims]
    suspended = move_out(tx, _SUSPEND, **arrays(rows, "jobs", "claims", "events", "waits_s"))
    return suspended, resume_early(tx, suspended)


def _time_out(tx: Tx, claims: list[Claim]) -> tuple[list[int], list[int]]:
    """End the runs over their timeout. Return the jobs that may try again, and the jobs that have ended."""
    if not claims:
        return [], []
    expired = move_out(tx, _EXPIRE, **_columns(claims))
    requeued = move_out(tx, _TIMEOUT.requeue, **_columns(claims))
    ended = [*expired, *move_out(tx, _TIMEOUT.time_out, **_columns(claims))]
    add_to_outbox(tx, ended)
    return requeued, ended
