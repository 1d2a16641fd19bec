"""Relations with one parent: the values of an identifier that a group, an app or a key determines."""

from tests.planner.definitions import DATED, Relation

RELATIONS_OF_VALUES: dict[str, Relation] = {
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
    "all values, of which the child can have but one": (
        {
            "p": {"job_id": "{y}_{z}", "autofill_values": {"z": ["u", "u_v"]}},
            "c": {
                "job_id": "{z}_{y}",
                "autofill_values": {"z": ["u"]},
                "depends_on": {"app_name": ["p"], "z": "all"},
            },
        },
        {"c/u_1": {"default": "p/1_{u,u_v}"}},
        {"p/1_u": "c/u_1", "p/1_u_v": "c/u_1"},
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
    "values that no definition lists": (
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
    "the parent's own autofill determines the needed values": (
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
    "a value with the delimiter, where the parent has no room for it": (
        {
            "p": {"job_id": "{x}_{date}"},
            "c": {"job_id": "{date}_{x}", "depends_on": {"app_name": ["p"]}},
        },
        {"c/1_a": {"default": "p/a_1"}, "c/1_a_b": {}},
        {"p/a_1": "c/1_a", "p/a_b_1": ""},
    ),
}
