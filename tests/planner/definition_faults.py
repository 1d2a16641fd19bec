"""Faults in definitions that users of Stolos and Stau met, and sizes just within the limits.

``tests/jobs/catalogue`` has one row per kind of fault. These rows are further spellings, boundaries and cycles.
"""

from typing import Any

from tests.jobs.catalogue.faulty_apps import app, child
from tests.planner.definitions import DATED

#: Apps, the app at fault, and a part of the message.
DefinitionFault = tuple[dict[str, Any], str, str]

PRIVATE = {"job_type": "b", "max_lag": 60, "unique": True}


def templated(template: str) -> dict[str, Any]:
    return {"a": {"job_id": template}}


def ranged(values: str) -> dict[str, Any]:
    return app(autofill_values={"x": values})


def wide(parents: str, depends_on: Any) -> dict[str, Any]:
    """Return parents with 600,000 jobs a day each, and their child ``c``."""
    many = {"job_id": "{date}_{x}", "autofill_values": {"x": "0:600000"}}
    return {**dict.fromkeys(parents.split(), many), "c": {**DATED, "depends_on": depends_on}}


def circle(**parents: list[str]) -> dict[str, Any]:
    return {
        name: {**DATED, "depends_on": {"app_name": named}} if named else DATED
        for name, named in parents.items()
    }


def chunked(**dependencies: list[dict[str, Any]]) -> dict[str, Any]:
    """Return apps that are keyed by chunk, each with its dependencies."""
    return {name: {"chunk_size": 2, "dependencies": needed} for name, needed in dependencies.items()}


