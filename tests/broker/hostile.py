"""Hostile messages for tests: every kind, in the envelope of other publishers, with random changes."""

import copy
import json
import random
import string
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from sluice.broker.messages import MESSAGES, PLANNER, SCHEDULER, Execute, Look, Tick, Watch

DEPTH = 10_000


class Hostile(NamedTuple):
    """Message as it is taken from a queue."""

    queue: str
    body: bytes


#: Numbers of jobs in these messages. Some of the jobs exist.
_JOBS = (-1, 0, 1, 2, 3, 7, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**200)
_KWARGS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "submit": (
        {"app": "a", "key": "victim", "policy": {"max_fails": 2, "timeout": "5m"}, "kwargs": {"n": 1}},
        {"app": "b", "keys": ["x", "y"], "mode": "all", "user": "ann", "push": "wanted", "rerun": "job"},
        {"app": "day", "start": "2026-01-01", "end": "2026-01-03", "kwargs": {"x": ["y", None]}},
        {"app": "chunk", "work_ids": [[1, 3], [7, 9]], "policy": {"retry": {"rule": "fixed", "seconds": 5}}},
        {"app": "chunk", "work_ids": [1, 2], "after": [["chunk", "[[1,2]]"]], "branch": "main"},
        {"app": "prog", "key": "victim", "kwargs": {"source": "file:x/run.sh", "input": "a b"}},
        {"app": "prog", "key": "v", "policy": {"limits": {"cpu": "1m"}, "random_start_offset": "2s"}},
        {
            "app": "slotted",
            "key": "v",
            "policy": {"priority": 3, "end_before": "2027-01-01", "start_after": "1h"},
        },
    ),
    "submit_many": (
        {"submissions": [{"app": "a", "key": "v1", "id": "row"}, {"app": "b"}, 17, {"app": "day"}]},
    ),
    "cancel": ({"submission": "hostile-1"}, {"app": "a", "key": "victim"}, {}),
    "pause": ({"submission": "hostile-1"},),
    "resume": ({"submission": "hostile-1"},),
    "landed": (
        {"table": "events", "partitions": ["2024-04-01", "2024-04-03..2024-04-05"]},
        {"table": "events", "partitions": ["0001-01-01..9999-12-31"]},
    ),
    "plan": ({"submissions": ["hostile-1", "good-a"]},),
    "executed": ({"jobs": [1, 2, 3]},),
    "ended": ({"jobs": [1, 2, 3]},),
    "tick": ({},),
    "look": ({},),
    "execute": ({"app": "a", "jobs": [[1, 0], [2, 7]]}, {"app": "chunk", "jobs": [[3, 0]]}),
    "watch": ({"app": "a", "jobs": [1, 2]}, {"app": "flow", "jobs": [1, 2, 3]}),
}
assert _KWARGS.keys() == {kind.actor for kind in MESSAGES}

#: Text that is too long for an index and cannot be compressed.
_LONG = "".join(random.Random(0).choices(string.ascii_letters, k=70_000))
_TEXTS = (
    *("", " ", "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\u202e\u0007\r\n", "\U0001f4a3", "e\u0301"),
    *(_LONG, _LONG[:3000], _LONG[:201]),
    *(
        "'; DROP TABLE job; --",
        "%(id)s %s %%",
        "{x}{0.__class__}",
        "$1",
        '{"NULL",NULL}',
        "\\",
        "1/1",
        "a/b/c",
        ".",
    ),
    *(
        "../../../etc/passwd",
        "/etc/passwd",
        "C:\\x",
        "file:///etc/passwd",
        "http://169.254.169.254/",
        "a.XQ",
        "planner",
    ),
    *(
        "a",
        "b",
        "day",
        "chunk",
        "prog",
        "events",
        "victim",
        "hostile-1",
        "2026-02-30",
        "0000-00-00",
        "9999-12-31",
    ),
    *(
        "9999-12-31..9999-12-31",
        "2024-04-05..2024-04-01",
        "1e309",
        "NaN",
        "Infinity",
        "-5m",
        "99999999999999999999w",
    ),
)
_NUMBERS = (*_JOBS, 0.5, -0.0, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), 10**400)
_OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], [None], {"": ""}, {"\x00": 1}, {"a": {"b": [1]}})
_WORDS = (
    *(
        "app",
        "key",
        "keys",
        "work_ids",
        "start",
        "end",
        "id",
        "kwargs",
        "mode",
        "branch",
        "user",
        "rerun",
        "push",
    ),
    *(
        "policy",
        "after",
        "submission",
        "submissions",
        "jobs",
        "table",
        "partitions",
        "max_fails",
        "timeout",
        "limits",
    ),
    *(
        "retry",
        "end_before",
        "start_after",
        "priority",
        "pool",
        "fail_on",
        "source",
        "unheard",
        "__class__",
        "\x00",
    ),
)
_ACTORS = (
    *(kind.actor for kind in MESSAGES),
    "rm_rf",
    "",
    "Submit",
    "__init__",
    "\x00",
    "\ud800",
    "x" * 5000,
)
_GARBAGE = (
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf5\x80\x80\x80",
    b"\x00",
    b"\\ud800",
    b"\\u0000",
    b'"',
    b"{",
    b"]",
)
_HOMES = {Tick.actor: Tick.home, Look.actor: SCHEDULER}
_NEST = "a placeholder of the nested value"


