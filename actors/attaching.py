"""Connection between a run and the external work that it started (see ``jobs.managed``).

The ledger decides whether the claim still holds. While the ledger is unreachable, the lease decides.
"""

import logging
from collections.abc import Callable, Sequence
from threading import Event

from sluice.actors import executor
from sluice.broker.messages import Message
from sluice.jobs.errors import Unreachable
from sluice.jobs.managed import Keeper
from sluice.jobs.submission import JSON
from sluice.ledger import external_work
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import Claimed

_LOG = logging.getLogger("sluice.executor")

#: Seconds between two attempts to store a handle while the ledger is unreachable. They end when the lease is no longer
#: trusted.
OFFER_AGAIN_S = 1.0


class Attaching:
    """Attachment of one run. While its ``stop`` event is not set, the claim is trusted. ``send`` publishes
    notifications for jobs that waited for the work to start."""

    def __init__(
        self, ledger: Ledger, job: Claimed, stop: Event, send: Callable[[Sequence[Message]], None]
    ) -> None:
        self.handle = job.handle
        self._ledger = ledger
        self._job = job
        self._stop = stop
        self._send = send

    def keep(self, handle: JSON, *, look_every_s: float | None = None, said: str = "") -> bool:
        while True:
            try:
                if look_every_s is None:
                    return self._ledger.transact(lambda tx: external_work.keep(tx, self._job.right, handle))
                return self._leave(handle, look_every_s, said)
            except Unreachable as error:
                _LOG.warning(
                    "the handle of the work that %s started waits for the ledger: %s", self._job.name, error
                )
                if self._stop.wait(OFFER_AGAIN_S):
                    return False

    def keeper(self, handle: JSON) -> Keeper:
        """Return the keeper of the work. If the ledger is unreachable, the answer lets the run end its work because of
        its own timeout, but not because of a stop."""
        try:
            return self._ledger.transact(lambda tx: external_work.keeper(tx, self._job.right, handle))
        except Unreachable as error:
            _LOG.warning(
                "the current owner of the work of %s cannot be determined: %s", self._job.name, error
            )
            return Keeper.ANOTHER if self._stop.is_set() else Keeper.OURS

    def ended(self, handle: JSON) -> None:
        try:
            self._ledger.transact(lambda tx: external_work.forget(tx, self._job.right, handle))
        except Unreachable as error:
            _LOG.warning(
                "the work of %s was ended, but its handle could not be removed: %s", self._job.name, error
            )

    def not_ended(self, handle: JSON) -> None:
        try:
            self._ledger.transact(lambda tx: external_work.bequeath(tx, self._job.right, handle))
        except Unreachable as error:
            _LOG.warning("the work of %s, %s, could not be ended: %s", self._job.name, handle, error)

    def _leave(self, handle: JSON, every_s: float, said: str) -> bool:
        messages = executor.leave(self._ledger, self._job.right, handle, every_s=every_s, said=said)
        if messages is None:
            return False
        self._send(messages)
        return True
