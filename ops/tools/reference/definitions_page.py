"""``docs/definitions.md``: every option of an app, a saga and a schedule, as ``jobs.api.options`` types it."""

import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from sluice.jobs.api.definition import Definition, Duration
from sluice.jobs.api.options import (
    AppOptions,
    BreakerOptions,
    ConcurrencyOptions,
    LimitOptions,
    Moment,
    NoteOptions,
    NotifyOptions,
    PolicyOptions,
    RateLimitOptions,
    ReceiverOptions,
    RetryBudgetOptions,
    RetryOptions,
    SagaAppOptions,
    ScheduleOptions,
    TemplateOptions,
)
from sluice.jobs.catalogue.fields.chunk_options import CHUNK_WORDS
from sluice.jobs.catalogue.fields.partition_options import PARTITION_WORDS
from sluice.jobs.catalogue.fields.work_options import SAGA_WORDS, SPARK_WORDS
from sluice.jobs.model.program import PROGRAM_WORDS
from sluice.jobs.policy.retry_delay import RetryRule

_HEAD = """# Options of definitions

The options of `@app`, `@saga` and `schedule(…)`. Files have the same options, with two differences: `needs` exists only
in Python, as another form of `depends_on`, and files name a function with `function: module:name`. Examples are in
Python. This page is generated from the code.

A *duration* is `"250ms"`, `"2s"`, `"10m"`, `"6h"`, `"1d"`, a number of seconds or a `timedelta`. A *time* is an ISO
text, Unix seconds, or an aware `datetime`. In Python, the decorated function is accepted wherever an app is named.
"""
_TABLE = "| option | type | default | example | meaning |\n|---|---|---|---|---|\n"
_MAPPINGS: Sequence[tuple[str, type]] = (
    ("retry", RetryOptions),
    ("concurrency", ConcurrencyOptions),
    ("breaker", BreakerOptions),
    ("retry_budget", RetryBudgetOptions),
    ("rate_limit", RateLimitOptions),
    ("limits", LimitOptions),
    ("notify", NotifyOptions),
    ("receivers", ReceiverOptions),
)


def page() -> str:
    """Return the page."""
    apps, schedules = _hints(AppOptions), _hints(ScheduleOptions)
    policy, notes = _hints(PolicyOptions), _hints(NoteOptions)
    keys = _without(_hints(TemplateOptions), policy, notes)
    others = (keys, policy, notes, CHUNK_WORDS, PARTITION_WORDS, PROGRAM_WORDS, SPARK_WORDS)
    return "".join(
        [
            _HEAD,
            _section("Keys and dependencies", keys, apps),
            _section("Execution", policy, apps),
            _section("Work", _without(apps, *others), apps),
            _section("Chunks", CHUNK_WORDS, apps),
            _section("Partitions", PARTITION_WORDS, apps),
            _section("Programs", PROGRAM_WORDS, apps),
            _section("Spark", SPARK_WORDS, apps),
            _section("Sagas", SAGA_WORDS, _hints(SagaAppOptions)),
            _section("Notes", notes, apps),
            _section("Schedules", schedules, schedules),
            _mappings(),
        ]
    )


def _without(names: Iterable[str], *others: Collection[str]) -> list[str]:
    return [name for name in names if not any(name in other for other in others)]


def _section(title: str, names: Iterable[str], hints: Mapping[str, Any]) -> str:
    rows = "".join(_row(name, hints[name]) for name in names)
    return f"\n## {title}\n\n{_TABLE}{rows}"


def _mappings() -> str:
    rows = "".join(
        f"| {_code(option)} | {', '.join(map(_code, _hints(mapping)))} |\n" for option, mapping in _MAPPINGS
    )
    return f"\n## Options that are mappings\n\n| option | names |\n|---|---|\n{rows}"


def _hints(options: type) -> dict[str, Any]:
    return get_type_hints(options, include_extras=True)


def _row(name: str, hint: Any) -> str:
    kind, about = get_args(hint)
    default = _code(about.default) if about.default in _LITERALS else about.default
    return f"| {_code(name)} | {_type(kind)} | {default} | {_code(about.example)} | {about.text} |\n"


#: Defaults that are code. Others are words.
_LITERALS = frozenset({"{}", "[]", "True", "False"})


def _code(text: str) -> str:
    return f"`{text}`"


#: Types that are described by a word instead of their parts.
_WORDS: Sequence[tuple[Any, str]] = (
    (Duration, "duration"),
    (Moment, "time"),
    (str, "text"),
    (bool, "`True` or `False`"),
    (int, "number"),
    (float, "number"),
    (object, "any"),
    (Any, "any"),
    (types.NoneType, "`None`"),
)


def _type(kind: Any) -> str:
    """Return a type in a few words."""
    if word := next((word for each, word in _WORDS if each == kind), None):
        return word
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return ", ".join(_code(f'"{value}"') for value in parts)
    if origin in (Union, types.UnionType):
        return _alternatives(parts)
    return _of_class(origin or kind)


def _of_class(kind: Any) -> str:
    if is_typeddict(kind) or issubclass(kind, Mapping):
        return "mapping"
    if issubclass(kind, Sequence):
        return "list"
    named = {Definition: "app", Callable: "function", RetryRule: "`retry` rule", type: "type"}
    return named.get(kind, _code(kind.__name__))


def _alternatives(parts: Sequence[Any]) -> str:
    """Return the parts of a union. A duration among others is one part."""
    rest = list(parts)
    words: list[str] = []
    for alias, word in ((Moment, "time"), (Duration, "duration")):
        members = get_args(alias)
        if all(member in rest for member in members):
            rest = [part for part in rest if part not in members]
            words.append(word)
    return " or ".join(dict.fromkeys([*words, *map(_type, rest)]))
