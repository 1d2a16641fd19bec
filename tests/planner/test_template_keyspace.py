"""Keyspace of templates: the jobs that a submission requests, their validity, and their gates."""

from datetime import date, timedelta
from time import perf_counter
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.template_keys import TemplateKeyspace
from tests.planner.definitions import catalogue_of, children, parents

DAILY: dict[str, Any] = {
    "job_id": "{date}_{shop}",
    "identifiers": {"date": "date"},
    "autofill_values": {"shop": ["o", "g"]},
}


def asked(catalogue: Catalogue, app: str, **words: Any) -> list[str]:
    keyspace = TemplateKeyspace(catalogue)
    return list(keyspace.expand(catalogue.app(app), Submission(app=app, **words)))


class TestExpanding:
    def test_named_keys_become_canonical_and_unique(self) -> None:
        catalogue = catalogue_of({"a": {"job_id": "{n}_{day}", "identifiers": {"n": "int", "day": "date"}}})
        keys = ("007_20140601", "7_2014-06-01", "8_20140601")
        assert asked(catalogue, "a", keys=keys) == ["7_20140601", "8_20140601"]
        assert asked(catalogue, "a", key="+7_20140601") == ["7_20140601"]

    def test_without_keys_the_definition_enumerates_the_jobs(self) -> None:
        catalogue = catalogue_of(
            {"a": {"job_id": "{t}_{n}", "autofill_values": {"t": ["x", "y"], "n": "1:4:2"}}}
        )
        assert asked(catalogue, "a") == ["x_1", "x_3", "y_1", "y_3"]

    def test_an_app_with_groups_enumerates_the_jobs_of_its_groups(self) -> None:
        catalogue = catalogue_of(
            {
                "p": {"job_id": "{day}", "autofill_values": {"day": [1]}},
                "c": {
                    "job_id": "{day}_{t}",
                    "autofill_values": {"day": [1], "t": ["unused"]},
                    "depends_on": {
                        "one": {"app_name": ["p"], "t": ["a", "b"]},
                        "other": {"app_name": ["p"], "t": ["b", "c"]},
                    },
                },
            }
        )
        assert asked(catalogue, "c") == ["1_a", "1_b", "1_c"]

    @pytest.mark.parametrize("autofill", [{}, {"day": []}])
    def test_without_keys_every_identifier_needs_values(self, autofill: dict[str, list[int]]) -> None:
        catalogue = catalogue_of(
            {"a": {"job_id": "{day}_{t}", "autofill_values": {"t": ["x"], **autofill}}},
        )
        with pytest.raises(BadRequest, match="no values for day"):
            asked(catalogue, "a")

    @pytest.mark.parametrize(
        ("start", "end", "expected"),
        [
            ("2024-02-28", "20240301", "28_g 28_o 29_g 29_o 01_g 01_o"),
            ("2024-03-01", "2024-03-01", "01_g 01_o"),
        ],
    )
    def test_start_and_end_select_days_and_the_definition_lists_the_rest(
        self, start: str, end: str, expected: str
    ) -> None:
        catalogue = catalogue_of({"a": DAILY})
        keys = asked(catalogue, "a", start=start, end=end)
        assert [key[6:] for key in keys] == expected.split()
        assert keys == sorted(keys)

    def test_days_that_the_definition_does_not_list_are_left_out(self) -> None:
        listed = {**DAILY["autofill_values"], "date": ["2024-01-02", "2024-01-05"]}
        catalogue = catalogue_of({"a": DAILY | {"autofill_values": listed}})
        found = asked(catalogue, "a", start="2024-01-01", end="2024-01-04")
        assert found == ["20240102_g", "20240102_o"]
        with pytest.raises(BadRequest, match="a has no job on any of these days"):
            asked(catalogue, "a", start="2024-01-03", end="2024-01-04")

    def test_days_are_limited_to_those_of_the_groups(self) -> None:
        """One group is for two listed days. In the other one, the day is that of the parent."""
        groups = {
            "old": {"app_name": ["p"], "date": ["2024-01-01", "2024-01-02"], "shop": ["g"]},
            "new": {"app_name": ["p"], "shop": ["o"]},
        }
        apps = {"p": DAILY, "a": DAILY | {"depends_on": groups}}
        found = asked(catalogue_of(apps), "a", start="2024-01-02", end="2024-01-03")
        assert found == ["20240102_g", "20240102_o", "20240103_o"]

    @given(st.dates(date(1990, 1, 1), date(2030, 1, 1)), st.integers(0, 400))
    def test_each_day_from_start_to_end_is_requested_once(self, first: date, more: int) -> None:
        last = first + timedelta(days=more)
        catalogue = catalogue_of({"a": {"job_id": "{day}", "identifiers": {"day": "date"}}})
        found = asked(catalogue, "a", start=str(first), end=f"{last:%Y%m%d}")
        assert found == [f"{first + timedelta(days=nth):%Y%m%d}" for nth in range(more + 1)]

    @pytest.mark.parametrize(
        ("app", "start", "end", "what"),
        [
            ("none", "2024-01-01", "2024-01-02", "select days, and none of its identifiers is a date"),
            ("two", "2024-01-01", "2024-01-02", r"it has several dates \(since, until\)"),
            ("one", "2024-01", "2024-02", "'2024-01' is not a day"),
            ("one", "2024-01-02", "2024-01-01", "ends, on 2024-01-01, before it starts"),
            ("open", "2024-01-01", "2024-01-02", "no values for shop"),
            ("one", "1000-01-01", "9999-12-31", "one submission may request 1,000,000"),
        ],
    )
    def test_a_span_that_selects_no_jobs_is_refused(self, app: str, start: str, end: str, what: str) -> None:
        catalogue = catalogue_of(
            {
                "none": {"job_id": "{n}", "autofill_values": {"n": [1]}},
                "two": {"job_id": "{since}_{until}", "identifiers": {"since": "date", "until": "date"}},
                "one": DAILY,
                "open": {"job_id": "{date}_{shop}", "identifiers": {"date": "date"}},
            }
        )
        with pytest.raises(BadRequest, match=what):
            asked(catalogue, app, start=start, end=end)

    def test_more_jobs_than_the_limit_are_refused(self) -> None:
        catalogue = catalogue_of({"a": {"job_id": "{n}", "autofill_values": {"n": "0:100000000"}}})
        with pytest.raises(BadRequest, match="100,000,000 jobs; one submission may request 1,000,000"):
            asked(catalogue, "a")
        assert asked(catalogue, "a", key="99999999") == ["99999999"]

    @pytest.mark.parametrize(
        "words",
        [
            {"work_ids": [1]},
            {"start": "2024-01-01", "end": "2024-01-02"},
            {"mode": "offline"},
            {"branch": "b"},
        ],
    )
    def test_options_of_other_keyspaces_are_refused(self, words: dict[str, Any]) -> None:
        catalogue = catalogue_of({"a": {"job_id": "{n}", "autofill_values": {"n": [1]}}})
        with pytest.raises(BadRequest, match=" and ".join(words)):
            asked(catalogue, "a", **words)

    def test_a_key_that_does_not_fit_is_refused_with_an_example_of_a_valid_key(self) -> None:
        catalogue = catalogue_of(
            {"app2": {"job_id": "{date}_{client_id}", "identifiers": {"date": "date", "client_id": "int"}}}
        )
        with pytest.raises(BadKey) as caught:
            asked(catalogue, "app2", key="20149606_11")
        assert "'20149606_11' is not a key of app2: at date, '20149606' is not a day" in caught.value.what
        assert caught.value.where == "app2, whose template is {date}_{client_id}"
        assert caught.value.advice == "Write it like 20140601_7"


