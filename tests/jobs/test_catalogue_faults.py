"""Every kind of fault in a definition, its words, and that all of them are told at once."""

from typing import Any

import pytest

from jobs.catalogue import load
from jobs.errors import DefinitionError
from tests.planner.definitions import catalogue_of, faults_of

DATED = {"job_id": "{date}"}


def app(**words: Any) -> dict[str, Any]:
    return {"a": {"job_id": "{date}_{x}", **words}}


def child(depends_on: Any, **words: Any) -> dict[str, Any]:
    """``c``, which depends on ``p`` and ``q``; ``p`` has values for ``x``."""
    return {
        "p": {"job_id": "{date}_{x}", "autofill_values": {"x": ["u", "v"]}},
        "q": {"job_id": "{date}"},
        "c": {"job_id": "{date}", "depends_on": depends_on, **words},
    }


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    # Words.
    "an unknown word": (app(max_fail=3), "unknown word 'max_fail' (did you mean max_fails?)"),
    "an app that is no mapping": ({"a": ["echo"]}, "an app is a mapping of words; this is ['echo']"),
    "a name that starts with a digit": ({"1a": DATED}, "an app's name is a letter, then"),
    "a name that is a queue of ours": ({"groomer": DATED}, "groomer is the name of a queue of Sluice's own"),
    "two names of one word": (app(job_id_template="{date}"), "job_id and job_id_template are two names"),
    # Templates.
    "no template": ({"a": {}}, "there is no job_id, such as {date}_{client_id}, and no default"),
    "a template that is no text": ({"a": {"job_id": 7}}, "job_id: template 7 is not a text"),
    "literal text in front": ({"a": {"job_id": "x_{date}"}}, "has other text than '_' between"),
    "literal text between": ({"a": {"job_id": "{date}-{x}"}}, "has other text than '_' between"),
    "no identifier": ({"a": {"job_id": "constant"}}, "has no identifier in braces"),
    "a repeated identifier": ({"a": {"job_id": "{x}_{y}_{x}"}}, "repeats x"),
    "empty braces": ({"a": {"job_id": "{date}_{}"}}, "has nothing in a pair of braces"),
    "a format": ({"a": {"job_id": "{date:08d}"}}, "has 'date:08d' in braces"),
    "an identifier that is a word of ours": ({"a": {"job_id": "{app_name}"}}, "calls an identifier app_name"),
    # Identifiers.
    "an unknown kind": (
        app(identifiers={"x": "dat"}),
        "identifiers: x: 'dat' is no kind of identifier (did you",
    ),
    "a kind of no identifier": (
        app(identifiers={"dat": "date"}),
        "a has no identifier 'dat' (did you mean date?)",
    ),
    "an empty list of allowed values": (app(identifiers={"x": []}), "[] is empty or repeats a value"),
    "a mixed list of allowed values": (app(identifiers={"x": [1, "b"]}), "mixes numbers and texts"),
    "a validator that does not exist": (
        app(identifiers={"x": "tests.planner.definitions:nothing"}),
        "identifiers: x: tests.planner.definitions has no function 'nothing'",
    ),
    "a validator in no module": (
        app(identifiers={"x": "nowhere.at_all:f"}),
        "no Python module 'nowhere.at_all'",
    ),
    "identifiers that are no mapping": (app(identifiers=["x"]), "identifiers: it has to be a mapping"),
    # Values.
    "values of no identifier": (
        app(autofill_values={"y": ["u"]}),
        "autofill_values: a has no identifier 'y'",
    ),
    "values that are no list": (
        app(autofill_values={"x": 7}),
        "autofill_values: x: 7 is not a list of values",
    ),
    "a value of the wrong type": (
        app(autofill_values={"x": [1.5]}),
        "1.5 is not a text, a whole number or a day",
    ),
    "a value that is a truth": (
        app(autofill_values={"x": [True]}),
        "True is not a text, a whole number or a day",
    ),
    "a repeated value": (
        app(autofill_values={"x": ["u", "v", "u"]}),
        "autofill_values: x: u stands there twice",
    ),
    "a value written two ways": (
        app(autofill_values={"date": [20140601, "2014-06-01"]}, identifiers={"date": "date"}),
        "autofill_values: date: 20140601 stands there twice",
    ),
    "a value of another kind": (
        app(identifiers={"x": "int"}, autofill_values={"x": ["u"]}),
        "autofill_values: at x, 'u' is not a whole number",
    ),
    "a text among numbers": (
        app(autofill_values={"x": [1, "u"]}),
        "'u' is not a whole number (x is a whole number, since autofill_values of a has 1; declare it under",
    ),
    "a day that there is not": (
        app(identifiers={"date": "date"}, autofill_values={"date": [20140230]}),
        "at date, '20140230' is not a day",
    ),
    "a value with the delimiter, not at the end": (
        app(autofill_values={"date": ["a_b"]}),
        "at date, 'a_b' contains '_', which ends it",
    ),
    "an empty value": (app(autofill_values={"x": [""]}), "at x, there is nothing"),
    # Ranges.
    "an empty range": (app(autofill_values={"x": "5:5"}), "range '5:5' is empty"),
    "a range backwards": (app(autofill_values={"x": "5:3"}), "range '5:3' is empty"),
    "a range without an end": (app(autofill_values={"x": "5"}), "'5' is not a range"),
    "a range of nothing": (app(autofill_values={"x": ""}), "'' is not a range"),
    "a range with too many parts": (app(autofill_values={"x": "1:2:3:4"}), "'1:2:3:4' is not a range"),
    "a range of letters": (app(autofill_values={"x": "a:c"}), "'a' is not a whole number"),
    "a step of zero": (app(autofill_values={"x": "0:9:0"}), "the step of range '0:9:0' has to be 1 or more"),
    "a range of text": (
        app(identifiers={"x": "str"}, autofill_values={"x": "1:5"}),
        "range '1:5' needs numbers or days; x is declared as str",
    ),
    "a range of days that there are not": (
        app(identifiers={"date": "date"}, autofill_values={"date": "20150130:20150230"}),
        "'20150230' is not a day",
    ),
    "a range with values that are not allowed": (
        app(identifiers={"x": [1, 2]}, autofill_values={"x": "1:4"}),
        "'3' is none of 1, 2",
    ),
    "a range beyond all numbers": (app(autofill_values={"x": "0:" + "9" * 30}), "goes beyond"),
    # Filters.
    "a filter of nothing": (
        app(valid_if_or={}),
        "valid_if_or: it is empty, so that every job would be skipped",
    ),
    "a filter that is no mapping": (app(valid_if_or=["x"]), "valid_if_or: it has to be a mapping"),
    "a filter on no identifier": (app(valid_if_or={"y": [1]}), "valid_if_or: a has no identifier 'y'"),
    "a filter that is no list": (app(valid_if_or={"x": "u"}), "valid_if_or: x: 'u' is not a list"),
    "a filter that is no function": (
        app(valid_if_or={"_func": "is_even"}),
        "'is_even' is not the path of a function",
    ),
    # Work.
    "a job type that is not there": (
        app(job_type="pyspark"),
        "job type pyspark is not available; there are bash,",
    ),
    "a job type of the user's": (app(job_type="acme:Grid"), "job type acme:Grid is not available"),
    "a placeholder that does not exist": (
        app(bash_cmd="echo {dat}"),
        "bash_cmd: there is no {dat} (did you mean date?); there are app_name, job_id, date, x",
    ),
    "a single brace": (app(bash_cmd="awk '{print $1'"), "bash_cmd: a single {"),
    "a command that is no text": (app(bash_cmd=["echo"]), "bash_cmd: ['echo'] is not a command"),
    "a function for a command": (
        app(job_type="bash", function="os.path:join"),
        "job_type bash has no function",
    ),
    "a command for a function": (
        app(function="os.path:join", bash_cmd="x"),
        "job_type python has no bash_cmd",
    ),
    "no function": (app(job_type="python"), "job_type python needs its function"),
    "a function that does not exist": (app(function="os.path:joyn"), "os.path has no function 'joyn'"),
    "isolate that is no truth": (app(isolate="yes"), "isolate: 'yes' is neither true nor false"),
    # Policy.
    "a negative count": (app(max_fails=-1), "max_fails: -1 is not a whole number from 0 on"),
    "a count that is a truth": (app(max_fails=True), "max_fails: True is not a whole number"),
    "a duration of no unit that there is": (
        app(timeout="5 parsecs"),
        "timeout: '5 parsecs' is not a duration",
    ),
    "a timeout of zero": (app(timeout=0), "timeout: a timeout of zero ends every job"),
    "a time that is none": (app(start_after="soon"), "start_after: 'soon' is not a time"),
    "an end before the start": (
        app(start_after="2026-01-02", end_before="2026-01-01"),
        "is not after start_after",
    ),
    "an unknown rule": (
        app(retry={"rule": "fixd"}),
        "retry: rule: 'fixd' is none of fixed, exponential, random",
    ),
    "an unknown word of a rule": (
        app(retry={"second": 5}),
        "retry: unknown word 'second' (did you mean seconds?)",
    ),
    "an unknown fail_on": (app(fail_on="stdout"), "fail_on: 'stdout' is none of exit, stderr, either"),
    "a variable that is no text": (app(env={"N": 5}), "env: the value of N, 5, is not a text"),
    "variables that are no list": (app(env_from_os="HOME"), "env_from_os: 'HOME' is not a list"),
    "a folder that is no path": (app(cwd=7), "cwd: 7 is not the path of a folder"),
    # Dependencies.
    "an unknown parent": (child({"app_name": ["pp"]}), "depends_on: there is no app 'pp' (did you mean p?)"),
    "depends_on that is no mapping": (child([{"app_name": ["q"]}]), "depends_on: it has to be a mapping"),
    "a parent that is no list": (child({"app_name": "q"}), "app_name: 'q' is not a list of apps"),
    "no parents": (child({"app_name": []}), "app_name: it lists no apps"),
    "a group that is no mapping": (child({"date": [1]}), "group date: it has to be a mapping with app_name"),
    "an empty list of mappings": (child({"g": []}), "group g: it has to be a mapping with app_name"),
    "a mapping without app_name": (child({"g": {"date": [1]}}), "a mapping needs app_name"),
    "a parent twice": (child({"app_name": ["q", "q"]}), "app_name: q stands there twice"),
    "a mapping twice": (
        child({"g": [{"app_name": ["q"]}, {"app_name": ["q"]}]}),
        "lists the same mapping twice",
    ),
    "a group twice": (
        child({"g": {"app_name": ["q"]}, "h": {"app_name": ["q"]}}),
        "groups g and h are the same",
    ),
    "an unknown identifier": (
        child({"app_name": ["q"], "dat": [1]}),
        "neither c nor any parent here has an identifier 'dat' (did you mean date?)",
    ),
    "a scalar": (
        child({"app_name": ["q"], "date": 1}),
        'date: 1 is not a list of values; write a list, or "all"',
    ),
    "no values": (child({"app_name": ["q"], "date": []}), "date: it lists no values"),
    "values twice": (child({"app_name": ["q"], "date": [1, "1"]}), "date: 1 stands there twice"),
    "an unknown when": (
        child({"app_name": ["q"], "when": "suceeded"}),
        "when: 'suceeded' is none of succeeded",
    ),
    "a two-way function": (child({"_func": "acme:edges"}), "two-way functions (_func) are not available"),
    "a key of a parent that does not fit": (
        child({"app_name": ["p"], "job_id": ["1"]}),
        "'1' is not a key of p: it has 1 of 2 identifiers",
    ),
    "all of what no parent has": (
        child({"app_name": ["q"], "x": "all"}),
        "none of its parents has an identifier 'x'",
    ),
    "all of what has no values": (
        child({"app_name": ["q"], "date": "all"}),
        'date is "all", but q has no autofill',
    ),
    "a parent that nothing determines": (
        {"p": {"job_id": "{date}_{x}"}, "c": {**DATED, "depends_on": {"app_name": ["p"]}}},
        "nothing says which x of p is needed",
    ),
    "a child that nothing determines": (
        {"p": DATED, "c": {"job_id": "{date}_{x}", "depends_on": {"app_name": ["p"]}}},
        "nothing says which x of c a job of p is needed for",
    ),
    "lists that have nothing in common": (
        child({"g": [{"app_name": ["q"], "date": [1]}, {"app_name": ["p"], "date": [2]}]}),
        "no date is in all of its lists",
    ),
    "a parent that has to succeed and to fail": (
        child({"g": [{"app_name": ["q"]}, {"app_name": ["q"], "when": "failed"}]}),
        "it needs one job of q both succeeded and failed",
    ),
    "kinds that contradict each other": (
        {
            "p": {**DATED, "identifiers": {"date": "date"}},
            "c": {**DATED, "identifiers": {"date": "str"}, "depends_on": {"app_name": ["p"]}},
        },
        "identifiers: date is str here and date in p; depends_on links the two",
    ),
    "a circle": (
        {
            "a": {**DATED, "depends_on": {"app_name": ["c"]}},
            "b": {**DATED, "depends_on": {"app_name": ["a"]}},
            "c": {**DATED, "depends_on": {"app_name": ["b"]}},
        },
        "the apps depend on each other in a circle: a -> b -> c -> a",
    ),
    "an app that depends on itself": (
        {"a": {**DATED, "depends_on": {"app_name": ["a"], "date": [1]}}},
        "in a circle: a -> a",
    ),
    # Sizes.
    "too many parents": (
        {
            "p": {"job_id": "{date}_{x}_{y}", "autofill_values": {"x": "0:2000", "y": "0:2000"}},
            "c": {**DATED, "depends_on": {"app_name": ["p"]}},
        },
        "one job of c would need 4,000,000 parents; the limit is 1,000,000",
    ),
    "too many children": (
        {
            "p": DATED,
            "c": {
                "job_id": "{date}_{x}",
                "autofill_values": {"x": "0:100000000"},
                "depends_on": {"app_name": ["p"]},
            },
        },
        "one job of p would have 100,000,000 children of c; the limit is 1,000,000",
    ),
    "too many jobs": (
        app(autofill_values={"date": "0:2000", "x": "0:2000"}),
        "its values come to 2,000 x 2,000 jobs; the limit is 1,000,000",
    ),
    # The top of a source.
    "a default that is no text": ({"default_job_id": 7, "a": DATED}, "default_job_id: 7 is not a text"),
    "schedules": ({"schedules": [], "a": DATED}, "schedules are not available"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_kind_of_fault(fault: str) -> None:
    apps, words = FAULTS[fault]
    found = faults_of(apps)
    assert any(words in what for _, what in found), found
    assert len(found) == 1, "one mistake, one fault"


def test_all_faults_are_told_at_once_with_source_and_app() -> None:
    apps = {
        "a": {"job_id": "{date}-{x}", "max_fail": 1, "timeout": "never"},
        "b": {**DATED, "depends_on": {"app_name": ["nobody"]}, "valid_if_or": {}},
        "c": {**DATED, "depends_on": {"app_name": ["d"]}},
        "d": {**DATED, "depends_on": {"app_name": ["c"]}},
        "p": {"job_id": "{date}"},
        "e": {"job_id": "{date}_{x}", "depends_on": {"app_name": ["p"]}},
    }
    with pytest.raises(DefinitionError) as caught:
        catalogue_of(apps)
    found = caught.value.faults
    assert [fault.app for fault in found] == ["a", "a", "a", "b", "b", "c", "e"]
    assert all(fault.source.endswith("apps.json") for fault in found)
    assert caught.value.exit_code == 2
    assert all(str(fault) in caught.value.what for fault in found)


def test_all_that_is_unclear_in_a_group_is_told_at_once() -> None:
    apps = {
        "p": {"job_id": "{date}_{x}_{y}"},
        "c": {"job_id": "{date}_{s}_{t}", "depends_on": {"app_name": ["p"]}},
    }
    told = [what for _, what in faults_of(apps)]
    assert [what.partition("which ")[2].split(" ")[0] for what in told] == ["s", "t", "x", "y"]


def test_two_circles_are_both_shown() -> None:
    apps = {
        name: {**DATED, "depends_on": {"app_name": [parent]}}
        for name, parent in {"a": "b", "b": "a", "x": "z", "y": "x", "z": "y"}.items()
    }
    assert [what.partition("circle: ")[2] for _, what in faults_of(apps)] == [
        "a -> b -> a",
        "x -> y -> z -> x",
    ]


def test_what_is_unclear_of_an_app_at_fault_is_not_told_twice() -> None:
    apps = {
        "p": {"job_id": "{date}_{x}", "autofill_values": {"x": "3:3"}},
        "c": {**DATED, "depends_on": {"app_name": ["p"]}},
    }
    assert [app for app, _ in faults_of(apps)] == ["p"]


@pytest.mark.parametrize("delimiter", ["", "a", "{", " "])
def test_a_delimiter_that_parts_nothing(delimiter: str) -> None:
    with pytest.raises(DefinitionError, match="SLUICE_KEY_DELIMITER"):
        load([], delimiter=delimiter)


def test_another_limit_is_named() -> None:
    apps = app(autofill_values={"date": "0:10", "x": "0:10"})
    assert "the limit is 99" in faults_of(apps, limit=99)[0][1]
    assert faults_of(apps, limit=100) == []
