"""Refused submissions: each is counted in the transaction that refuses it, and logged once that has committed.

The count and the reason are as durable as the refusal. A process that is killed between the commit and the log line
loses that line alone; one whose commit fails has logged nothing.
"""

import logging
from collections.abc import Iterable

from sluice.jobs.submission import Refusal
from sluice.ledger import happenings
from sluice.ledger.connection import Tx
from sluice.ledger.happenings import What

_LOG = logging.getLogger("sluice.planner")

#: Characters of a reason that one line of the log shows: 300. The ledger keeps all of it.
_REASON_LENGTH_MAX = 300


def note(tx: Tx, refused: Iterable[Refusal]) -> None:
    """Have these refusals counted at the end of this transaction, and logged after it."""
    tx.refused.extend(refused)
    if tx.refused:
        tx.at_end.add(_count)
        tx.after_commit.add(_log)


def _count(tx: Tx) -> None:
    happenings.add(tx, {(What.SUBMISSION_REFUSED, ""): len(tx.refused)})


def _log(tx: Tx) -> None:
    for refusal in tx.refused:
        _LOG.warning(
            "Submission %r for app %r is refused: %s",
            refusal.id,
            _one_line(refusal.app),
            _one_line(refusal.reason),
        )


def _one_line(reason: str) -> str:
    """Senders choose parts of it, and a line feed would let them write lines of their own."""
    line = " ".join(reason.split())
    return line if len(line) <= _REASON_LENGTH_MAX else f"{line[:_REASON_LENGTH_MAX]} …"