class TestGates:
    def test_groups_are_alternatives_in_their_order(self) -> None:
        catalogue = catalogue_of(
            {
                "a": {"job_id": "{n}"},
                "b": {"job_id": "{n}"},
                "c": {
                    "job_id": "{n}",
                    "depends_on": {"second_best": {"app_name": ["b"]}, "best": {"app_name": ["a"]}},
                },
            }
        )
        needed = parents(catalogue, JobName("c", "1"))
        assert list(needed.items()) == [("second_best", [JobName("b", "1")]), ("best", [JobName("a", "1")])]

    def test_a_need_contains_the_required_outcome_and_the_strictest_one_counts(self) -> None:
        catalogue = catalogue_of(
            {
                "a": {"job_id": "{n}"},
                "b": {"job_id": "{n}"},
                "c": {
                    "job_id": "{n}",
                    "depends_on": {
                        "g": [
                            {"app_name": ["a", "b"], "when": "finished"},
                            {"app_name": ["b"], "when": "failed"},
                        ]
                    },
                },
            }
        )
        (gate,) = TemplateKeyspace(catalogue).gates(catalogue.app("c"), "1")
        assert [(need.parent.app, need.when) for need in gate.needs] == [("a", "finished"), ("b", "failed")]

    def test_a_key_is_unmatched_only_if_its_app_has_groups_and_none_fits(self) -> None:
        catalogue = catalogue_of(
            {"a": {"job_id": "{n}"}, "c": {"job_id": "{n}", "depends_on": {"app_name": ["a"], "n": [1]}}}
        )
        keyspace = TemplateKeyspace(catalogue)
        assert keyspace.unmatched(catalogue.app("c"), "2")
        assert not keyspace.unmatched(catalogue.app("c"), "1")
        assert not keyspace.unmatched(catalogue.app("a"), "2")


