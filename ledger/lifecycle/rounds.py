"""Ending rounds: with the outcome that the worker reports, or without one if the running job was taken from its worker.

In the second case the worker's later outcome is refused.

While a job runs, its round holds the output so far (``store_live``). The outcome's output replaces that.
A round that ends without an outcome, or without output, keeps it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sluice.jobs.model.history import Lost
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import Claim
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW
from sluice.ledger.limits.breakers import reporting

_CUT_SHORT = f"""
WITH closed AS (
    UPDATE round SET executed_at = {NOW}, ending = %(ending)s, error = %(ending)s
    FROM job WHERE job.id = ANY(%(jobs)s) AND round.job = job.id AND round.claim = job.claim AND round.ending IS NULL
    RETURNING job.app, round.ending, round.error, job.abort_reason
)
{reporting("SELECT * FROM closed")}
"""
_COMPLETE_COMMITTED = f"""
UPDATE round SET output = %(output)s, stderr = %(stderr)s, error_after_commit = %(error)s,
                 result = %(result)s, result_blob = %(result_blob)s, result_pending = NULL
FROM job WHERE job.id = %(job)s AND round.job = job.id AND round.claim = %(claim)s AND round.ending = '{Ending.DONE}'
RETURNING job.pool
"""
# It takes no row that another transaction holds, because that one is about to end the round. So it waits for nothing,
# and cannot be part of a deadlock.
_STORE_LIVE = """
WITH given AS (
    SELECT * FROM unnest(%(jobs)s::bigint[], %(claims)s::bigint[], %(outputs)s::text[], %(stderrs)s::text[])
                  AS given (job, claim, output, stderr)
), held AS MATERIALIZED (
    SELECT round.job, round.claim FROM round JOIN given USING (job, claim)
    WHERE round.ending IS NULL FOR UPDATE OF round SKIP LOCKED
)
UPDATE round SET output = given.output, stderr = nullif(given.stderr, '')
FROM held JOIN given USING (job, claim)
WHERE round.job = held.job AND round.claim = held.claim AND round.ending IS NULL
"""
#: The outcomes of claims that a worker reports, as ``parameters`` sends them.
ENDED = """unnest(%(jobs)s::bigint[], %(claims)s::bigint[], %(endings)s::text[], %(took_s)s::float8[],
            %(exit_codes)s::int[], %(errors)s::text[], %(outputs)s::text[], %(stderrs)s::text[],
            %(logs)s::text[], %(output_blobs)s::text[], %(stderr_blobs)s::text[], %(finals)s::bool[],
            %(retries_after_s)s::float8[], %(results)s::text[], %(result_blobs)s::text[])
     AS given (id, claim, ending, took_s, exit_code, error, output, stderr, log, output_blob, stderr_blob, final,
               retry_after_s, result, result_blob)"""
_OF_ROUNDS = (
    *("jobs", "claims", "endings", "took_s", "exit_codes", "errors", "outputs", "stderrs"),
    *("logs", "output_blobs", "stderr_blobs", "finals", "retries_after_s"),
    *("results", "result_blobs"),
)


def close_rounds(given: str = ENDED) -> str:
    """Return the statement that ends the rounds of these claims. It returns each round's job, ending and error."""
    return f"""
    UPDATE round SET executed_at = {NOW}, ending = given.ending, took_s = given.took_s,
                     exit_code = given.exit_code, error = given.error, log = given.log,
                     output = coalesce(nullif(given.output, ''), round.output, ''),
                     stderr = coalesce(nullif(given.stderr, ''), round.stderr, ''),
                     output_blob = given.output_blob, stderr_blob = given.stderr_blob,
                     final = given.final, retry_after_s = given.retry_after_s,
                     result = given.result, result_blob = given.result_blob
    FROM {given} WHERE round.job = given.id AND round.claim = given.claim AND round.ending IS NULL
    RETURNING round.job, round.ending, round.error
    """


def close_and_report() -> str:
    """Return the statement that ends the rounds of these claims and reports them to the breakers of their apps."""
    ended = "SELECT job.app, closed.ending, closed.error, job.abort_reason FROM closed JOIN job ON job.id = closed.job"
    return f"WITH closed AS ({close_rounds()}) {reporting(ended)}"


class Written(NamedTuple):
    """Text that a run has written so far."""

    output: str
    stderr: str


def store_live(tx: Tx, written: Mapping[Claim, Written]) -> None:
    """Store the output of running jobs so far. A round that has ended stays as it is."""
    rows = [(*right, *texts) for right, texts in written.items()]
    tx.write(_STORE_LIVE, **arrays(rows, "jobs", "claims", "outputs", "stderrs"))


def complete_committed(tx: Tx, claim: Claim, outcome: Outcome, *, error: str | None) -> bool:
    """Add the output, the result and the error after the commit to a round of a run that has recorded its own success.

    Return False if that success is not committed. The slot of the job's pool is free from now on.
    """
    pools = tx.column(
        _COMPLETE_COMMITTED,
        job=claim.job,
        claim=claim.number,
        output=outcome.output,
        stderr=outcome.stderr,
        error=error,
        result=outcome.result_json,
        result_blob=outcome.result_blob,
    )
    tx.pools.update(pool for pool in pools if pool is not None)
    return bool(pools)


def interrupt(tx: Tx, jobs: list[int], ending: Lost | State) -> None:
    """End the rounds of those jobs that this transaction has taken from a worker."""
    if jobs:
        tx.write(_CUT_SHORT, jobs=jobs, ending=ending)


def parameters(outcomes: Mapping[Claim, Outcome]) -> dict[str, list[object]]:
    """Return the parameters for the ends of these rounds."""
    rows = [
        (
            *right,
            outcome.ending,
            outcome.took_s,
            outcome.exit_code,
            outcome.error,
            outcome.output,
            outcome.stderr,
            outcome.log or None,
            outcome.output_blob,
            outcome.stderr_blob,
            outcome.final or None,
            outcome.retry_after_s,
            outcome.result_json,
            outcome.result_blob,
        )
        for right, outcome in outcomes.items()
    ]
    return arrays(rows, *_OF_ROUNDS)
