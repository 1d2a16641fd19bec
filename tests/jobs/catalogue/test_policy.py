"""The options of a policy."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.jobs.catalogue import Catalogue, parse_policy
from sluice.jobs.catalogue.fields.written_policy import changed_options
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.model.request_limits import POLICY_BYTES_MAX
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.policy.retry_delay import RetryRule
from tests.world import catalogue_of


def test_options_of_a_policy_set_their_fields() -> None:
    words: dict[str, Any] = {
        "max_fails": 2,
        "max_timeouts": 1,
        "max_losses": 0,
        "timeout": "1m30s",
        "start_after": "2026-01-01T02:00:00+02:00",
        "end_before": 1767312000,
        "random_start_offset": "250ms",
        "retry": {"rule": "exponential", "seconds": "2s", "factor": 3, "max_seconds": 60},
        "priority": -5,
        "fail_on": "either",
        "env": {"A": "1"},
        "env_from_os": ["HOME"],
        "cwd": "here",
        "limits": {"cpu": "10m", "memory": "2GB", "file_size": "1MiB", "processes": 64, "open_files": 256},
        "keep_output": True,
        "submitters_may_set": ["env", "timeout"],
    }
    assert Policy().overridden(parse_policy(words)) == Policy(
        max_fails=2,
        max_timeouts=1,
        max_losses=0,
        timeout_s=90.0,
        start_after=datetime(2026, 1, 1, tzinfo=UTC),
        end_before=datetime(2026, 1, 2, tzinfo=UTC),
        random_start_offset_s=0.25,
        retry=RetryRule(rule="exponential", delay_s=2.0, factor=3.0, delay_s_max=60.0),
        priority=-5,
        fail_on="either",
        env={"A": "1"},
        env_from_os=("HOME",),
        cwd="here",
        limits=Allowance(
            cpu_s=600.0, memory_bytes=2 * 10**9, file_size_bytes=2**20, processes=64, open_files=256
        ),
        keep_output=True,
        submitters_may_set=("env", "timeout"),
    )


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"max_fails": 2, "timeout": "90s", "random_start_offset": "250ms", "due_within": "4h"},
        {"start_after": "30s", "end_before": "2026-01-02T00:00:00+00:00", "priority": -5},
        {"retry": {"rule": "exponential", "seconds": 2, "factor": 1.5, "max_seconds": 60}},
        {"concurrency": 3},
        {"concurrency": {"pool": "warehouse", "limit": 5}},
        {"limits": {"cpu": "10m", "memory": "2GB", "file_size": 1000001, "open_files": 256}},
        {"debug": {"fail_do": {"book": "fatal"}, "fail_last": True}},
        {"retry_on": ("acme.Down",), "fail_on": "either", "cwd": "here", "keep_output": True},
    ],
)
def test_the_changed_options_are_written_as_in_a_definition(words: dict[str, Any]) -> None:
    assert changed_options(Policy().overridden(parse_policy(words))) == words


def test_values_of_environment_variables_are_not_written() -> None:
    assert changed_options(Policy(env={"KEY": "secret"})) == {"env": {"KEY": "…"}}


def test_a_submission_can_remove_a_limit() -> None:
    app = Policy(timeout_s=5, cwd="here", end_before=datetime(2026, 1, 1, tzinfo=UTC))
    assert app.overridden(parse_policy({"timeout": None, "cwd": None, "end_before": None})) == Policy()


def test_the_limits_of_a_submission_replace_the_limits_of_the_app() -> None:
    app = Policy(limits=Allowance(cpu_s=5, processes=3))
    assert app.overridden(parse_policy({"limits": {"processes": 9}})).limits == Allowance(processes=9)
    assert not app.overridden(parse_policy({"limits": {}})).limits


@pytest.mark.parametrize(
    ("written", "start_after"),
    [
        ("30s", timedelta(seconds=30)),
        ("1h30m", timedelta(minutes=90)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        ("20260101", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_start_after_is_a_time_or_a_delay_with_a_unit(written: object, start_after: object) -> None:
    assert parse_policy({"start_after": written}) == {"start_after": start_after}


@pytest.mark.parametrize(
    ("written", "offset_s"),
    [(True, 1.0), (False, 0.0), (None, 0.0), (0, 0.0), (2.5, 2.5), ("5s", 5.0), ("1m30s", 90.0)],
)
def test_random_start_offset_is_a_second_or_the_given_duration(written: object, offset_s: float) -> None:
    assert parse_policy({"random_start_offset": written}) == {"random_start_offset_s": offset_s}


def test_all_faults_of_a_policy_are_reported_at_once() -> None:
    words = {"max_fail": 1, "timeout": "soon", "retry": {"rule": "fixd", "sconds": 1}, "priority": 1.5}
    with pytest.raises(BadRequest) as caught:
        parse_policy(words)
    for told in (
        "unknown option 'max_fail' (did you mean max_fails?)",
        "timeout: 'soon' is not a duration",
        "unknown option 'sconds' (did you mean seconds?)",
        "rule: 'fixd' is none of fixed, exponential, random (did you mean fixed?)",
        "priority: 1.5 is not a whole number",
    ):
        assert told in caught.value.what


def _defined(**words: object) -> Catalogue:
    return catalogue_of({"a": {"job_id": "{n}", "bash_cmd": "true", **words}})


def test_the_policy_of_a_definition_has_a_maximum_size() -> None:
    largest = "x" * (POLICY_BYTES_MAX - len('{"env":{"A":""}}'))
    assert _defined(env={"A": largest}).app("a").policy.env == {"A": largest}
    with pytest.raises(DefinitionError) as caught:
        _defined(env={"A": largest + "x"})
    (fault,) = caught.value.faults
    assert fault.what == "its policy has 8193 bytes; at most 8192 are accepted"


def test_other_options_do_not_count_towards_the_size_of_a_policy() -> None:
    assert _defined(description="x" * POLICY_BYTES_MAX)


def test_a_stored_policy_of_any_size_can_be_read() -> None:
    """Earlier releases had no limit."""
    assert parse_policy({"env": {"A": "x" * POLICY_BYTES_MAX}})


@pytest.mark.parametrize(
    "words",
    [
        {"max_fails": 2**31},
        {"max_fails": None},
        {"timeout": float("nan")},
        {"timeout": "99999d"},
        {"timeout": [1]},
        {"start_after": 10**30},
        {"start_after": True},
        {"start_after": {}},
        {"random_start_offset": -1},
        {"random_start_offset": "true"},
        {"random_start_offset": []},
        {"retry": "fixed"},
        {"retry": {"factor": 0.5}},
        {"retry": {"factor": float("inf")}},
        {"env": ["A=1"]},
        {"env": {"A=B": "1"}},
        {"env": {"A": "\0"}},
        {"env_from_os": [1]},
        {"env_from_os": ["SLUICE_LEDGER_URL"]},
        {"env_from_os": ["SLUICE_CONSOLE_TOKEN_FILE"]},
        {"env_from_os": ["HOME", "PGPASSWORD"]},
        {"submitters_may_set": "env"},
        {"submitters_may_set": ["evn"]},
        {"submitters_may_set": ["bash_cmd"]},
        {"submitters_may_set": ["submitters_may_set"]},
        {"cwd": ""},
        {"fail_on": None},
        {"keep_output": 1},
        {"limits": None},
        {"limits": {"cpus": 1}},
        {"limits": {"cpu": "100ms"}},
        {"limits": {"memory": "2 parsecs"}},
        {"limits": {"memory": 0}},
        {"limits": {"memory": True}},
        {"limits": {"file_size": "1e6"}},
        {"limits": {"processes": 0}},
        {"limits": {"open_files": "many"}},
    ],
)
def test_invalid_values_in_a_policy_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        parse_policy(words)
