"""Relations with several parents or mappings: which of them a job needs, and which values they must have in common."""

from tests.planner.definitions import DATED, Relation

RELATIONS_OF_GROUPS: dict[str, Relation] = {
    "alternatives, the second a list": (
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
            "otherPreprocess/20120101_c1": "modelBuild3/c1_{purchaseRevenue,purchaseQuantity}",
            "otherPreprocess/20140601_c1": "",
        },
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
    "all values, of a parent with the identifier and a parent without it": (
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
}
