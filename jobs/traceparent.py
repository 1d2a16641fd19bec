"""Where a span stands in a trace: as W3C's ``traceparent`` writes it, and as it follows from what the ledger knows.

A message is a hint and carries no state, so no trace travels with it. What holds instead: the trace and the span of a
submission follow from the submission, those of a run from what it began for and from its claim. So whoever sees one of
them names it like all others do, in whatever process, and nothing has to be handed on.

A ``traceparent`` that cannot be read is as good as none, as W3C has it: the trace begins anew.
"""

import hashlib
import re
from datetime import datetime
from typing import NamedTuple

from sluice.jobs.ref import Claim

_WRITTEN = re.compile("([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_SAMPLED = 1


class Place(NamedTuple):
    """One span of one trace. ``sampled`` says whether it is recorded; None that whoever begins the trace decides."""

    trace: int
    span: int
    sampled: bool | None = None

    def __str__(self) -> str:
        return f"00-{self.trace:032x}-{self.span:016x}-{int(bool(self.sampled)):02x}"


def read_traceparent(text: str | None) -> Place | None:
    """None for what is none."""
    found = _WRITTEN.fullmatch(text or "")
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not int(trace, 16) or not int(span, 16):
        return None
    return Place(int(trace, 16), int(span, 16), bool(int(flags, 16) & _SAMPLED))


def of_submission(id: str, received_at: datetime, sender: Place | None) -> Place:
    """Of a submission: in the trace of its sender, or in one of its own. Another ledger may have one of this id, and
    this ledger after it was made anew, but not of this moment."""
    trace = sender.trace if sender else _number(_TRACE_BYTES, "trace", id, received_at.isoformat())
    return Place(trace, _number(_SPAN_BYTES, "submission", id), sender.sampled if sender else None)


def of_run(trace: int, claim: Claim) -> int:
    """The span of a run, in the trace of what it began for."""
    return _number(_SPAN_BYTES, "run", f"{trace:032x}", str(claim.job), str(claim.number))


def of_verdict(trace: int, claim: Claim) -> int:
    """The span in which a run was judged."""
    return _number(_SPAN_BYTES, "verdict", f"{trace:032x}", str(claim.job), str(claim.number))


def _number(size: int, *parts: str) -> int:
    """Never zero, which is no id."""
    digest = hashlib.blake2b("\x00".join(parts).encode(errors="surrogatepass"), digest_size=size).digest()
    return int.from_bytes(digest) or 1