def hostile_messages(seed: int, count: int) -> Iterator[Hostile]:
    """Yield ``count`` messages, of every kind in turn. The same seed yields the same messages."""
    chance = random.Random(seed)
    kinds = list(_KWARGS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        kwargs = copy.deepcopy(chance.choice(_KWARGS[kind]))
        queue = kwargs["app"] if kind in {Execute.actor, Watch.actor} else _HOMES.get(kind, PLANNER)
        envelope = {
            "queue_name": queue,
            "actor_name": kind,
            "args": [],
            "kwargs": kwargs,
            "options": {},
            "message_id": f"hostile-{number}",
            "message_timestamp": 1_770_000_000_000,
        }
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            chance.choice(_CHANGES)(chance, envelope)
        yield Hostile(queue, _damaged(chance, _written(chance, envelope)))


def _value(chance: random.Random) -> Any:
    kind = chance.randrange(10)
    if kind == 0:
        return _NEST
    return copy.deepcopy(chance.choice(_TEXTS if kind < 5 else _NUMBERS if kind < 8 else _OTHERS))


def _replace(chance: random.Random, envelope: dict[str, Any]) -> None:
    """Replace a value by another."""
    holder, place = chance.choice([*_places(envelope["kwargs"])] or [(envelope, "kwargs")])
    holder[place] = _value(chance)


def _retext(chance: random.Random, envelope: dict[str, Any]) -> None:
    """Replace some texts by other texts, so that the types still fit."""
    found = [
        (holder, place) for holder, place in _places(envelope["kwargs"]) if isinstance(holder[place], str)
    ]
    for holder, place in found[: chance.randrange(len(found) + 1)]:
        holder[place] = chance.choice(_TEXTS)


def _renumber(chance: random.Random, envelope: dict[str, Any]) -> None:
    """Replace some numbers by other numbers, so that the types still fit."""
    found = [(holder, place) for holder, place in _places(envelope["kwargs"]) if type(holder[place]) is int]
    for holder, place in found[: chance.randrange(len(found) + 1)]:
        holder[place] = chance.choice(_JOBS)


def _add(chance: random.Random, envelope: dict[str, Any]) -> None:
    """Add a field, or replace the value of an existing field."""
    holders = [envelope["kwargs"], *(holder[place] for holder, place in _places(envelope["kwargs"]))]
    holder = chance.choice([each for each in holders if isinstance(each, dict)] or [envelope])
    holder[chance.choice(_WORDS)] = _value(chance)


def _drop(chance: random.Random, envelope: dict[str, Any]) -> None:
    holder = chance.choice(
        [each for each in (envelope, envelope["kwargs"]) if isinstance(each, dict) and each]
    )
    if len(holder) > 1:
        del holder[chance.choice([word for word in holder if word != "kwargs"])]


def _repeat(chance: random.Random, envelope: dict[str, Any]) -> None:
    """Repeat the items of a list many times."""
    found = [
        (holder, place) for holder, place in _places(envelope["kwargs"]) if isinstance(holder[place], list)
    ]
    if found:
        holder, place = chance.choice(found)
        holder[place] = holder[place] * chance.choice((2, 50))


def _readdress(chance: random.Random, envelope: dict[str, Any]) -> None:
    """Replace the actor, the id, or another field of the envelope."""
    word = chance.choice(("actor_name", "message_id", "args", "options", "queue_name", "message_timestamp"))
    envelope[word] = chance.choice(_ACTORS) if word == "actor_name" else _value(chance)


_CHANGES: tuple[Callable[[random.Random, dict[str, Any]], None], ...] = (
    *(_replace, _replace, _retext, _retext, _renumber, _add, _add, _drop, _repeat, _readdress),
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place within a value: its container, and its key or index there."""
    if isinstance(value, dict | list):
        for place in value if isinstance(value, dict) else range(len(value)):
            yield value, place
            yield from _places(value[place])


def _written(chance: random.Random, envelope: dict[str, Any]) -> bytes:
    """Encode the envelope as JSON, with content that no encoder of ours writes: NaN, lone surrogates, open brackets."""
    text = json.dumps(envelope, ensure_ascii=chance.random() < 0.5)
    opened, closed = chance.choice((("[", "]"), ('{"a":', "}")))
    nested = opened * DEPTH + "1" + closed * chance.choice((DEPTH, DEPTH, 0))
    return text.replace(json.dumps(_NEST), nested).encode(errors="surrogatepass")


def _damaged(chance: random.Random, body: bytes) -> bytes:
    """Damage one body in five."""
    how, made = chance.randrange(20), bytearray(body)
    at = chance.randrange(len(made))
    if how == 0:
        for _ in range(chance.randrange(1, 6)):
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    elif how == 1:
        del made[at:]
    elif how == 2:
        made[at:at] = chance.choice(_GARBAGE)
    elif how == 3:
        made[at : at + chance.randrange(1, 20)] = chance.randbytes(chance.randrange(20))
    return bytes(made)
