"""Bytes, values and requests by seed."""

import json
import random
from collections.abc import Sequence
from typing import Any

import msgspec

from sluice.jobs.model.submission import Submission
from sluice.ops.console.route import Route, is_name

_TEXTS = (
    *("", ".", "..", "a", "b", "1", "*", "a/b", "%00", "\ud800", "\x00", "\x1b[2J", "\u202e", "x" * 5_000),
    *("2026-02-30", "9999-12-31", "0000-01-01", "1e309", "-5m", "99999999999999999999w", "{x}{0.__class__}"),
    *("'; DROP TABLE job; --", "%(id)s %s", "schedule:s:x", "x/compensation", "all", "saga", "$1", "NaN"),
)
_NUMBERS = (-1, 0, 1, 2**31, 2**63, -(2**63) - 1, 2**200, 0.5, -0.0, 1e308, 10**400)
_WORDS = (
    *("app", "key", "keys", "work_ids", "start", "end", "id", "kwargs", "mode", "branch", "policy", "after"),
    *("event", "payload", "token", "partitions", "note", "rerun", "push", "user", "limit", "from", "to"),
    *("max_fails", "timeout", "limits", "retry", "priority", "env", "concurrency", "unheard", "__class__"),
)
_OTHER_KEYS = {"keys", "work_ids", "start", "end"}
_DEPTHS = (65, 200, 990, 1_000, 5_000, 100_000)
_BYTES = (
    b"\x00",
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b":",
    b"\xff",
    b"\t",
    b"A" * 5_000,
    b"\r\n\r\n",
    b"\x7f",
    b",",
)
_HEAD = b"POST /api/submissions?limit=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def value(chance: random.Random, depth: int = 3) -> Any:
    """Return any JSON value, with at most this depth."""
    kind = chance.randrange(9 if depth else 6)
    if kind < 3:
        return chance.choice(_TEXTS)
    if kind < 5:
        return chance.choice(_NUMBERS)
    if kind == 5:
        return chance.choice((None, True, False))
    count = chance.choice((0, 1, 2, 3))
    if kind == 6:
        return [value(chance, depth - 1) for _ in range(count)]
    return {chance.choice((*_WORDS, *_TEXTS)): value(chance, depth - 1) for _ in range(count)}


def document(chance: random.Random, kind: Any = Submission) -> bytes:
    """Return a body of JSON, or nearly.

    Most bodies have one or two fields that the call knows, with a value that may be wrong. Some are nested deeper than
    any stack.
    """
    own = [each.encode_name for each in msgspec.structs.fields(kind)]
    known = chance.sample(own, min(len(own), chance.randrange(1, 3)))
    words = {word: value(chance) for word in known} or {chance.choice(_WORDS): value(chance)}
    if "app" in own:
        words |= {"app": chance.choice(("a", "b"))}
        words |= {"key": chance.choice(("1", "2", *_TEXTS))} if not words.keys() & _OTHER_KEYS else {}
    text = json.dumps(words)
    how = chance.randrange(8)
    if how == 0:
        opened, closed = chance.choice((("[", "]"), ('{"a":', "}")))
        depth = chance.choice(_DEPTHS)
        nested = opened * depth + "1" + closed * depth
        word = json.dumps(chance.choice(own or _WORDS))
        return f'{{"app": "a", "key": "1", {word}: {nested}}}'.encode()
    if how == 1:
        return text[: chance.randrange(len(text) + 1)].encode("utf-8", "surrogatepass")
    return text.encode("utf-8", "surrogatepass")


def path(chance: random.Random, route: Route) -> str:
    """Return the path of a call, with random names and a random query."""
    parts = [_quoted(chance.choice(_TEXTS) or "a") if is_name(each) else each for each in route.parts]
    own = [each.encode_name for each in msgspec.structs.fields(route.query)]
    own = own if chance.random() < 0.9 else [*_WORDS]
    said = (
        [f"{chance.choice(own)}={_quoted(chance.choice(_TEXTS))}" for _ in range(chance.randrange(3))]
        if own
        else []
    )
    return f"/{'/'.join(parts)}{'?' if said else ''}{'&'.join(said)}"


def head(chance: random.Random) -> bytes:
    """Return a request of which some bytes were changed, removed, repeated or inserted."""
    body = document(chance)[:10_000]
    sent = bytearray(_HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    for _ in range(chance.randrange(1, 5)):
        place = chance.randrange(len(sent))
        how = chance.randrange(4)
        if how == 0:
            sent[place:place] = chance.choice(_BYTES)
        elif how == 1:
            del sent[place : place + chance.randrange(1, 40)]
        elif how == 2:
            sent[place] = chance.randrange(256)
        else:
            sent[place:place] = sent[place : place + 60]
        if not sent:
            return b"\r\n"
    return bytes(sent)


def deep(chance: random.Random) -> Any:
    """Return a value that is nested deeper than it is safe to walk by recursion."""
    made: Any = chance.choice(_TEXTS)
    for _ in range(chance.choice(_DEPTHS[:-1])):
        made = chance.choice(([made], {"a": made}, [made, 1]))
    return made


def seeded(seeds: Sequence[int]) -> Sequence[random.Random]:
    return [random.Random(seed) for seed in seeds]


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
