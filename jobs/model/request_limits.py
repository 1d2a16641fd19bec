"""Limits on the JSON of requests: size, nesting, digits of a number, length of an id.

Every entry checks them before it decodes anything. Messages, HTTP, the client and the command line use ``unfit``; SQL
uses the function ``sluice.submit``. A decoder recurses, so a text that nests too deeply must never reach one.
"""

import re
from collections.abc import Mapping
from itertools import accumulate
from json import dumps
from typing import Any

from msgspec import json

#: Bytes of one submission: 1 MiB, which 100,000 keys of seven characters fill. HTTP accepts no larger body either.
BYTES_MAX = 1024 * 1024
#: Bytes of the kwargs of one submission: 64 KiB. Each claim sends them to a worker.
KWARGS_BYTES_MAX = 64 * 1024
#: Bytes of a definition's policy, and of a mode's and a submission's policy together: 8 KiB. Each job stores a copy
#: of the latter. A usual one has less than 100 bytes.
POLICY_BYTES_MAX = 8 * 1024
#: Levels of nested objects and lists: 64. Decoders fail at about 980, and sooner if their caller is nested.
DEPTH_MAX = 64
#: Levels of a whole message. Each of its submissions is read and refused separately, so this only protects decoders.
MESSAGE_DEPTH_MAX = 4 * DEPTH_MAX
#: Digits of a number: 308, so that every number is also a finite float. Python reads no integer of 4,300 digits.
DIGITS_MAX = 308
#: Characters of a submission's id. RabbitMQ, Redis and the ledger all accept this many.
ID_LENGTH_MAX = 200
#: Spelling of a NUL character in JSON. Postgres cannot store it in a text.
NUL = b"\\u0000"

# A text without a closing quote extends to the end. The quantifiers are possessive, so that it is read once.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_DIGITS = re.compile(rb"[0-9]{%d}" % (DIGITS_MAX + 1))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


def unfit(text: bytes) -> str:
    """Return the reason to refuse a JSON text unread, as a sentence, or "" if it may be decoded."""
    if len(text) > BYTES_MAX:
        return f"It has {len(text)} bytes; at most {BYTES_MAX} are accepted."
    if NUL in text:
        return "It holds a NUL character, which the ledger cannot store."
    if is_deeper(text, DEPTH_MAX):
        return f"It nests deeper than {DEPTH_MAX} levels."
    if _DIGITS.search(text) and _DIGITS.search(_STRING.sub(b"", text)):
        return f"It holds a number of more than {DIGITS_MAX} digits."
    return ""


def oversized(kwargs: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    """Return the reason to refuse a submission for the size of its kwargs or policy, as a sentence, or ""."""
    size = len(json.encode(kwargs)) if kwargs else 0
    if size > KWARGS_BYTES_MAX:
        return f"Its kwargs have {size} bytes; at most {KWARGS_BYTES_MAX} are accepted."
    return f"Its {reason}." if (reason := large_policy(policy)) else ""


def large_policy(policy: Mapping[str, Any]) -> str:
    """Return the reason to refuse a readable policy for its size, as half a sentence, or "".

    Values that JSON does not have, which a definition in Python may contain, count as their text.
    """
    if not policy:
        return ""
    text = dumps(dict(policy), default=str, skipkeys=True, ensure_ascii=False, separators=(",", ":"))
    size = len(text.encode(errors="surrogatepass"))
    return (
        f"policy has {size} bytes; at most {POLICY_BYTES_MAX} are accepted" if size > POLICY_BYTES_MAX else ""
    )


def is_deeper(text: bytes, levels: int) -> bool:
    """Return whether a JSON text nests objects and lists deeper than this, without decoding it."""
    if text.count(b"[") + text.count(b"{") <= levels:
        return False
    steps = _STRING.sub(b"", text).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(steps).cast("b")), default=0) > levels
