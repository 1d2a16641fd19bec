"""Definitions that cannot be used: what each says, the app that is at fault, and words that tell how.

The unit tests of the catalogue have one row for each kind of fault; here is what users of Stolos and of Stau ran into.
"""

from typing import Any

from tests.jobs.catalogue.faulty_apps import app, child
from tests.planner.definitions import DATED

#: Apps, the one at fault, and words of its fault.
Refusal = tuple[dict[str, Any], str, str]

MODEL_BUILD = {
    "preprocess": {"job_id": "{date}_{client_id}"},
    "modelBuild": {
        "job_id": "{date}_{client_id}_{target}",
        "depends_on": {"app_name": ["preprocess"]},
    },
}


def templated(template: str) -> dict[str, Any]:
    return {"a": {"job_id": template}}


def ranged(values: str) -> dict[str, Any]:
    return app(autofill_values={"x": values})


def wide(parents: str, depends_on: Any) -> dict[str, Any]:
    """Parents that each have 600,000 jobs a day."""
    many = {"job_id": "{date}_{x}", "autofill_values": {"x": "0:600000"}}
    return {**dict.fromkeys(parents.split(), many), "c": {**DATED, "depends_on": depends_on}}


def circle(**parents: list[str]) -> dict[str, Any]:
    return {
        name: {**DATED, "depends_on": {"app_name": named}} if named else DATED
        for name, named in parents.items()
    }


def chunked(**dependencies: list[dict[str, Any]]) -> dict[str, Any]:
    """Apps that are keyed by chunk, each with its dependencies; there is also ``b``, which has none."""
    return {"b": {"chunk_size": 2}} | {
        name: {"chunk_size": 2, "dependencies": needed} for name, needed in dependencies.items()
    }


def need(app: str = "b", **words: Any) -> dict[str, Any]:
    return {"job_type": app, "max_lag": 60, **words}


