"""Spark jobs by ``spark-submit`` in client mode, on YARN and on Kubernetes. The programs and clusters are simulated."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.errors import DefinitionError
from sluice.jobs.managers.conformance import Conformance, sample
from sluice.jobs.managers.isolated_calls import job_of
from sluice.jobs.managers.local_process import RunRecord
from sluice.jobs.managers.spark import SparkSubmit
from sluice.jobs.model.external_work import Stage
from sluice.jobs.model.job import RunContext
from tests.jobs.managers import fake_spark
from tests.jobs.managers.commands import cancel, check, folder_of, run
from tests.jobs.managers.spark_apps import Client, OnKubernetes, OnYarn
from tests.jobs.runners.runner_bench import eventually

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cluster"
    fake_spark.install(folder)
    monkeypatch.setenv(fake_spark.CLUSTER, str(folder))
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{folder / 'lib'}")  # For the Python that runs the applications.
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT), str(folder / "lib")])
    return folder


def _doing(do: str) -> RunContext:
    return sample("1", ids={"do": do})


class _Spark(Conformance):
    within_s = 30.0

    def brief_job(self) -> RunContext:
        return _doing("brief")

    def endless_job(self) -> RunContext:
        return _doing("endless")

    def failing_job(self) -> RunContext:
        return _doing("failing")


class TestClientMode(_Spark):
    manager = Client


class TestYarn(_Spark):
    manager = OnYarn


class TestKubernetes(_Spark):
    manager = OnKubernetes


def _calls(cluster: Path, program: str) -> list[str]:
    return [line for line in (cluster / "calls").read_text().splitlines() if line.startswith(program)]


def _until_it_stands(handle: Any, stage: Stage, manager: type[SparkSubmit]) -> str:
    eventually(lambda: check(handle, manager).stage is stage, within_s=30)
    return check(handle, manager).text


def _conf(manager: type[SparkSubmit], tmp_path: Path, **words: Any) -> dict[str, str]:
    """Return the properties on the command line of ``spark-submit``."""
    argv = manager().argv(job_of(sample("1", ids={"do": "brief"}, **words)), tmp_path)
    assert argv[0] == "spark-submit"
    assert argv[1:-1:2] == ["--conf"] * (len(argv) // 2 - 1)
    return dict(text.split("=", 1) for text in argv[2:-1:2])


# The command line.


def test_the_options_of_a_pyspark_app_become_properties(tmp_path: Path) -> None:
    conf = _conf(Client, tmp_path)
    assert conf["spark.master"] == "local[*]"
    assert conf["spark.app.name"] == "conformance/1"
    assert conf["spark.executor.memory"] == "4g"
    assert conf["spark.submit.pyFiles"] == "s3://code/acme.zip"
    assert conf["spark.jars"] == "s3://code/driver.jar"


def test_a_cluster_submission_does_not_wait_and_has_an_identifiable_name(tmp_path: Path) -> None:
    conf = _conf(OnYarn, tmp_path)
    assert conf["spark.yarn.submit.waitAppCompletion"] == "false"
    assert conf["spark.yarn.tags"].startswith("mine,sluice-")
    conf = _conf(OnKubernetes, tmp_path)
    assert conf["spark.kubernetes.submission.waitAppCompletion"] == "false"
    assert conf["spark.kubernetes.driver.pod.name"].startswith("sluice-")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"pymodule": "no.such.module"}, "pymodule: there is no Python module 'no.such.module'"),
        ({"write_fp": "out/{dat}"}, r"write_fp: there is no \{dat\}"),
        ({"sample": 2}, "sample: 2 is not a share"),
        ({"uris": ["a.txt"]}, "uris: 'a.txt' is none of"),
    ],
)
def test_faulty_options_are_reported_as_in_a_definition(
    words: dict[str, Any], told: str, tmp_path: Path
) -> None:
    faulty = type("Faulty", (Client,), words)
    with pytest.raises(DefinitionError, match=told):
        _conf(faulty, tmp_path)


@pytest.mark.parametrize("master", ["spark://master:7077", "local[2]"])
def test_a_master_without_cluster_mode_for_python_is_refused(master: str, tmp_path: Path) -> None:
    conf = {"spark.master": master, "spark.submit.deployMode": "cluster"}
    with pytest.raises(ValueError, match="Spark has no cluster mode for Python"):
        _conf(type("Faulty", (Client,), {"spark_conf": conf}), tmp_path)


# Runs.


def test_a_driver_in_client_mode_reports_its_progress() -> None:
    handle = run(_doing("endless"), Client)
    eventually(lambda: check(handle, Client).progress == (1, 2), within_s=30)
    cancel(handle, Client)


def test_an_exception_in_main_is_the_error_of_the_run() -> None:
    handle = run(_doing("failing"), Client)
    assert "ValueError: no such column" in _until_it_stands(handle, Stage.FAILED, Client)


def test_without_spark_the_error_names_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:-1])
    handle = run(_doing("brief"), Client)
    assert "pyspark is not installed here" in _until_it_stands(handle, Stage.FAILED, Client)


def test_the_error_of_a_failed_application_on_yarn_has_the_reason(cluster: Path) -> None:
    handle = run(_doing("failing"), OnYarn)
    told = _until_it_stands(handle, Stage.FAILED, OnYarn)
    assert "application_1700000000000_0001 is FINISHED, and its final state FAILED" in told
    assert "User application exited with status 1" in told


def test_the_error_of_a_failed_driver_on_kubernetes_has_the_exit_code(cluster: Path) -> None:
    handle = run(_doing("failing"), OnKubernetes)
    assert "exit code: 1" in _until_it_stands(handle, Stage.FAILED, OnKubernetes)
    status = _calls(cluster, "spark-submit --master")[0]
    assert status.startswith("spark-submit --master k8s://https://api:6443 --status etl:sluice-")


def test_a_driver_with_a_missing_pod_is_reported(cluster: Path) -> None:
    handle = run(_doing("brief"), OnKubernetes)
    _until_it_stands(handle, Stage.SUCCEEDED, OnKubernetes)
    for pod in (cluster / "apps").iterdir():
        pod.rename(pod.with_name("gone"))
    assert "there is no pod sluice-" in check(handle, OnKubernetes).text


@pytest.mark.parametrize("manager", [OnYarn, OnKubernetes])
def test_a_failed_submission_fails_the_run(manager: type[SparkSubmit], cluster: Path) -> None:
    (cluster / "down").touch()
    handle = run(_doing("brief"), manager)
    assert "Connection refused" in _until_it_stands(handle, Stage.FAILED, manager)


@pytest.mark.parametrize("manager", [OnYarn, OnKubernetes])
def test_an_unreachable_cluster_raises_an_error_and_the_work_runs_on(
    manager: type[SparkSubmit], cluster: Path
) -> None:
    handle = run(_doing("endless"), manager)
    eventually(lambda: RunRecord(folder_of(handle)).exit_code == 0, within_s=30)
    (cluster / "down").touch()
    with pytest.raises(RuntimeError, match="exited with 1: Connection refused"):
        check(handle, manager)
    with pytest.raises(RuntimeError, match="Connection refused"):
        cancel(handle, manager)
    (cluster / "down").unlink()
    assert check(handle, manager).stage is Stage.RUNNING
    cancel(handle, manager)
    assert check(handle, manager).stage is Stage.FAILED


@pytest.mark.parametrize("manager", [OnYarn, OnKubernetes])
def test_a_cancellation_during_the_submission_prevents_the_application(
    manager: type[SparkSubmit], cluster: Path
) -> None:
    (cluster / "slow").touch()
    handle = run(_doing("endless"), manager)
    assert check(handle, manager).stage is Stage.RUNNING
    cancel(handle, manager)
    assert check(handle, manager).stage is Stage.FAILED
    assert not (cluster / "apps").exists() or not list((cluster / "apps").iterdir())


def test_an_application_with_only_its_first_log_line_can_be_ended(cluster: Path) -> None:
    """The submission prints only the first of its two lines with the ID. YARN has already accepted the application."""
    (cluster / "silent").touch()
    handle = run(_doing("endless"), OnYarn)
    _until_it_stands(handle, Stage.RUNNING, OnYarn)
    eventually(lambda: RunRecord(folder_of(handle)).exit_code == 0, within_s=30)
    cancel(handle, OnYarn)
    assert "KILLED" in check(handle, OnYarn).text


def test_a_submission_without_a_logged_application_id_is_reported(cluster: Path) -> None:
    handle = run(_doing("brief"), OnYarn)
    _until_it_stands(handle, Stage.SUCCEEDED, OnYarn)
    (folder_of(handle) / "stderr").write_text("")
    assert "printed no application ID" in check(handle, OnYarn).text


def test_the_class_can_set_the_program_that_polls_yarn(cluster: Path) -> None:
    """``yarn`` may be in another folder, or need environment variables."""

    class Elsewhere(OnYarn):
        yarn = ("env", "COLOUR=red", str(cluster / "bin" / "yarn"))

    handle = run(_doing("brief"), Elsewhere)
    _until_it_stands(handle, Stage.SUCCEEDED, Elsewhere)
    assert _calls(cluster, "yarn application -status application_1700000000000_0001")
