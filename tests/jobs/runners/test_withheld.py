"""Variables of the worker's environment that a job's process gets, and secrets that it gets at no sandbox level."""

import json
from typing import Any

import pytest

from sluice.jobs.managers.spark import SparkSubmit
from sluice.jobs.model.job import Assignment
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.sandbox_settings import Fence, SandboxLevel
from sluice.jobs.runners.command.environment import (
    command_environment,
    function_environment,
    is_withheld,
    of_the_worker,
)
from tests.jobs.runners.programs import Programs
from tests.jobs.runners.runner_bench import Bench, bash_app, error_of
from tests.jobs.runners.sandboxes import LIMITS, OFF, WALLED, At, out, walled

#: Variables that each contain a password or a token.
OURS = (
    "SLUICE_LEDGER_URL",
    "SLUICE_BROKER_URL",
    "SLUICE_MESSAGE_KEYS",
    "SLUICE_CONSOLE_TOKEN",
    "PGPASSWORD",
    "OTEL_EXPORTER_OTLP_HEADERS",
)
LEVELS = pytest.mark.parametrize(
    "fence", [OFF, LIMITS, pytest.param(WALLED, marks=walled)], ids=map(str, SandboxLevel)
)


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OURS:
        monkeypatch.setenv(name, "s3cr3t")


@LEVELS
def test_no_process_gets_the_secrets_of_its_worker(fence: Fence, at: At) -> None:
    bench = at(fence)
    told = [
        out(bench.bash("env")),
        out(Programs(bench).run("env", policy=Policy(fail_on="exit"))),
        json.dumps(json.loads(out(bench.isolate("show_surroundings")))),
    ]
    assert [text for text in told if "s3cr3t" in text] == []


@LEVELS
@pytest.mark.parametrize("name", OURS)
def test_a_secret_that_env_from_os_names_is_refused(name: str, fence: Fence, at: At) -> None:
    """Loading refuses such a definition. A run also refuses it, because a ledger may still contain an older policy."""
    bench, policy = at(fence), Policy(env_from_os=(name,))
    for outcome in (
        bench.bash("env", policy=policy),
        Programs(bench).run("env", policy=policy),
        bench.isolate("show_surroundings", policy=policy),
    ):
        assert f"env_from_os: {name} is a setting or a secret of the worker itself" in error_of(outcome)
        assert "s3cr3t" not in str(outcome)


def test_an_unset_variable_in_env_from_os_is_an_error_that_names_it(bench: Bench) -> None:
    policy = Policy(env_from_os=("HOME", "NOT_THERE"))
    for outcome in (
        bench.bash("echo ran", policy=policy),
        Programs(bench).run("echo ran", policy=policy),
        bench.isolate("nothing", policy=policy),
    ):
        assert "env_from_os: NOT_THERE is not set in the environment of this worker" in error_of(outcome)
        assert outcome.output == ""


def test_the_option_env_may_set_a_variable_of_any_name(bench: Bench) -> None:
    """The value is the app author's own, for example the password of another database."""
    policy = Policy(env={"PGPASSWORD": "own"})
    assert out(bench.bash("echo $PGPASSWORD", policy=policy)) == "own\n"


def test_external_work_gets_no_secret_of_the_worker(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Submits(SparkSubmit):
        env_from_os = ("NAMED",)

    monkeypatch.setenv("NAMED", "yes")
    worker: dict[str, Any] = dict.fromkeys(OURS, "s3cr3t") | {"NAMED": "yes", "HOME": "/h"}
    claimed: Assignment = bench.assign(bash_app("true"))
    for environment in (command_environment, function_environment):
        seen = environment(claimed, Policy(env_from_os=Submits.env_from_os), worker)
        assert seen["NAMED"] == "yes"
        assert "s3cr3t" not in seen.values()
    assert of_the_worker(worker) == {"NAMED": "yes", "HOME": "/h"}
    assert "s3cr3t" not in Submits()._surroundings.values()


@pytest.mark.parametrize(
    "name",
    [
        *("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY", "CREDENTIALS_DIRECTORY"),
        *("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "SLUICE_A_LATER_SETTING"),
    ],
)
def test_every_variable_that_grants_access_is_withheld(name: str) -> None:
    assert is_withheld(name)
    assert of_the_worker({name: "s3cr3t", "HOME": "/h"}) == {"HOME": "/h"}
