"""Stored requests of submissions, and refused submissions.

Requests are read so that one bad request affects no other. ``sluice.submit`` and the other entry points refuse
unreadable requests. But a row may be older than their limits, or written without them. So a statement that reads many
rows fetches each request as text, and only if that text is safe to produce (``BODY``). Each one is then decoded
separately (``read``). The reason for a refusal is a value and not an exception.

A refused submission is counted in the transaction that refuses it, and logged after the commit (``note``). The count
and the reason are as durable as the refusal. If the commit fails, nothing is logged. A process that is killed between
the commit and the log line loses only that line.
"""

import logging
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import RequestReason
from sluice.jobs.model.request_limits import DEPTH_MAX, DIGITS_MAX, is_deeper
from sluice.jobs.model.submission import JSON, Refusal, Submission, SubmissionState, narrowed
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.stats import event_counters
from sluice.ledger.stats.event_counters import CounterName

#: Most bytes of a request as Postgres stores it: 8 MiB. A text of 1 MiB takes up to six times its size as jsonb.
STORED_BYTES_MAX = 8 * 1024 * 1024
#: SQL that is true if a number has more digits than accepted. A short number may expand to 130,000 digits.
HAS_LONG_NUMBERS = f"""
jsonb_path_exists(request, 'strict $.** ? (@.type() == "number" && (@ >= 1e{DIGITS_MAX} || @ <= -1e{DIGITS_MAX}))')
"""
#: SQL for the request as text; null if producing the text is unsafe.
BODY = f"""
CASE WHEN pg_column_size(request) <= {STORED_BYTES_MAX} AND NOT {HAS_LONG_NUMBERS} THEN request::text END
"""
#: SQL for the number of keys that the request names. The value under that name may be of any type.
KEYS = """
CASE WHEN jsonb_typeof(request -> 'keys') = 'array' THEN jsonb_array_length(request -> 'keys') ELSE 0 END
"""
# Submissions that requested any of these waiting jobs by name, or as a parent of a requested job, with their request.
_ASKERS = f"""
SELECT submission.number, {BODY} AS body, job.app, job.key
FROM job JOIN submission_job ON submission_job.job = job.id
    JOIN submission ON submission.number = submission_job.submission
WHERE job.id = ANY(%(jobs)s) AND submission_job.request_reason <> {RequestReason.PUSHED:d}
  AND job.state = '{State.WAITING}' AND submission.state = '{SubmissionState.ACTIVE}'
ORDER BY job.id, submission.number
"""
_BODIES = f"SELECT number, {BODY} FROM submission WHERE number = ANY(%(numbers)s)"
_UNREAD = f"it is larger than {STORED_BYTES_MAX} bytes, or holds a number of more than {DIGITS_MAX} digits."


def read(body: str | None) -> tuple[Submission | None, str]:
    """Return a stored request as a submission, or None and the reason why it cannot be read, as a sentence."""
    try:
        return msgspec.json.decode(_safe(body), type=Submission), ""
    except (msgspec.MsgspecError, ValueError) as error:
        return None, f"The submission cannot be read: {error}"


def document(body: str | None) -> dict[str, JSON]:
    """Return a stored request as it was sent, for display. Empty if it is no JSON object or cannot be read."""
    try:
        found = msgspec.json.decode(_safe(body))
    except (msgspec.MsgspecError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class Requester(NamedTuple):
    """A submission narrowed to one job that it requests already, to be requested again."""

    number: int
    submission: Submission


def requesters(tx: Tx, jobs: list[int]) -> list[Requester]:
    """Return the submissions that requested these waiting jobs. Jobs that were only pushed have none.

    A submission with an unreadable request is left out.
    """
    return [
        Requester(number, narrowed(submission, JobName(app, key)))
        for number, body, app, key in tx.rows(_ASKERS, jobs=jobs)
        if (submission := read(body)[0])
    ]


def bodies(tx: Tx, numbers: list[int]) -> dict[int, Submission]:
    """Return the requests of these submissions by number, without the unreadable ones."""
    rows = tx.rows(_BODIES, numbers=sorted({*numbers})) if numbers else []
    return {number: submission for number, body in rows if (submission := read(body)[0])}


def _safe(body: str | None) -> bytes:
    """Return the text as bytes for a decoder. ValueError if it is unsafe to decode."""
    if body is None:
        raise ValueError(_UNREAD)
    text = body.encode()
    if is_deeper(text, DEPTH_MAX):
        raise ValueError(f"it nests deeper than {DEPTH_MAX} levels.")
    return text


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
    event_counters.add(tx, {(CounterName.SUBMISSION_REFUSED, ""): len(tx.refused)})


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
