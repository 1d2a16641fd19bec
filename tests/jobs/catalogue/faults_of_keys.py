"""Faults in the keys of an app: its template, its identifiers and their values."""

from tests.jobs.catalogue.faulty_apps import Fault, app

FAULTS_OF_KEYS: dict[str, Fault] = {
    # Templates.
    "no template": ({"a": {}}, "there is no job_id like {date}_{client_id}, and no default"),
    "a template that is no text": ({"a": {"job_id": 7}}, "job_id: template 7 is not a text"),
    "literal text in front": ({"a": {"job_id": "x_{date}"}}, "has other text than '_' between"),
    "literal text between": ({"a": {"job_id": "{date}-{x}"}}, "has other text than '_' between"),
    "no identifier": ({"a": {"job_id": "constant"}}, "has no identifier in braces"),
    "a repeated identifier": ({"a": {"job_id": "{x}_{y}_{x}"}}, "repeats x"),
    "empty braces": ({"a": {"job_id": "{date}_{}"}}, "has nothing in a pair of braces"),
    "a format": ({"a": {"job_id": "{date:08d}"}}, "has 'date:08d' in braces"),
    "an identifier that is a word of ours": ({"a": {"job_id": "{app_name}"}}, "names an identifier app_name"),
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
        "autofill_values: x: u is listed twice",
    ),
    "a value written two ways": (
        app(autofill_values={"date": [20140601, "2014-06-01"]}, identifiers={"date": "date"}),
        "autofill_values: date: 20140601 is listed twice",
    ),
    "a value of another kind": (
        app(identifiers={"x": "int"}, autofill_values={"x": ["u"]}),
        "autofill_values: at x, 'u' is not a whole number",
    ),
    "a text among numbers": (
        app(autofill_values={"x": [1, "u"]}),
        "'u' is not a whole number (x is a whole number, because autofill_values of a has 1; if that is wrong",
    ),
    "a day that there is not": (
        app(identifiers={"date": "date"}, autofill_values={"date": [20140230]}),
        "at date, '20140230' is not a day",
    ),
    "a value with the delimiter, not at the end": (
        app(autofill_values={"date": ["a_b"]}),
        "at date, 'a_b' contains '_', which ends it",
    ),
    "an empty value": (app(autofill_values={"x": [""]}), "at x, it is empty"),
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
    "a filter that nothing passes": (
        app(valid_if_or={"x": []}),
        "valid_if_or: x lists no values, so that no job passes it",
    ),
    "a name that cannot be printed": (
        app(identifiers={"\n\x1b[2J": "int"}),
        "identifiers: a has no identifier '\\n\\x1b[2J'",
    ),
    "an app without a name": ({"": {"job_id": "{x}"}}, "'' is no name; an app's name is a letter"),
    "a filter that is no mapping": (app(valid_if_or=["x"]), "valid_if_or: it has to be a mapping"),
    "a filter on no identifier": (app(valid_if_or={"y": [1]}), "valid_if_or: a has no identifier 'y'"),
    "a filter that is no list": (app(valid_if_or={"x": "u"}), "valid_if_or: x: 'u' is not a list"),
    "a filter that is no function": (
        app(valid_if_or={"_func": "is_even"}),
        "'is_even' is not the path of a function",
    ),
}