class TestFilters:
    APPS: ClassVar[dict[str, Any]] = {
        "listed": {"job_id": "{n}_{t}", "valid_if_or": {"n": [1], "t": ["x"]}},
        "asked": {
            "job_id": "{n}_{t}",
            "identifiers": {"n": "int"},
            "valid_if_or": {"_func": "tests.planner.definition_functions:is_even", "t": ["x"]},
        },
        "open": {"job_id": "{n}_{t}"},
    }

    @pytest.mark.parametrize(
        ("app", "key", "passes"),
        [
            ("listed", "1_y", True),
            ("listed", "01_y", True),
            ("listed", "2_x", True),
            ("listed", "2_y", False),
            ("asked", "2_y", True),
            ("asked", "3_x", True),
            ("asked", "3_y", False),
            ("open", "3_y", True),
        ],
    )
    def test_a_job_passes_by_any_listed_value_or_by_the_function(
        self, app: str, key: str, passes: bool
    ) -> None:
        catalogue = catalogue_of(self.APPS)
        assert TemplateKeyspace(catalogue).passes(catalogue.app(app), key) is passes

    def test_a_function_that_raises_is_named(self) -> None:
        catalogue = catalogue_of(self.APPS)
        with pytest.raises(BadRequest, match="is_even of asked raised ZeroDivisionError for 0_y"):
            TemplateKeyspace(catalogue).passes(catalogue.app("asked"), "0_y")


class TestCost:
    def test_ten_thousand_children_are_found_quickly(self) -> None:
        catalogue = catalogue_of(
            {
                "p": {"job_id": "{day}"},
                "c": {
                    "job_id": "{day}_{n}",
                    "autofill_values": {"n": "0:10000"},
                    "depends_on": {"app_name": ["p"]},
                },
            }
        )
        started = perf_counter()
        found = children(catalogue, JobName("p", "20140601"))
        assert len(found) == 10_000
        assert perf_counter() - started < 0.5  # About 0.05 s on a desktop. Slow machines may take longer.

    def test_a_huge_range_is_not_enumerated(self) -> None:
        catalogue = catalogue_of(
            {
                "p": {"job_id": "{n}"},
                "c": {
                    "job_id": "{n}",
                    "autofill_values": {"n": "0:100000000:3"},
                    "depends_on": {"app_name": ["p"]},
                },
            }
        )
        assert children(catalogue, JobName("p", "99999999")) == [JobName("c", "99999999")]
        assert children(catalogue, JobName("p", "99999998")) == []
        assert parents(catalogue, JobName("c", "99999999")) == {"default": [JobName("p", "99999999")]}
