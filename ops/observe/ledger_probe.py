"""Check whether the ledger answers, for readiness and for ``sluice_ledger_up``."""

import logging
from collections.abc import Callable
from typing import Any

from sluice.ledger.database.connection import Tx
from sluice.ops.observe.bounded_reader import BoundedReader

_LOG = logging.getLogger("sluice.console")

#: Seconds within which the ledger has to answer. It answers within milliseconds, also under load.
ANSWER_S = 1.0
#: Seconds for which an answer counts. So unknown senders cause at most one statement a second.
REUSE_S = 1.0


class LedgerProbe:
    """Check that sends the ledger one small statement. ``ask`` runs a query in a transaction."""

    def __init__(self, ask: Callable[[Callable[[Tx], Any]], Any]) -> None:
        self._reader = BoundedReader(
            lambda: bool(ask(lambda tx: tx.column("SELECT true"))[0]),
            subject="answer of the ledger",
            log=_LOG,
            reuse_s=REUSE_S,
        )

    def start(self) -> Callable[[float], bool | None]:
        """Start the check, and return a function that waits for its result (``BoundedReader.start``)."""
        return self._reader.start()

    def answers(self) -> bool:
        """Return whether the ledger answers in time."""
        return self._reader.result(ANSWER_S) is True
