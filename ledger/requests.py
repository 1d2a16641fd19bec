"""Stored requests of submissions, read so that a bad one affects no other.

``sluice.submit`` and the other entries refuse what cannot be read, but a row may be older than their limits, or written
past them. So a statement that reads many rows fetches each request as text and only if that text is safe to make
(``BODY``); each is decoded by itself afterwards (``read``), and each reason for a refusal is a value, not an exception.
"""

import msgspec

from sluice.jobs.request_limits import DEPTH_MAX, DIGITS_MAX, is_deeper
from sluice.jobs.submission import JSON, Submission

#: Bytes of a request as Postgres stores it: 8 MiB. A text of 1 MiB takes up to six times its size as jsonb.
STORED_BYTES_MAX = 8 * 1024 * 1024
#: As SQL, whether a number takes more digits than are accepted. A short number may be written out as 130,000 of them.
HAS_LONG_NUMBERS = f"""
jsonb_path_exists(request, 'strict $.** ? (@.type() == "number" && (@ >= 1e{DIGITS_MAX} || @ <= -1e{DIGITS_MAX}))')
"""
#: As SQL, the request as text; null if that must not be made of it.
BODY = f"""
CASE WHEN pg_column_size(request) <= {STORED_BYTES_MAX} AND NOT {HAS_LONG_NUMBERS} THEN request::text END
"""
#: As SQL, how many keys the request names. It may have anything under that name.
KEYS = """
CASE WHEN jsonb_typeof(request -> 'keys') = 'array' THEN jsonb_array_length(request -> 'keys') ELSE 0 END
"""
_UNREAD = f"it is larger than {STORED_BYTES_MAX} bytes, or holds a number of more than {DIGITS_MAX} digits."


def read(body: str | None) -> tuple[Submission | None, str]:
    """Return a stored request as a submission, or None and why it cannot be read, as a sentence."""
    try:
        return msgspec.json.decode(_safe(body), type=Submission), ""
    except (msgspec.MsgspecError, ValueError) as error:
        return None, f"The submission cannot be read: {error}"


def document(body: str | None) -> dict[str, JSON]:
    """Return a stored request as it was sent, for people; empty if it is no JSON object or cannot be read."""
    try:
        found = msgspec.json.decode(_safe(body))
    except (msgspec.MsgspecError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _safe(body: str | None) -> bytes:
    """Return what may be given to a decoder; ValueError if nothing may."""
    if body is None:
        raise ValueError(_UNREAD)
    text = body.encode()
    if is_deeper(text, DEPTH_MAX):
        raise ValueError(f"it nests deeper than {DEPTH_MAX} levels.")
    return text
