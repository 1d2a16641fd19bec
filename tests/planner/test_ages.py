"""Maximum ages of inputs in gates, and the apps that must check them."""

from sluice.jobs.model.dependency import Need
from sluice.jobs.model.names import JobName
from sluice.planner.keyspaces.template_keys import TemplateKeyspace
from tests.planner.definitions import catalogue_of

ROOT = {"job_id": "{n}"}


def needs(depends_on: dict[str, object]) -> tuple[Need, ...]:
    apps = {"a": ROOT, "b": ROOT, "c": {"job_id": "{n}", "depends_on": depends_on}}
    catalogue = catalogue_of(apps)
    (gate,) = TemplateKeyspace(catalogue).gates(catalogue.app("c"), "1")
    return gate.needs


def test_a_need_contains_the_maximum_age_of_its_parent() -> None:
    a, b = JobName("a", "1"), JobName("b", "1")
    assert needs({"app_name": ["a", "b"]}) == (Need(a), Need(b))
    assert needs({"app_name": ["a"], "max_lag": "6h"}) == (Need(a, lag_s_max=21_600.0),)
    assert needs({"app_name": ["a"], "max_lag": 0}) == (Need(a, lag_s_max=0.0),)
    mappings = [{"app_name": ["a", "b"], "max_lag": 90}, {"app_name": ["a"], "job_id": ["1"], "max_lag": 60}]
    assert needs({"g": mappings}) == (Need(a, lag_s_max=3600.0), Need(b, lag_s_max=5400.0))


def test_if_a_parent_is_named_with_and_without_max_lag_the_lag_counts() -> None:
    mappings = [
        {"app_name": ["a"], "when": "finished"},
        {"app_name": ["a"], "max_lag": 1},
        {"app_name": ["a"]},
    ]
    assert needs({"g": mappings}) == (Need(JobName("a", "1"), "succeeded", 60.0),)


def test_every_app_below_a_max_lag_must_check_ages() -> None:
    """This includes apps below a function, because a function may name any app. Apps above need not check."""
    catalogue = catalogue_of(
        {
            "top": ROOT,
            "aged": {"job_id": "{n}", "depends_on": {"app_name": ["top"], "max_lag": 1}},
            "below": {"job_id": "{n}", "depends_on": {"app_name": ["aged"]}},
            "beside": {"job_id": "{n}", "depends_on": {"app_name": ["top"]}},
            "far": {"job_id": "{n}", "depends_on": {"_func": "tests.planner.two_ways:PullOnly"}},
        }
    )
    assert {app for app in catalogue if catalogue.minds_age(app)} == {"aged", "below", "far"}