REFUSALS: dict[str, Refusal] = {
    # Templates.
    "text behind": (templated("{date}_foo"), "a", "'{date}_foo' has other text than '_'"),
    "a word in front": (templated("foo_{date}"), "a", "'foo_{date}' has other text than '_'"),
    "nothing between": (templated("{date}{x}"), "a", "'{date}{x}' has other text than '_'"),
    "a conversion": (templated("{date!r}"), "a", "'date!r' in braces; an identifier is letters"),
    "a number for a name": (templated("{0}"), "a", "'0' in braces; an identifier is letters"),
    "a brace left open": (templated("{date"), "a", "'{date' has no identifier in braces"),
    "one identifier twice": (templated("{x}_{x}"), "a", "'{x}_{x}' repeats x"),
    # Ranges.
    "from zero to zero": (ranged("0:0"), "a", "range '0:0' is empty: its end is not part of it"),
    "below zero to the same": (ranged("-3:-3"), "a", "range '-3:-3' is empty"),
    "backwards below zero": (ranged("-3:-5"), "a", "range '-3:-5' is empty"),
    "a step of zero": (ranged("5:9:0"), "a", "the step of range '5:9:0' has to be 1 or more"),
    "a step back": (ranged("5:0:-1"), "a", "the step of range '5:0:-1' has to be 1 or more"),
    "an end alone": (ranged(":5"), "a", "':5' is not a range"),
    "a beginning alone": (ranged("5:"), "a", "'5:' is not a range"),
    "a step left out": (ranged("1:2:"), "a", "'1:2:' is not a range"),
    "a fraction": (ranged("1.5:3"), "a", "'1.5' is not a whole number"),
    "no values at all": (app(autofill_values={"x": None}), "a", "x: None is not a list of values"),
    # Forms of depends_on.
    "every app": (child({"app_name": "all"}), "c", "app_name: 'all' is not a list of apps"),
    "an app by its name alone": (child("q"), "c", "it has to be a mapping with app_name"),
    "nothing": (child(None), "c", "it has to be a mapping with app_name"),
    "one of several mappings without apps": (
        child({"g": [{"app_name": ["q"]}, {"app_name": []}]}),
        "c",
        "group g: app_name: it lists no apps",
    ),
    "a range of parents": (
        child({"app_name": ["q"], "date": "1:5"}),
        "c",
        "date: '1:5' is not a list of values",
    ),
    "a list in a list": (child({"app_name": ["q"], "date": [[1]]}), "c", "date: [1] is not a text"),
    "keys that are no list": (
        child({"app_name": ["q"], "job_id": "1"}),
        "c",
        "job_id: '1' is not a list of keys",
    ),
    "keys that are none": (child({"app_name": ["q"], "job_id": []}), "c", "job_id: it lists no keys"),
    "two spellings of one key": (
        {
            "p": {"job_id": "{n}", "identifiers": {"n": "int"}},
            "c": {"job_id": "{n}", "depends_on": {"app_name": ["p"], "job_id": ["7", "007"]}},
        },
        "c",
        "job_id: 7 stands there twice",
    ),
    "a word with a capital": (
        child({"app_name": ["q"], "When": ["failed"]}),
        "c",
        "'When' (did you mean when?)",
    ),
    "an identifier of nobody": (
        child({"app_name": ["q"], "collection_name": ["profile"]}),
        "c",
        "neither c nor any parent here has an identifier 'collection_name'",
    ),
    "targets that nobody lists": (
        MODEL_BUILD,
        "modelBuild",
        "nothing says which target of modelBuild a job of preprocess is needed for",
    ),
    # Filters.
    "a filter that is null": (app(valid_if_or=None), "a", "valid_if_or: it has to be a mapping"),
    "a filter on words, of a number": (
        app(identifiers={"x": "int"}, valid_if_or={"x": ["one"]}),
        "a",
        "valid_if_or: at x, 'one' is not a whole number",
    ),
    "a filter on a value that no key has": (
        app(valid_if_or={"date": ["a_b"]}),
        "a",
        "valid_if_or: at date, 'a_b' contains '_'",
    ),
    "a filter that names no function": (
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
    "a word where the parent has numbers": (
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
    "a number that is no day of the parent's": (
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
    # Circles.
    "a circle through one of two groups": (
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
    "a long circle, told from its first name on": (
        circle(e=["d"], d=["c"], c=["b"], b=["e"], a=["b"]),
        "b",
        "in a circle: b -> c -> d -> e -> b",
    ),
    # Chunks.
    "chunks of nothing": ({"a": {"chunk_size": 0}}, "a", "chunk_size: 0 is not a whole number from 1 on"),
    "a negative lag": (chunked(a=[need(max_lag=-1)]), "a", "max_lag: -1 is not a number of minutes"),
    "the second lag of a dependency": (
        chunked(a=[need(max_lag=9), need(max_lag=99)]),
        "a",
        "dependencies: b stands there twice",
    ),
    "fixed work IDs": (
        chunked(a=[need(custom_kwargs={"work_ids": [[7]]})]),
        "a",
        "custom_kwargs: work_ids is what each chunk is given",
    ),
    "a dependency that is missing": (chunked(a=[need("z")]), "a", "dependencies: there is no app 'z'"),
    "a dependency on itself": (chunked(a=[need("a")]), "a", "in a circle: a -> a"),
    "a circle of three": (
        chunked(a=[need("b")], b=[need("c")], c=[need("a")]),
        "a",
        "in a circle: a -> c -> b -> a",
    ),
    "a dependency on keys": (
        {**chunked(a=[need("q")]), "q": DATED},
        "a",
        "dependencies: q has no jobs about work IDs",
    ),
    "a key that needs a chunk": (
        {**chunked(), "q": {**DATED, "depends_on": {"app_name": ["b"]}}},
        "q",
        "depends_on: b is keyed by chunk",
    ),
}

#: Sizes that look like the refused ones and are within the limits.
WITHIN_LIMITS: dict[str, dict[str, Any]] = {
    "exactly a million parents": {
        "p": {"job_id": "{date}_{x}_{y}", "autofill_values": {"x": "0:1000", "y": "0:1000"}},
        "c": {**DATED, "depends_on": {"app_name": ["p"], "x": "all", "y": "all"}},
    },
    "alternatives that would be too much together": wide(
        "p q", {"one": {"app_name": ["p"]}, "other": {"app_name": ["q"]}}
    ),
    "a range of a hundred million, alone": {
        "p": {"job_id": "{n}", "autofill_values": {"n": "0:100000000"}},
    },
}
