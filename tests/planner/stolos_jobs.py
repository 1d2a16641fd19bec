"""Expected relations, filters, plans and enumerations of the apps in ``stolos_apps.json``."""

from pathlib import Path

STOLOS_APPS = Path(__file__).parent / "stolos_apps.json"

#: Job, its parents by group, its children.
JOBS: list[tuple[str, dict[str, str], str]] = [
    ("app1/20140606_1111_profile", {}, "{app2,app4}/20140606_1111_profile"),
    (
        "app1/20140601_876_profile",
        {},
        "{app2,app4}/20140601_876_profile depends_on1/20140601_{testID1,testID3}",
    ),
    ("app1/20140601_876_purchase", {}, "{app2,app4}/20140601_876_purchase depends_on1/20140601_testID1"),
    ("app1/20140601_999_purchase", {}, "{app2,app4}/20140601_999_purchase depends_on1/20140601_testID1"),
    ("app1/20140601_444_profile", {}, "{app2,app4}/20140601_444_profile depends_on1/20140601_testID3"),
    ("app1/20140601_101_profile", {}, "{app2,app4}/20140601_101_profile topological_sort1/20140601_testID1"),
    ("app1/20140715_9_profile", {}, "{app2,app4}/20140715_9_profile fanout1/20140715_testID{1,2,3}"),
    (
        "app1/20140715_555_profile",
        {},
        (
            "{app2,app4}/20140715_555_profile fanout1/20140715_testID{1,2,3}"
            " fanout1/{20140714,20140715}_testID{5,6}"
        ),
    ),
    (
        "app1/20140714_555_profile",
        {},
        (
            "{app2,app4}/20140714_555_profile fanout1/20140714_testID{1,2,3}"
            " fanout1/{20140714,20140715}_testID{5,6}"
        ),
    ),
    ("app1/20140716_555_profile", {}, "{app2,app4}/20140716_555_profile fanout1/20140716_testID{1,2,3}"),
    (
        "app2/20140601_876_profile",
        {"default": "app1/20140601_876_profile"},
        "app4/20140601_876_profile depends_on1/20140601_testID1",
    ),
    ("app4/20140606_1111_profile", {"default": "app{1,2,3}/20140606_1111_profile"}, ""),
    ("app3/20140606_1111_profile", {}, "app4/20140606_1111_profile"),
    ("bash1/20140601_9899_purchase", {}, "bash2/20140601_9899_purchase"),
    ("bash2/20140501_876_profile", {"default": "bash1/20140501_876_profile"}, ""),
    (
        "bash2/20140601_101_profile",
        {"default": "bash1/20140601_101_profile"},
        "topological_sort1/20140601_testID1",
    ),
    ("depends_on2/20140601_876_profile", {}, "depends_on1/20140601_testID2"),
    ("depends_on2/20140601_876_purchase", {}, ""),
    (
        "depends_on1/20140601_testID1",
        {"depgrp1": "{app1,app2}/20140601_{876,1011,9020}_{profile,purchase} app1/20140601_999_purchase"},
        "topological_sort1/20140601_testID1",
    ),
    ("depends_on1/20140601_testID2", {"depgrp2": "depends_on2/20140601_{876,1011,9020}_profile"}, ""),
    (
        "depends_on1/20140601_testID3",
        {"depgrp3": "app1/20140601_876_profile", "depgrp4": "app1/20140601_444_profile"},
        "",
    ),
    ("depends_on1/20140602_testID1", {}, ""),
    ("depends_on1/20140101_999999", {}, ""),
    ("depends_on1/20140601_999", {}, ""),
    ("fanout1/20140715_testID1", {"dep1": "app1/20140715_{555,9}_profile"}, ""),
    ("fanout1/20140715_testID5", {"dep2": "app1/{20140715,20140714}_555_profile"}, ""),
    ("fanout1/20140714_testID6", {"dep2": "app1/{20140715,20140714}_555_profile"}, ""),
    ("fanout1/20140801_testID2", {"dep1": "app1/20140801_{555,9}_profile"}, ""),
    ("fanout1/20140716_testID5", {}, ""),
    ("fanout1/20140715_8", {}, ""),
    (
        "topological_sort1/20140601_testID1",
        {"dep1": "depends_on1/20140601_testID1 {app1,app2,bash2}/20140601_{101,102}_profile"},
        "",
    ),
    ("topological_sort1/20140602_testID1", {}, ""),
    ("topological_sort1/20140601_testID2", {}, ""),
    ("valid1/20151015_1", {}, "{valid3,valid3b}/20151015_{101,102} valid4/20151015_101"),
    ("valid1/20151015_2", {}, "{valid3,valid3b}/20151015_{101,102} valid4/20151015_101"),
    ("valid1/20151015_3", {}, ""),
    ("valid1/20151015_3-x", {}, ""),
    ("valid2/20151015_101", {}, "{valid3,valid3b,valid4}/20151015_101"),
    ("valid2/20151015_102", {}, "{valid3,valid3b}/20151015_102"),
    ("valid2/20151015_103", {}, ""),
    ("valid3/20151015_101", {"default": "valid1/20151015_{1,2} valid2/20151015_101"}, ""),
    ("valid3/20151015_102", {"default": "valid1/20151015_{1,2} valid2/20151015_102"}, ""),
    (
        "valid3b/20151015_102",
        {"another_way_to_state_same_thing": "valid1/20151015_{1,2} valid2/20151015_102"},
        "",
    ),
    ("valid3/20151015_100", {}, ""),
    ("valid3/20151015_103", {}, ""),
    ("valid3b/20151015_100", {}, ""),
    ("valid4/20151015_100", {}, ""),
    ("valid4/20151015_102", {}, ""),
    ("valid4/20151015_101", {"default": "valid1/20151015_{1,2} valid2/20151015_101"}, ""),
    ("all_test1/20140601_1", {}, "all_test3/20140601_{1,2} {all_test4,all_test4b,all_test5}/20140601"),
    ("all_test1/20140601_2", {}, "all_test3/20140601_{1,2} {all_test4,all_test4b,all_test5}/20140601"),
    ("all_test1/20140601_0", {}, ""),
    ("all_test2/20140601_0", {}, ""),
    ("all_test2/20140601_1", {}, ""),
    ("all_test2/20140601_2", {}, "{all_test4,all_test4b}/20140601"),
    ("all_test2/20140601_3", {}, "{all_test4,all_test4b}/20140601"),
    ("all_test2/20140601_4", {}, "all_test5/20140601"),
    ("all_test3/20140601_1", {"default": "all_test1/20140601_{1,2}"}, ""),
    ("all_test3/20140601_2", {"default": "all_test1/20140601_{1,2}"}, ""),
    ("all_test3/20140601_0", {}, ""),
    ("all_test3/20140601_3", {}, ""),
    ("all_test4/20140601", {"default": "all_test1/20140601_{1,2} all_test2/20140601_{2,3}"}, ""),
    ("all_test4b/20140601", {"both": "all_test1/20140601_{1,2} all_test2/20140601_{2,3}"}, ""),
    ("all_test5/20140601", {"both_apps": "all_test1/20140601_{1,2} all_test2/20140601_4"}, ""),
    ("autofill1/10", {}, "autofill3/2015010{1,2,3,4} autofill_getparents/20150101_10_10"),
    ("autofill1/12", {}, "autofill3/2015010{1,2,3,4}"),
    ("autofill1/18", {}, "autofill3/2015010{1,2,3,4}"),
    ("autofill1/9", {}, ""),
    ("autofill1/11", {}, ""),
    ("autofill1/20", {}, ""),
    ("autofill2/20150101", {}, "autofill3/20150101 autofill_getparents/20150101_10_10"),
    ("autofill2/20150104", {}, "autofill3/20150104"),
    ("autofill2/20150105", {}, ""),
    ("autofill2/20150128", {}, ""),
    ("autofill3/20150101", {"default": "autofill1/{10,12,14,16,18} autofill2/20150101"}, ""),
    ("autofill3/20150104", {"default": "autofill1/{10,12,14,16,18} autofill2/20150104"}, ""),
    ("autofill3/20150105", {}, ""),
    ("autofill3/20150128", {}, ""),
    ("autofill_getparents/20150101_10_10", {"default": "autofill1/10 autofill2/20150101"}, ""),
    ("autofill_getparents/20150102_10_10", {}, ""),
    ("autofill_getparents/20150101_12_10", {}, ""),
    ("autofill_getparents/20150101_10_11", {}, ""),
    ("custom_job_id1/20130101_876_equal2me", {}, ""),
    ("custom_job_id1/20130101_876_a_b_c", {}, ""),
]

