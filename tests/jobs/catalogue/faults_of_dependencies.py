"""Faults in the dependencies of an app, and in the number of jobs that they would result in."""

from tests.jobs.catalogue.faulty_apps import Fault, app, child
from tests.planner.definitions import DATED

FAULTS_OF_DEPENDENCIES: dict[str, Fault] = {
    # Dependencies.
    "an unknown parent": (child({"app_name": ["pp"]}), "depends_on: there is no app 'pp' (did you mean p?)"),
    "depends_on that is no mapping": (child([{"app_name": ["q"]}]), "depends_on: it has to be a mapping"),
    "a parent that is no list": (child({"app_name": "q"}), "app_name: 'q' is not a list of apps"),
    "no parents": (child({"app_name": []}), "app_name: it lists no apps"),
    "a group that is no mapping": (child({"date": [1]}), "group date: it has to be a mapping with app_name"),
    "an empty list of mappings": (child({"g": []}), "group g: it has to be a mapping with app_name"),
    "a mapping without app_name": (child({"g": {"date": [1]}}), "a mapping needs app_name"),
    "a parent twice": (child({"app_name": ["q", "q"]}), "app_name: q is listed twice"),
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
    "values twice": (child({"app_name": ["q"], "date": [1, "1"]}), "date: 1 is listed twice"),
    "an unknown when": (
        child({"app_name": ["q"], "when": "suceeded"}),
        "when: 'suceeded' is none of succeeded",
    ),
    "a lag of a parent that is not to succeed": (
        child({"app_name": ["q"], "max_lag": "6h", "when": "failed"}),
        "max_lag is the maximum age of a parent's success, so it cannot be used with when: failed",
    ),
    "a lag of a parent that may end in any way": (
        child({"g": [{"app_name": ["q"], "max_lag": 0, "when": "finished"}]}),
        "group g: max_lag is the maximum age of a parent's success, so it cannot be used with when: finished",
    ),
    "a lag of a parent that runs, by a function": (
        child({"_func": "tests.planner.two_ways:Weeks", "max_lag": 5, "when": "running"}),
        "so it cannot be used with when: running",
    ),
    "a lag below zero": (
        child({"app_name": ["q"], "max_lag": -5}),
        "max_lag: -5 is not a number of minutes from 0 on",
    ),
    "a lag below zero in words": (
        child({"app_name": ["q"], "max_lag": "-6h"}),
        "max_lag: '-6h' is not a duration",
    ),
    "a lag without its unit": (
        child({"_func": "tests.planner.two_ways:Weeks", "max_lag": "90"}),
        "max_lag: '90' has no unit; write \"6h\", or a number of minutes without quotes",
    ),
    "a lag that is no number": (child({"app_name": ["q"], "max_lag": None}), "max_lag: None is not a number"),
    "a lag of two": (
        child({"app_name": ["q"], "max_lag": [1, 2]}),
        "max_lag: [1, 2] is not a number of minutes",
    ),
    "a lag misspelled": (
        child({"app_name": ["q"], "max_lagg": [6]}),
        "has an identifier 'max_lagg' (did you mean max_lag?)",
    ),
    "a two-way function that is missing": (
        child({"_func": "acme:edges"}),
        "_func: there is no Python module 'acme' here or on the path",
    ),
    "a two-way function without parents": (
        child({"_func": "tests.planner.definition_functions:weekend_of_1111"}),
        "_func: tests.planner.definition_functions:weekend_of_1111 has to have the functions parents(app, ids)",
    ),
    "a two-way function that cannot be made": (
        child({"_func": "tests.planner.two_ways:Odd"}),
        "_func: tests.planner.two_ways:Odd cannot be created without arguments:",
    ),
    "a two-way function without a path": (child({"_func": 7}), "_func: 7 is not the path of an object"),
    "a two-way function with identifiers beside it": (
        child({"_func": "tests.planner.two_ways:Weeks", "date": [1]}),
        "a mapping with _func may also have app_name, when and max_lag; the function itself determines date",
    ),
    "a two-way function with an unknown parent": (
        child({"_func": "tests.planner.two_ways:Weeks", "app_name": ["qq"]}),
        "depends_on: there is no app 'qq' (did you mean q?)",
    ),
    "a key of a parent that does not fit": (
        child({"app_name": ["p"], "job_id": ["1"]}),
        "'1' is not a key of p: it has 1 of 2 identifiers",
    ),
    "values beside keys that need none": (
        {
            "p": {"job_id": "{x}"},
            "c": {"job_id": "{y}", "depends_on": {"app_name": ["p"], "job_id": ["1"], "x": ["2"]}},
        },
        "job_id already selects the parents, so x, which only they have, has no effect",
    ),
    "all values of an identifier that no parent has": (
        child({"app_name": ["q"], "x": "all"}),
        "none of its parents has an identifier 'x'",
    ),
    "all values of an identifier without values": (
        child({"app_name": ["q"], "date": "all"}),
        'date is "all", but q has no autofill',
    ),
    "a parent that nothing determines": (
        {"p": {"job_id": "{date}_{x}"}, "c": {**DATED, "depends_on": {"app_name": ["p"]}}},
        "it is undefined which x of p is needed",
    ),
    "a child that nothing determines": (
        {"p": DATED, "c": {"job_id": "{date}_{x}", "depends_on": {"app_name": ["p"]}}},
        "it is undefined for which x of c a job of p is needed",
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
        "one job of c would need 2,000 x 2,000 = 4,000,000 parents; the limit is 1,000,000",
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
        "its values result in 2,000 x 2,000 = 4,000,000 jobs; the limit is 1,000,000",
    ),
}
