"""Ends of runs that have recorded the success of their job themselves (see ``jobs.own_success``).

A run tells in which transaction it has recorded the success. The ledger tells whether that was committed:

- Committed: the job has succeeded, even if the run fails afterwards. Its result and its later output and errors are
  added to the round.
- Rolled back: nothing has happened. A run that has ended without an error has failed, because the writes that belong to
  its success are lost.
- Still open after the run: the job is locked, so that not even a failure can be recorded. After ``OPEN_S_MAX`` the
  connection is closed.

A worker that dies before it has added the result leaves a succeeded job without it.
"""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from uuid import UUID

from msgspec.structs import replace

from sluice.actors.executor import transactions
from sluice.actors.executor.ledger_retry import while_unreachable
from sluice.broker.messages import Message
from sluice.jobs.errors import SluiceError
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.own_success import OwnSuccess
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import user_transactions
from sluice.ledger.lifecycle.claims import ClaimedJob

_LOG = logging.getLogger("sluice.executor")

#: Seconds between two checks whether a transaction has ended.
CHECK_EVERY_S = 0.02
#: Seconds for which a transaction may stay open after the end of its run. A commit in another thread may need a moment.
OPEN_S_MAX = 5.0
_NOT_COMMITTED = "The function returned before the transaction of job.succeed_in() was committed."


def own_success(ledger: Ledger, job: ClaimedJob, worker: str) -> OwnSuccess:
    """Return the right of a run of this worker to record the success of its job."""
    at = ledger.virtual_time()
    return OwnSuccess(job=job.id, claim=job.claim, worker=worker, schema=ledger.schema, at=at)


class OwnSuccesses:
    """Own successes of the runs of one worker. ``ending`` is set when the process is about to end."""

    def __init__(
        self, ledger: Ledger, worker: UUID, send: Callable[[Sequence[Message]], None], ending: Event
    ) -> None:
        self._ledger = ledger
        self._worker = str(worker)
        self._send = send
        self._ending = ending

    def right(self, job: ClaimedJob) -> OwnSuccess:
        """Return the right of a run to record the success of its job."""
        return own_success(self._ledger, job, self._worker)

    def conclude(self, job: ClaimedJob, outcome: Outcome) -> Outcome | None:
        """Complete the round of a run that has recorded its own success, and return None. Return the outcome to record
        if that success was not committed."""
        if outcome.succeeded_in is None:
            return outcome
        if self._complete(job, outcome):
            return None
        self._await_end(job, outcome.succeeded_in)
        if self._complete(job, outcome):
            return None
        if outcome.ending is Ending.DONE:
            return replace(outcome, ending=Ending.ERROR, error=_NOT_COMMITTED, result_json=None)
        return outcome

    def _complete(self, job: ClaimedJob, outcome: Outcome) -> bool:
        error = None if outcome.ending is Ending.DONE else outcome.error
        complete = partial(transactions.complete, self._ledger, job.right, outcome, error=error)
        messages = while_unreachable(complete, self._ending, "results recorded late")
        if messages is None:
            return False
        if error is not None:
            _LOG.error(
                "%s failed after its transaction was committed; it stays succeeded: %s", job.name, error
            )
        self._send(messages)
        return True

    def _await_end(self, job: ClaimedJob, transaction: int) -> None:
        """Wait until the transaction has ended. If that takes long, close its connection."""
        ask = partial(self._ledger.transact, lambda tx: user_transactions.is_locked(tx, job.id))
        end_at = time.monotonic() + OPEN_S_MAX
        while while_unreachable(ask, self._ending, "ends of users' transactions noticed late"):
            if self._ending.wait(CHECK_EVERY_S):
                return
            if time.monotonic() >= end_at:
                self._end(job, transaction)
                end_at += OPEN_S_MAX

    def _end(self, job: ClaimedJob, transaction: int) -> None:
        try:
            ended = self._ledger.transact(lambda tx: user_transactions.end(tx, transaction))
        except SluiceError as error:
            _LOG.warning("the connection of %s could not be closed: %s", job.name, error)
            ended = False
        advice = "its connection was closed" if ended else "the worker waits for its end"
        _LOG.error("%s returned with an open transaction that has job.succeed_in(); %s", job.name, advice)
