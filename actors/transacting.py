"""``job.transaction()``: the user's writes and the job's success commit together, or neither does."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sluice.actors.announce import announce
from sluice.broker.messages import Message
from sluice.jobs.errors import SluiceError
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.places import Place, reached
from sluice.jobs.ref import Claim
from sluice.jobs.states import By
from sluice.ledger.database.connection import Ledger, UserConnection
from sluice.ledger.lifecycle import outcomes


class ClaimLost(SluiceError):
    """Raised when the job was taken over, so that nothing that this run wrote may stay."""


class Transacting:
    """Transaction of one run.

    ``committed``: the job has succeeded, and nothing that the run does afterwards changes that. ``output`` is then the
    output that was stored with the success, and ``messages`` must be sent.
    """

    def __init__(self, ledger: Ledger, right: Claim) -> None:
        self.committed = False
        self.output = ""
        self.messages: Sequence[Message] = []
        self._ledger = ledger
        self._right = right

    @contextmanager
    def open(self, output: Callable[[], str]) -> Iterator[UserConnection]:
        """Yield a connection to the ledger's own database. If the block ends without an error, the job succeeds.

        ``output`` returns the text that the run has printed so far.
        """
        if self.committed:
            raise SluiceError("A job has one transaction, and this job's has been committed.")
        with self._ledger.transaction() as tx:
            yield tx.connection
            tx.hurry()
            self.output = output()
            if outcomes.record(tx, {self._right: Outcome(ending=Ending.DONE, output=self.output)}).refused:
                raise ClaimLost(f"Claim {self._right.number} was taken over; its writes are rolled back.")
            self.messages = announce(tx, [], By.EXECUTOR)
            reached(Place.USER_WRITTEN)
        reached(Place.USER_COMMITTED)
        self.committed = True
