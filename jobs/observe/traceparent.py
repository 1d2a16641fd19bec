"""Position of a span in a trace, from W3C's ``traceparent`` or derived from the ledger's data.

A message is a notification and carries no state, so no trace is sent with it. Instead, the trace and the span of a
submission are derived from the submission. The span of a run is derived from its trace and its claim. So every process
computes the same ids, and nothing must be passed on.

An unreadable ``traceparent`` counts as missing, as W3C requires: a new trace begins.
"""

import hashlib
import re
from datetime import datetime
from typing import NamedTuple

from sluice.jobs.model.names import Claim

_WRITTEN = re.compile("([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_SAMPLED = 1


class TracePosition(NamedTuple):
    """One span of one trace.

    ``sampled`` is true if the span is recorded. If it is None, the component that begins the trace decides.
    """

    trace: int
    span: int
    sampled: bool | None = None

    @property
    def trace_id(self) -> str:
        """The trace as logs write it."""
        return f"{self.trace:032x}"

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span:016x}-{int(bool(self.sampled)):02x}"


def read_traceparent(text: str | None) -> TracePosition | None:
    """Return the position that the text describes, or None if it cannot be read."""
    found = _WRITTEN.fullmatch(text or "")
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not int(trace, 16) or not int(span, 16):
        return None
    return TracePosition(int(trace, 16), int(span, 16), bool(int(flags, 16) & _SAMPLED))


def of_submission(id: str, received_at: datetime, sender: TracePosition | None) -> TracePosition:
    """Return the span of a submission, in the trace of its sender or else in a trace of its own.

    ``received_at`` distinguishes it from submissions with the same id in another ledger, or in this one after it was
    recreated.
    """
    trace = sender.trace if sender else _number(_TRACE_BYTES, "trace", id, received_at.isoformat())
    return TracePosition(trace, _number(_SPAN_BYTES, "submission", id), sender.sampled if sender else None)


def of_run(trace: int, claim: Claim) -> int:
    """Return the id of a run's span, in the trace of its submission."""
    return _number(_SPAN_BYTES, "run", f"{trace:032x}", str(claim.job), str(claim.number))


def of_verdict(trace: int, claim: Claim) -> int:
    """Return the id of the span in which a run was judged."""
    return _number(_SPAN_BYTES, "verdict", f"{trace:032x}", str(claim.job), str(claim.number))


def _number(size: int, *parts: str) -> int:
    """Return an id of this many bytes. It is never zero, because zero is not a valid id."""
    digest = hashlib.blake2b("\x00".join(parts).encode(errors="surrogatepass"), digest_size=size).digest()
    return int.from_bytes(digest) or 1
