"""The kind of an identifier's values, declared or inferred."""

from typing import Any

import pytest

from sluice.jobs.errors import BadKey
from sluice.jobs.model.names import JobName
from tests.planner.definitions import catalogue_of, children, parents


def read(apps: dict[str, Any], app: str, key: str) -> dict[str, Any]:
    return catalogue_of(apps).app(app).read_key(key)


class TestInferred:
    def test_an_identifier_is_text_by_default(self) -> None:
        assert read({"a": {"job_id": "{n}"}}, "a", "007") == {"n": "007"}

    @pytest.mark.parametrize("autofill", [[1, 2], "10:20:2", [1, "2"]])
    def test_numeric_values_or_a_range_make_an_identifier_a_number(self, autofill: Any) -> None:
        app = {"job_id": "{n}", "autofill_values": {"n": autofill}}
        assert read({"a": app}, "a", "007") == {"n": 7}
        with pytest.raises(BadKey, match="'x' is not a whole number"):
            read({"a": app}, "a", "x")

    def test_texts_that_look_like_numbers_stay_texts(self) -> None:
        app = {"job_id": "{n}", "autofill_values": {"n": ["1", "2"]}}
        assert read({"a": app}, "a", "007") == {"n": "007"}

    def test_numbers_in_a_filter_make_an_identifier_a_number(self) -> None:
        assert read({"a": {"job_id": "{n}", "valid_if_or": {"n": [7]}}}, "a", "007") == {"n": 7}

    def test_a_range_of_days_makes_an_identifier_a_day(self) -> None:
        app = {"job_id": "{day}", "autofill_values": {"day": "2015-02-27:2015-03-02"}}
        assert [*catalogue_of({"a": app}).app("a").autofill["day"]] == [20150227, 20150228, 20150301]
        assert read({"a": app}, "a", "2015-02-27") == {"day": 20150227}

    def test_a_range_of_days_written_as_numbers_is_numeric(self) -> None:
        app = {"job_id": "{date}", "autofill_values": {"date": "20150101:20150105"}}
        assert [*catalogue_of({"a": app}).app("a").autofill["date"]] == [20150101 + day for day in range(4)]


class TestDeclared:
    def test_a_range_of_a_declared_date_follows_the_calendar(self) -> None:
        app = {
            "job_id": "{day}",
            "identifiers": {"day": "date"},
            "autofill_values": {"day": "20150130:20150203:2"},
        }
        assert [*catalogue_of({"a": app}).app("a").autofill["day"]] == [20150130, 20150201]

    def test_numbers_become_text_if_text_is_declared(self) -> None:
        app = {"job_id": "{n}", "identifiers": {"n": "str"}, "autofill_values": {"n": [1]}}
        catalogue = catalogue_of({"a": app})
        assert [*catalogue.app("a").autofill["n"]] == ["1"]
        assert catalogue.app("a").read_key("01") == {"n": "01"}

    def test_a_declared_list_limits_the_allowed_values(self) -> None:
        app = {"job_id": "{n}_{t}", "identifiers": {"n": [1, 2], "t": ["x", "x_y"]}}
        assert read({"a": app}, "a", "02_x_y") == {"n": 2, "t": "x_y"}
        with pytest.raises(BadKey, match="at n, '3' is none of 1, 2"):
            read({"a": app}, "a", "3_x")

    def test_a_declared_function_converts_or_refuses_the_value(self) -> None:
        app = {
            "job_id": "{t}",
            "identifiers": {"t": "tests.planner.definition_functions:lowered"},
            "autofill_values": {"t": ["A"]},
        }
        catalogue = catalogue_of({"a": app})
        assert [*catalogue.app("a").autofill["t"]] == ["a"]
        assert catalogue.app("a").read_key("ABC") == {"t": "abc"}
        for key in ("none", "false", "raises", "unstable", "list"):
            with pytest.raises(BadKey, match=r"definition_functions:lowered"):
                catalogue.app("a").read_key(key)

    def test_a_declared_function_converts_the_values_of_a_range(self) -> None:
        app = {
            "job_id": "{t}",
            "identifiers": {"t": "tests.planner.definition_functions:padded"},
            "autofill_values": {"t": "8:11"},
        }
        assert [*catalogue_of({"a": app}).app("a").autofill["t"]] == ["008", "009", "010"]


class TestLinked:
    def test_a_declared_kind_applies_to_all_apps_linked_by_depends_on(self) -> None:
        apps = {
            "p": {"job_id": "{day}"},
            "c": {"job_id": "{day}", "depends_on": {"app_name": ["p"]}, "identifiers": {"day": "date"}},
            "g": {"job_id": "{day}_{t}", "autofill_values": {"t": ["x"]}, "depends_on": {"app_name": ["c"]}},
            "stranger": {"job_id": "{day}"},
        }
        assert read(apps, "p", "2014-06-01") == {"day": 20140601}
        assert read(apps, "g", "2014-06-01_x") == {"day": 20140601, "t": "x"}
        assert read(apps, "stranger", "2014-06-01") == {"day": "2014-06-01"}

    def test_an_inferred_kind_applies_to_all_apps_linked_by_depends_on(self) -> None:
        apps = {
            "p": {"job_id": "{n}"},
            "q": {"job_id": "{n}_{m}"},
            "c": {"job_id": "{n}", "depends_on": {"app_name": ["p", "q"], "n": [1], "m": ["1"]}},
        }
        assert read(apps, "p", "07") == {"n": 7}
        assert read(apps, "q", "07_07") == {"n": 7, "m": "07"}

    def test_an_identifier_may_have_different_kinds_in_unlinked_apps(self) -> None:
        apps = {
            "a": {"job_id": "{x}", "autofill_values": {"x": [1]}},
            "b": {"job_id": "{x}", "autofill_values": {"x": ["red"]}},
        }
        assert (read(apps, "a", "07"), read(apps, "b", "07")) == ({"x": 7}, {"x": "07"})

    def test_linked_apps_may_have_comparable_kinds_and_each_checks_its_own(self) -> None:
        apps = {
            "p": {"job_id": "{day}", "identifiers": {"day": "date"}},
            "c": {"job_id": "{day}", "identifiers": {"day": "int"}, "depends_on": {"app_name": ["p"]}},
        }
        catalogue = catalogue_of(apps)
        assert parents(catalogue, JobName("c", "20140601")) == {"default": [JobName("p", "20140601")]}
        assert parents(catalogue, JobName("c", "20140699")) == {}
        assert children(catalogue, JobName("p", "2014-06-01")) == [JobName("c", "20140601")]

    def test_all_spellings_of_a_key_result_in_one_job_name(self) -> None:
        apps = {
            "a": {"job_id": "{n}", "identifiers": {"n": "int"}},
            "b": {"job_id": "{n}", "depends_on": {"app_name": ["a"]}},
        }
        catalogue = catalogue_of(apps)
        assert parents(catalogue, JobName("b", "007")) == {"default": [JobName("a", "7")]}
        assert children(catalogue, JobName("a", "007")) == [JobName("b", "7")]
