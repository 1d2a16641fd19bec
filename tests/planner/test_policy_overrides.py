"""Options of a policy that a submission may set, and their effect on the apps that it reaches."""

from collections.abc import Mapping
from typing import Any

import pytest

from sluice.jobs.catalogue.fields.policy_options import POLICY_WORDS
from sluice.jobs.catalogue.fields.submitter_options import OPEN
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import Submission
from sluice.jobs.policy.policy import Policy
from sluice.planner.bubble_up.walk import Walk, require_fit, terms_of
from tests.planner.definitions import catalogue_of

#: A value for each option that is closed unless the app opens it for its submitters.
CLOSED: Mapping[str, Any] = {
    "env": {"BASH_ENV": "own.sh"},
    "env_from_os": ["HOME"],
    "cwd": "/",
    "limits": {"memory": "64GB"},
    "concurrency": 100,
    "retry_on": ["acme.errors.ApiDown"],
    "never_retry": ["acme.errors.CardStolen"],
    "submitters_may_set": ["env"],
}
ALLOWED: Mapping[str, Any] = {
    "priority": 9,
    "max_fails": 1,
    "max_timeouts": 1,
    "timeout": "1m",
    "start_after": "2026-01-01T00:00:00Z",
    "end_before": "2027-01-01T00:00:00Z",
    "retry": {"rule": "fixed", "seconds": 5},
}


def _app(**words: Any) -> App:
    return catalogue_of({"a": {"job_id": "{n}", "bash_cmd": "true", **words}}).app("a")


def test_every_option_is_either_open_or_closed() -> None:
    assert POLICY_WORDS.keys() == OPEN | CLOSED.keys()


@pytest.mark.parametrize("option", CLOSED)
def test_a_submission_that_sets_a_closed_option_is_refused_with_the_reason(option: str) -> None:
    with pytest.raises(BadRequest, match=f"policy: {option}: only the app's definition may set it"):
        require_fit(_app(), {option: CLOSED[option], "priority": 1})


def test_a_mode_and_a_submission_share_one_size_limit() -> None:
    app = _app(submitters_may_set=["env", "cwd"])
    mode, asked = {"env": {"A": "x" * 4000}}, {"cwd": "y" * 5000}
    require_fit(app, asked)
    with pytest.raises(BadRequest, match="Its policy has 9025 bytes; at most 8192 are accepted"):
        require_fit(app, asked, mode)


@pytest.mark.parametrize("option", [option for option in CLOSED if option != "submitters_may_set"])
def test_an_app_can_open_an_option_for_its_submitters(option: str) -> None:
    app, asked = _app(submitters_may_set=[option]), {option: CLOSED[option]}
    require_fit(app, asked)
    terms = terms_of(app, asked)
    assert terms.overrides == asked
    assert terms.policy != app.policy


@pytest.mark.parametrize("option", ALLOWED)
def test_any_submission_may_set_how_often_how_long_and_when_jobs_are_tried(option: str) -> None:
    app, asked = _app(timeout="10m"), {option: ALLOWED[option]}
    require_fit(app, asked)
    assert terms_of(app, asked).overrides == asked


@pytest.mark.parametrize("timeout", ["11m", None, 600.5])
def test_a_submission_may_shorten_the_timeout_of_an_app_and_not_lengthen_it(timeout: Any) -> None:
    app = _app(timeout="10m")
    require_fit(app, {"timeout": "10m"})
    with pytest.raises(BadRequest, match="timeout: it is longer than the 600 s that the app allows"):
        require_fit(app, {"timeout": timeout})
    require_fit(_app(), {"timeout": timeout})
    require_fit(_app(timeout="10m", submitters_may_set=["timeout"]), {"timeout": timeout})


def test_apps_that_a_submission_reaches_keep_their_own_terms_for_closed_options() -> None:
    words = {"job_id": "{n}", "bash_cmd": "true"}
    apps = {
        "root": {**words, "submitters_may_set": ["env"], "depends_on": {"app_name": ["up"]}},
        "up": {**words, "timeout": "1m", "env": {"A": "own"}},
    }
    asked = {"env": {"A": "theirs"}, "timeout": "2m", "priority": 3}
    walk = Walk(catalogue_of(apps), 1, Submission(app="root", key="1", policy=asked))
    while not walk.arrived:
        walk.step({})
    planned = {job.name.app: job for job in walk.jobs()}
    assert planned["root"].overrides == asked
    assert planned["up"].overrides == {"priority": 3}
    assert planned["up"].policy == Policy(priority=3, timeout_s=60.0, env={"A": "own"})


def test_a_mode_of_the_app_may_set_closed_options_and_a_submission_may_not() -> None:
    app, mode = _app(timeout="10m"), {"env": {"A": "own"}, "timeout": "1h"}
    require_fit(app, {"timeout": "30m"}, mode)
    assert terms_of(app, {"timeout": "30m"}, mode).overrides == {"env": {"A": "own"}, "timeout": "30m"}
    with pytest.raises(BadRequest, match="env: only the app's definition may set it"):
        require_fit(app, {"env": {"A": "theirs"}}, mode)
