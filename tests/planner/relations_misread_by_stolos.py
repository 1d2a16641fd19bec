"""Definitions that Stolos refused, misread or crashed on, and their meaning in Sluice."""

from typing import Any

from tests.planner.definitions import DATED, Relation


def child(depends_on: Any, template: str = "{date}") -> dict[str, Any]:
    """Return the app ``c`` with its possible parents ``p`` and ``q``, which are keyed by day."""
    return {"p": DATED, "q": DATED, "c": {"job_id": template, "depends_on": depends_on}}


RELATIONS_MISREAD_BY_STOLOS: dict[str, Relation] = {
    "a list applies with all its values, although the child has a value of its own": (
        {
            "p": {"job_id": "{date}_{x}"},
            "c": {**DATED, "depends_on": {"app_name": ["p"], "date": [1, 2], "x": ["a"]}},
        },
        {"c/1": {"default": "p/{1,2}_a"}, "c/2": {"default": "p/{1,2}_a"}, "c/3": {}},
        {"p/1_a": "c/{1,2}", "p/2_a": "c/{1,2}", "p/1_b": "", "p/3_a": ""},
    ),
    "an identifier that a group lists needs no autofill": (
        {
            "preprocess": {"job_id": "{date}_{client_id}"},
            "modelBuild": {
                "job_id": "{date}_{client_id}_{target}",
                "depends_on": {"app_name": ["preprocess"], "target": ["revenue", "views"]},
            },
        },
        {"modelBuild/20140101_7_views": {"default": "preprocess/20140101_7"}, "modelBuild/20140101_7_z": {}},
        {"preprocess/20140101_7": "modelBuild/20140101_7_{revenue,views}"},
    ),
    # Lists of mappings.
    "a list of one mapping": (
        child({"g": [{"app_name": ["p"]}]}),
        {"c/1": {"g": "p/1"}},
        {"p/1": "c/1", "q/1": ""},
    ),
    "a list of one mapping with values": (
        child({"g": [{"app_name": ["p"], "x": ["a", "b"]}]}, "{date}_{x}"),
        {"c/1_a": {"g": "p/1"}, "c/1_z": {}},
        {"p/1": "c/1_{a,b}"},
    ),
    "a list of three mappings, two of them for one app": (
        child({"g": [{"app_name": ["p"]}, {"app_name": ["q"]}, {"app_name": ["p"], "date": [1, 2]}]}),
        {"c/1": {"g": "p/{1,2} q/1"}, "c/2": {"g": "p/{1,2} q/2"}, "c/3": {}},
        {"p/1": "c/{1,2}", "p/3": "", "q/1": "c/1"},
    ),
    "mappings with different lists apply to the values in both lists": (
        child(
            {"g": [{"app_name": ["p"], "t": ["a", "b"]}, {"app_name": ["q"], "t": ["b", "z"]}]}, "{date}_{t}"
        ),
        {"c/1_a": {}, "c/1_b": {"g": "{p,q}/1"}},
        {"p/1": "c/1_b", "q/1": "c/1_b"},
    ),
    # Names of groups.
    "a group may be called default": (
        child({"default": {"app_name": ["p"]}, "other": {"app_name": ["q"]}}),
        {"c/1": {"default": "p/1", "other": "q/1"}},
        {"p/1": "c/1", "q/1": "c/1"},
    ),
    "a group may be called like an app": (
        child({"p": {"app_name": ["q"]}, "c": {"app_name": ["p"]}}),
        {"c/1": {"p": "q/1", "c": "p/1"}},
        {"p/1": "c/1", "q/1": "c/1"},
    ),
    # Ranges.
    "a range may begin below zero": (
        {
            "p": {"job_id": "{x}", "autofill_values": {"x": "-2:2"}},
            "c": {**DATED, "depends_on": {"app_name": ["p"], "x": "all", "date": [1]}},
        },
        {"c/1": {"default": "p/{-2,-1,0,1}"}},
        {"p/-2": "c/1", "p/2": "", "p/-3": ""},
    ),
    "a step beyond the end leaves the first": (
        {
            "p": {"job_id": "{x}", "autofill_values": {"x": "3:5:100"}},
            "c": {**DATED, "depends_on": {"app_name": ["p"], "x": "all", "date": [1]}},
        },
        {"c/1": {"default": "p/3"}},
        {"p/3": "c/1", "p/4": ""},
    ),
    "a range of days knows how long months are": (
        {
            "p": {
                **DATED,
                "identifiers": {"date": "date"},
                "autofill_values": {"date": "20150130:20150203"},
            },
            "c": {"job_id": "{week}", "depends_on": {"app_name": ["p"], "date": "all", "week": ["w"]}},
        },
        {"c/w": {"default": "p/{20150130,20150131,20150201,20150202}"}},
        {"p/20150131": "c/w", "p/20150203": ""},
    ),
    # Types of values.
    "how a number is written does not matter": (
        {
            "p": {"job_id": "{n}", "identifiers": {"n": "int"}},
            "c": {"job_id": "{t}", "depends_on": {"app_name": ["p"], "n": ["1", "02", 3], "t": ["k"]}},
        },
        {"c/k": {"default": "p/{1,2,3}"}},
        {"p/1": "c/k", "p/002": "c/k", "p/4": ""},
    ),
    # Parents by key.
    "parents by key, each of every app that is named": (
        child({"app_name": ["p", "q"], "job_id": ["1", "2"]}),
        {"c/1": {"default": "{p,q}/{1,2}"}, "c/2": {"default": "{p,q}/{1,2}"}, "c/3": {}},
        {"p/1": "c/{1,2}", "q/2": "c/{1,2}", "p/3": ""},
    ),
    "parents by key for the children that the group lists several of": (
        {
            "p": {"job_id": "{date}_{x}"},
            "c": {
                "job_id": "{date}_{t}",
                "depends_on": {"app_name": ["p"], "job_id": ["1_a"], "t": ["T", "U"]},
            },
        },
        {"c/1_T": {"default": "p/1_a"}, "c/2_T": {}, "c/1_V": {}},
        {"p/1_a": "c/1_{T,U}", "p/1_b": ""},
    ),
}
