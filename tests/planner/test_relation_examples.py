"""Small configurations: those of Stolos's own documentation, and those on which its two functions disagree.

Where they disagree, the answer here is the one relation's.
"""

from typing import Any

import pytest

from tests.planner.definitions import catalogue_of, children, jobs, parents

DATED = {"job_id": "{date}"}

#: Each with the parents (by group) and the children of some of its jobs.
EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, dict[str, str]], dict[str, str]]] = {
    "one job fans out over autofill values": (
        {
            "preprocess": {"job_id": "{date}_{client_id}"},
            "modelBuild": {
                "job_id": "{date}_{client_id}_{target}",
                "autofill_values": {"target": ["purchaseRevenue", "numberOfPageviews"]},
                "depends_on": {"app_name": ["preprocess"]},
            },
        },
        {
            "modelBuild/20140101_1234_purchaseRevenue": {"default": "preprocess/20140101_1234"},
            "modelBuild/20140101_1234_zzz": {},
        },
        {"preprocess/20140101_1234": "modelBuild/20140101_1234_{purchaseRevenue,numberOfPageviews}"},
    ),
    "several days reduce to one job": (
        {
            "preprocess": {"job_id": "{date}_{client_id}"},
            "modelBuild2": {
                "job_id": "{client_id}_{target}",
                "autofill_values": {"target": ["purchaseRevenue", "numberOfPageviews"]},
                "depends_on": {"app_name": ["preprocess"], "date": [20140601, 20140501, 20140401]},
            },
        },
        {
            "modelBuild2/client1_purchaseRevenue": {
                "default": "preprocess/{20140601,20140501,20140401}_client1"
            }
        },
        {
            "preprocess/20140501_client1": "modelBuild2/client1_{purchaseRevenue,numberOfPageviews}",
            "preprocess/20140502_client1": "",
        },
    ),
    "alternatives, one of them a list": (
        {
            "preprocess": {"job_id": "{date}_{client_id}"},
            "otherPreprocess": {"job_id": "{date}_{client_id}"},
            "modelBuild3": {
                "job_id": "{client_id}_{target}",
                "autofill_values": {"target": []},
                "depends_on": {
                    "group_1": [
                        {
                            "app_name": ["preprocess"],
                            "date": [20140601, 20140501, 20140401],
                            "target": ["purchaseRevenue", "purchaseQuantity"],
                        },
                        {
                            "app_name": ["otherPreprocess"],
                            "date": [20120101, 20130101],
                            "target": ["purchaseRevenue", "purchaseQuantity"],
                        },
                    ],
                    "group_2": {
                        "app_name": ["preprocess"],
                        "date": [20140615],
                        "target": ["numberOfPageviews"],
                    },
                },
            },
        },
        {
            "modelBuild3/c1_purchaseRevenue": {
                "group_1": "preprocess/{20140601,20140501,20140401}_c1 otherPreprocess/{20120101,20130101}_c1"
            },
            "modelBuild3/c1_numberOfPageviews": {"group_2": "preprocess/20140615_c1"},
            "modelBuild3/c1_foo": {},
        },
        {
            "preprocess/20140601_c1": "modelBuild3/c1_{purchaseRevenue,purchaseQuantity}",
            "preprocess/20140615_c1": "modelBuild3/c1_numberOfPageviews",
            "preprocess/20140616_c1": "",
            "otherPreprocess/20140601_c1": "",
        },
    ),
    "ranges": (
        {
            "App1": {
                "job_id_template": "{date}_{stage_id}_{response_id}",
                "autofill_values": {"stage_id": "0:10", "response_id": "10:50:2"},
            },
            "App2": {
                "job_id_template": "{date}",
                "depends_on": {"app_name": ["App1"], "response_id": "all", "stage_id": "all"},
            },
        },
        {
            "App2/20150101": {
                "default": " ".join(
                    f"App1/20150101_{stage}_{response}"
                    for stage in range(10)
                    for response in range(10, 50, 2)
                )
            }
        },
        {
            "App1/20150101_9_48": "App2/20150101",
            "App1/20150101_9_50": "",
            "App1/20150101_10_10": "",
            "App1/20150101_1_11": "",
        },
    ),
    "a listed identifier that both have, with empty autofill": (
        {
            "p": {"job_id": "{date}_{t}"},
            "c": {
                "job_id": "{date}_{t}",
                "autofill_values": {"t": []},
                "depends_on": {"app_name": ["p"], "t": ["t1", "t2"]},
            },
        },
        {"c/1_t1": {"default": "p/1_{t1,t2}"}, "c/1_t3": {}},
        {"p/1_t1": "c/1_{t1,t2}", "p/1_t3": ""},
    ),
    "a listed identifier that both have": (
        {
            "p": {"job_id": "{date}_{t}"},
            "c": {"job_id": "{date}_{t}", "depends_on": {"app_name": ["p"], "t": ["t1", "t2"]}},
        },
        {"c/1_t1": {"default": "p/1_{t1,t2}"}, "c/1_t3": {}},
        {"p/1_t1": "c/1_{t1,t2}", "p/1_t3": ""},
    ),
    "listed values serve as autofill": (
        {
            "p": DATED,
            "c": {"job_id": "{date}_{x}", "depends_on": {"app_name": ["p"], "x": ["a", "b"]}},
        },
        {"c/1_a": {"default": "p/1"}, "c/1_z": {}},
        {"p/1": "c/1_{a,b}"},
    ),
    "listed values serve as autofill, with an empty list beside them": (
        {
            "p": DATED,
            "c": {
                "job_id": "{date}_{x}",
                "autofill_values": {"x": []},
                "depends_on": {"app_name": ["p"], "x": ["a", "b"]},
            },
        },
        {"c/1_a": {"default": "p/1"}, "c/1_z": {}},
        {"p/1": "c/1_{a,b}"},
    ),
    "values that nobody lists": (
        {
            "p": DATED,
            "c": {
                "job_id": "{date}_{x}",
                "autofill_values": {"x": []},
                "depends_on": {"app_name": ["p"]},
            },
        },
        {"c/1_a": {}},
        {"p/1": ""},
    ),
    "a list wins over autofill": (
        {
            "p": DATED,
            "c": {
                "job_id": "{date}_{x}",
                "autofill_values": {"x": ["a", "b"]},
                "depends_on": {"app_name": ["p"], "x": ["c"]},
            },
        },
        {"c/1_a": {}, "c/1_c": {"default": "p/1"}},
        {"p/1": "c/1_c"},
    ),
    "the parent's own autofill says which are needed": (
        {
            "p": {"job_id": "{date}_{x}", "autofill_values": {"x": [1, 2]}},
            "c": {"job_id": "{date}", "depends_on": {"app_name": ["p"], "date": [20150101]}},
        },
        {"c/20150101": {"default": "p/20150101_{1,2}"}, "c/20150102": {}},
        {"p/20150101_1": "c/20150101", "p/20150101_3": "", "p/20150102_1": ""},
    ),
    "parents by key": (
        {
            "p": {"job_id": "{date}_{x}"},
            "c": {
                "job_id": "{date}_{t}",
                "autofill_values": {"t": ["T"]},
                "depends_on": {"app_name": ["p"], "job_id": ["1_a", "2_b"], "t": ["T"]},
            },
        },
        {"c/1_T": {"default": "p/1_a p/2_b"}, "c/5_T": {}},
        {"p/1_a": "c/{1,2}_T", "p/3_a": ""},
    ),
    "parents by key for every child that the group lists": (
        {
            "p": {"job_id": "{region}"},
            "c": {
                "job_id": "{date}",
                "depends_on": {"app_name": ["p"], "job_id": ["eu", "us"], "date": [1, 5]},
            },
        },
        {"c/1": {"default": "p/{eu,us}"}, "c/2": {}},
        {"p/eu": "c/{1,5}", "p/asia": ""},
    ),
    "a number listed makes a number of the key": (
        {
            "p": {"job_id": "{date}_{q}"},
            "c": {"job_id": "{date}", "depends_on": {"app_name": ["p"], "q": [1]}},
        },
        {"c/1": {"default": "p/1_1"}},
        {"p/1_1": "c/1", "p/1_01": "c/1"},
    ),
    "two parents, each with a part of the child's identifiers": (
        {
            "p": {"job_id": "{date}_{x}"},
            "q": {"job_id": "{date}_{t}"},
            "c": {
                "job_id": "{date}_{x}_{t}",
                "autofill_values": {"x": ["a", "b"], "t": ["u", "v"]},
                "depends_on": {"app_name": ["p", "q"]},
            },
        },
        {"c/1_a_u": {"default": "p/1_a q/1_u"}},
        {"p/1_a": "c/1_a_{u,v}", "p/1_zz": "", "q/1_u": "c/1_{a,b}_u"},
    ),
    "a parent named twice counts once": (
        {
            "a": {"job_id": "{date}_{x}"},
            "c": {
                "job_id": "{date}",
                "depends_on": {"g": [{"app_name": ["a"], "x": [1, 2]}, {"app_name": ["a"], "x": [2, 3]}]},
            },
        },
        {"c/1": {"g": "a/1_{1,2,3}"}},
        {"a/1_2": "c/1", "a/1_4": ""},
    ),
    "all, of a parent that has it and of one that does not": (
        {
            "p": {"job_id": "{date}_{x}", "autofill_values": {"x": [1, 2]}},
            "q": DATED,
            "c": {"job_id": "{date}", "depends_on": {"app_name": ["p", "q"], "x": "all"}},
        },
        {"c/1": {"default": "p/1_{1,2} q/1"}},
        {"p/1_1": "c/1", "q/1": "c/1"},
    ),
    "all, of two parents with different values, is what both have": (
        {
            "p": {"job_id": "{x}", "autofill_values": {"x": [1, 2]}},
            "q": {"job_id": "{x}", "autofill_values": {"x": [2, 3]}},
            "c": {"job_id": "{x}", "depends_on": {"app_name": ["p", "q"], "x": "all"}},
        },
        {"c/1": {}, "c/2": {"default": "p/{1,2} q/{2,3}"}},
        {"p/1": "c/2", "q/3": "c/2"},
    ),
    "a list of three": (
        {
            "a": DATED,
            "b": DATED,
            "d": DATED,
            "c": {
                "job_id": "{date}",
                "depends_on": {"g": [{"app_name": ["a"]}, {"app_name": ["b"]}, {"app_name": ["d"]}]},
            },
        },
        {"c/1": {"g": "{a,b,d}/1"}},
        {"b/1": "c/1"},
    ),
    "a value that another parent cannot have": (
        {
            "p": {"job_id": "{x}", "identifiers": {"x": ["a", "b"]}},
            "q": {"job_id": "{x}", "identifiers": {"x": "str"}},
            "c": {
                "job_id": "{x}",
                "identifiers": {"x": "str"},
                "depends_on": {"app_name": ["p", "q"]},
            },
        },
        {"c/a": {"default": "{p,q}/a"}, "c/z": {}},
        {"q/a": "c/a", "q/z": ""},
    ),
    "a value with the delimiter, where the parent has no room for it": (
        {
            "p": {"job_id": "{x}_{date}"},
            "c": {"job_id": "{date}_{x}", "depends_on": {"app_name": ["p"]}},
        },
        {"c/1_a": {"default": "p/a_1"}, "c/1_a_b": {}},
        {"p/a_1": "c/1_a", "p/a_b_1": ""},
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_parents_and_children_are_two_readings_of_one_relation(example: str) -> None:
    apps, above, below = EXAMPLES[example]
    catalogue = catalogue_of(apps)
    for job, by_group in above.items():
        (name,) = jobs(job)
        expected = {group: jobs(text) for group, text in by_group.items()}
        assert parents(catalogue, name) == expected, f"parents of {job}"
    for job, text in below.items():
        (name,) = jobs(job)
        assert children(catalogue, name) == jobs(text), f"children of {job}"
