"""Refused submissions: each is counted in the transaction that refuses it, and logged after the commit.

The count and the reason are as durable as the refusal. A process that is killed between the commit and the log line
loses only that line. If the commit fails, nothing is logged.
"""

import logging
from collections.abc import Iterable

from sluice.jobs.submission import Refusal
from sluice.ledger import happenings
from sluice.ledger.connection import Tx
from sluice.ledger.happenings import What

_LOG = logging.getLogger("sluice.planner")

#: Most characters of a reason in one log line. The ledger keeps the whole reason.
_REASON_LENGTH_MAX = 300


def note(tx: Tx, refused: Iterable[Refusal]) -> None:
    """Count these refusals at the end of this transaction, and log them after its commit."""
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
    """Return the reason as one line. Submitters control parts of it, and a line feed would let them forge log lines."""
    line = " ".join(reason.split())
    return line if len(line) <= _REASON_LENGTH_MAX else f"{line[:_REASON_LENGTH_MAX]} …"
