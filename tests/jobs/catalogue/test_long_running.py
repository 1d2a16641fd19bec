"""``is_long_running``: work that runs until it is stopped, and the states of it that other apps can need."""

from typing import Any

import pytest

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.app import App
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.retry_delay import RetryRule
from tests.jobs.catalogue import faults_of_work
from tests.planner.definitions import faults_of
from tests.world import catalogue_of

FAR = {"job_id": "{x}", "job_type": f"{faults_of_work.__name__}:Grid", "is_long_running": True}
SHORT = {"job_id": "{x}", "bash_cmd": "true"}


def _load(**apps: dict[str, Any]) -> Catalogue:
    return catalogue_of(apps)


def _child(**needs: Any) -> Catalogue:
    return _load(far=FAR, near=SHORT, c={**SHORT, "depends_on": needs})


def _needs(app: App) -> list[tuple[tuple[str, ...], str]]:
    return [(parents.apps, parents.when) for group in app.groups for parents in group.all_of]


def _fault(**apps: dict[str, Any]) -> str:
    ((_, fault),) = faults_of(apps)
    return fault


def test_long_running_work_has_no_end_and_is_restarted_indefinitely() -> None:
    far = _load(far=FAR).app("far")
    assert far.unbounded
    assert far.policy == Policy(
        max_fails=2**31 - 1, retry=RetryRule(rule="exponential", delay_s=1, delay_s_max=300)
    )


def test_max_fails_and_retry_of_the_definition_override_these_defaults() -> None:
    words = {"max_fails": 3, "retry": {"rule": "fixed", "seconds": 7}}
    assert _load(far={**FAR, **words}).app("far").policy == Policy(
        max_fails=3, retry=RetryRule(rule="fixed", delay_s=7)
    )


def test_is_long_running_false_has_no_effect() -> None:
    near = _load(near={**SHORT, "is_long_running": False}).app("near")
    assert (near.unbounded, near.policy) == (False, Policy())


def test_is_long_running_changes_the_digest_of_an_app() -> None:
    ordinary = {word: value for word, value in FAR.items() if word != "is_long_running"}
    assert _load(far=FAR).app("far").digest != _load(far=ordinary).app("far").digest


# Children of a long-running app.


def test_a_child_of_a_long_running_app_needs_it_to_run() -> None:
    assert _needs(_child(app_name=["far"]).app("c")) == [(("far",), "running")]
    assert _needs(_child(app_name=["near"]).app("c")) == [(("near",), "succeeded")]


def test_each_of_several_parents_is_needed_in_its_own_state() -> None:
    found = _needs(_child(app_name=["far", "near"], x=["1", "2"]).app("c"))
    assert sorted(found) == [(("far",), "running"), (("near",), "succeeded")]


@pytest.mark.parametrize("when", ["running", "failed"])
def test_a_child_may_need_a_long_running_app_to_run_or_to_fail(when: str) -> None:
    assert _needs(_child(app_name=["far"], when=when).app("c")) == [(("far",), when)]


@pytest.mark.parametrize("when", ["succeeded", "finished"])
def test_needing_a_long_running_app_to_end_is_a_fault(when: str) -> None:
    fault = _fault(far=FAR, c={**SHORT, "depends_on": {"app_name": ["far"], "when": when}})
    assert f"when: {when}: far is_long_running, so that never happens" in fault


# Other faults.


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ({**SHORT, "is_long_running": True}, "is_long_running: an app of job_type bash runs in a worker"),
        ({**FAR, "is_long_running": "yes"}, "is_long_running: 'yes' is neither true nor false"),
        ({**FAR, "timeout": "1h"}, "timeout: the app is_long_running, so its jobs end when they are stopped"),
    ],
)
def test_is_long_running_with_unsuitable_options_is_a_fault(words: dict[str, Any], fault: str) -> None:
    assert fault in _fault(a=words)


def test_max_lag_for_a_long_running_app_is_a_fault() -> None:
    fault = _fault(far=FAR, c={**SHORT, "depends_on": {"app_name": ["far"], "max_lag": "6h"}})
    assert "max_lag: far is_long_running, so it never succeeds" in fault


def test_a_chunk_cannot_depend_on_a_long_running_app() -> None:
    far = {"chunk_size": 10, "job_type": FAR["job_type"], "is_long_running": True}
    near = {"chunk_size": 10, "bash_cmd": "true", "dependencies": [{"job_type": "far", "max_lag": 0}]}
    assert "dependencies: far is_long_running, so its work IDs" in _fault(far=far, near=near)


def test_a_function_for_parents_of_both_kinds_must_set_when() -> None:
    func = "tests.planner.two_ways:Yesterday"
    fault = _fault(
        far=FAR, near=SHORT, c={**SHORT, "depends_on": {"_func": func, "app_name": ["far", "near"]}}
    )
    assert "far never ends and the other apps do; write when" in fault