DEFINITION_FAULTS: dict[str, DefinitionFault] = {
    # Templates.
    "text after the identifier": (templated("{date}_foo"), "a", "'{date}_foo' has other text than '_'"),
    "no delimiter between identifiers": (templated("{date}{x}"), "a", "'{date}{x}' has other text than '_'"),
    "a conversion": (templated("{date!r}"), "a", "'date!r' in braces; an identifier is letters"),
    "a number as a name": (templated("{0}"), "a", "'0' in braces; an identifier is letters"),
    "an open brace": (templated("{date"), "a", "'{date' has no identifier in braces"),
    # Ranges.
    "from zero to zero": (ranged("0:0"), "a", "range '0:0' is empty: its end is not part of it"),
    "from minus three to minus three": (ranged("-3:-3"), "a", "range '-3:-3' is empty"),
    "backwards, below zero": (ranged("-3:-5"), "a", "range '-3:-5' is empty"),
    "a negative step": (ranged("5:0:-1"), "a", "the step of range '5:0:-1' has to be 1 or more"),
    "an end without a start": (ranged(":5"), "a", "':5' is not a range"),
    "a start without an end": (ranged("5:"), "a", "'5:' is not a range"),
    "an empty step": (ranged("1:2:"), "a", "'1:2:' is not a range"),
    "a fraction": (ranged("1.5:3"), "a", "'1.5' is not a whole number"),
    "no values at all": (app(autofill_values={"x": None}), "a", "x: None is not a list of values"),
    # Forms of depends_on.
    "every app": (child({"app_name": "all"}), "c", "app_name: 'all' is not a list of apps"),
    "the name of an app in place of a mapping": (child("q"), "c", "it has to be a mapping with app_name"),
    "null": (child(None), "c", "it has to be a mapping with app_name"),
    "a group with a mapping without apps": (
        child({"g": [{"app_name": ["q"]}, {"app_name": []}]}),
        "c",
        "group g: app_name: it lists no apps",
    ),
    "a range in place of a list": (
        child({"app_name": ["q"], "date": "1:5"}),
        "c",
        "date: '1:5' is not a list of values",
    ),
    "a list within a list": (child({"app_name": ["q"], "date": [[1]]}), "c", "date: [1] is not a text"),
    "keys that are not a list": (
        child({"app_name": ["q"], "job_id": "1"}),
        "c",
        "job_id: '1' is not a list of keys",
    ),
    "an empty list of keys": (child({"app_name": ["q"], "job_id": []}), "c", "job_id: it lists no keys"),
    "two spellings of one key": (
        {
            "p": {"job_id": "{n}", "identifiers": {"n": "int"}},
            "c": {"job_id": "{n}", "depends_on": {"app_name": ["p"], "job_id": ["7", "007"]}},
        },
        "c",
        "job_id: 7 is listed twice",
    ),
    "an option with a capital letter": (
        child({"app_name": ["q"], "When": ["failed"]}),
        "c",
        "'When' (did you mean when?)",
    ),
    # Filters.
    "a filter that is null": (app(valid_if_or=None), "a", "valid_if_or: it has to be a mapping"),
    "a filter with a word for a number": (
        app(identifiers={"x": "int"}, valid_if_or={"x": ["one"]}),
        "a",
        "valid_if_or: at x, 'one' is not a whole number",
    ),
    "a filter with a value that no key can have": (
        app(valid_if_or={"date": ["a_b"]}),
        "a",
        "valid_if_or: at date, 'a_b' contains '_'",
    ),
    "a filter with a function that does not exist": (
        app(valid_if_or={"_func": "os.path:nothing"}),
        "a",
        "valid_if_or: _func: os.path has no function 'nothing'",
    ),
    # Types of values.
    "a value that its function refuses": (
        app(
            identifiers={"x": "tests.planner.definition_functions:lowered"},
            autofill_values={"x": ["raises"]},
        ),
        "a",
        "definition_functions:lowered refused 'raises'",
    ),
    "a word for a parent that has numbers": (
        {
            "p": {"job_id": "{n}", "identifiers": {"n": "int"}},
            "c": {"job_id": "{t}", "depends_on": {"app_name": ["p"], "n": ["one"], "t": ["k"]}},
        },
        "c",
        "at n, 'one' is not a whole number",
    ),
    "a value that the parent does not allow": (
        {
            "p": {"job_id": "{n}", "identifiers": {"n": [1, 2]}},
            "c": {"job_id": "{n}", "depends_on": {"app_name": ["p"], "n": [1, 3]}},
        },
        "c",
        "at n, '3' is none of 1, 2",
    ),
    "a number that is not a day of the parent": (
        {
            "p": {**DATED, "identifiers": {"date": "date"}},
            "c": {**DATED, "identifiers": {"date": "int"}, "depends_on": {"app_name": ["p"], "date": [7]}},
        },
        "c",
        "7 cannot be the date of p (date)",
    ),
    # Sizes.
    "one parent too many": (
        {
            "p": {"job_id": "{date}_{x}_{y}", "autofill_values": {"x": "0:1000", "y": "0:1001"}},
            "c": {**DATED, "depends_on": {"app_name": ["p"], "x": "all", "y": "all"}},
        },
        "c",
        "one job of c would need 1,000 x 1,001 = 1,001,000 parents; the limit is 1,000,000",
    ),
    "parents of several apps together": (
        wide("p q", {"app_name": ["p", "q"]}),
        "c",
        "one job of c would need 600,000 + 600,000 = 1,200,000 parents; the limit is 1,000,000",
    ),
    "children by two identifiers": (
        {
            "p": DATED,
            "c": {
                "job_id": "{date}_{x}_{y}",
                "autofill_values": {"x": "0:2000", "y": "0:1500"},
                "depends_on": {"app_name": ["p"]},
            },
        },
        "c",
        "one job of p would have 2,000 x 1,500 = 3,000,000 children of c; the limit is 1,000,000",
    ),
    # Cycles.
    "a circle through the second of two groups": (
        {
            "a": {**DATED, "depends_on": {"one": {"app_name": ["r"]}, "other": {"app_name": ["b"]}}},
            **circle(b=["a"], r=[]),
        },
        "a",
        "in a circle: a -> b -> a",
    ),
    "a circle of days that never meet": (
        {
            "a": {**DATED, "depends_on": {"app_name": ["b"], "date": [1]}},
            "b": {**DATED, "depends_on": {"app_name": ["a"], "date": [2]}},
        },
        "a",
        "in a circle: a -> b -> a",
    ),
    "a long circle, listed from its first name on": (
        circle(e=["d"], d=["c"], c=["b"], b=["e"], a=["b"]),
        "b",
        "in a circle: b -> c -> d -> e -> b",
    ),
    # Chunks.
    "a dependency listed twice, unique both times": (
        {**chunked(a=[PRIVATE, PRIVATE]), "b": {"chunk_size": 2}},
        "a",
        "dependencies: b is listed twice",
    ),
    "a circle of unique dependencies": (
        chunked(a=[PRIVATE], b=[{**PRIVATE, "job_type": "a"}]),
        "a",
        "in a circle: a -> b -> a",
    ),
}

#: Apps with sizes near the limits that are still accepted.
WITHIN_LIMITS: dict[str, dict[str, Any]] = {
    "exactly a million parents": {
        "p": {"job_id": "{date}_{x}_{y}", "autofill_values": {"x": "0:1000", "y": "0:1000"}},
        "c": {**DATED, "depends_on": {"app_name": ["p"], "x": "all", "y": "all"}},
    },
    "alternatives that together would exceed the limit": wide(
        "p q", {"one": {"app_name": ["p"]}, "other": {"app_name": ["q"]}}
    ),
    "a range of a hundred million without relations": {
        "p": {"job_id": "{n}", "autofill_values": {"n": "0:100000000"}},
    },
}