#: Job, and whether it passes the filter of its app.
FILTERED: list[tuple[str, bool]] = [
    ("app1/20140606_1111_content", True),
    ("app2/20140606_1111_profile", True),
    ("app2/20140606_1111_content", False),
    ("app2/20140606_1111_profile-x", False),
    ("app3/20140606_1111_profile", True),
    ("app3/20140608_1111_profile", True),
    ("app3/20140606_2222_profile", False),
    ("app3/20140604_1111_profile", False),
]

#: App, and the jobs that its definition enumerates.
ENUMERATED: dict[str, str] = {
    "autofill1": "autofill1/{10,12,14,16,18}",
    "autofill2": "autofill2/2015010{1,2,3,4}",
    "autofill3": "autofill3/2015010{1,2,3,4}",
    "autofill_getparents": "autofill_getparents/20150101_10_10",
}

#: Job, and the number of jobs of each app that run for it if nothing has run before.
JOBS_TO_RUN: dict[str, dict[str, int]] = {
    "app4/20140606_1111_profile": {"app1": 1, "app2": 1, "app3": 1, "app4": 1},
    "depends_on1/20140601_testID1": {"app1": 7, "app2": 6, "depends_on1": 1},
    "depends_on1/20140601_testID3": {"app1": 1, "depends_on1": 1},
    "topological_sort1/20140601_testID1": {
        "app1": 9,
        "app2": 8,
        "bash1": 2,
        "bash2": 2,
        "depends_on1": 1,
        "topological_sort1": 1,
    },
    "autofill3/20150101": {"autofill1": 5, "autofill2": 1, "autofill3": 1},
}
