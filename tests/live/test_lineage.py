"""Lineage events of partitioned apps from real workers, when runs fail, are lost and time out."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from sluice.actors.client import Client
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from tests.live import openlineage
from tests.live.fleet import ROOT, wait_until
from tests.live.receiver import Post, receiving

APPS = str(Path(__file__).parent / "steps.py")
TOKEN = "a key of that server"


class Marquez:
    """Server that receives lineage events."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str | None, dict[str, Any]]] = []
        self.url = ""

    def take(self, post: Post) -> HTTPStatus:
        self.heard.append((post.path, post.headers.get("authorization"), json.loads(post.body)))
        return HTTPStatus.CREATED

    def events(self, app: str) -> list[dict[str, Any]]:
        """Return the events of an app in the order of their times. Events of two processes may arrive in any order."""
        found = [event for _, _, event in self.heard if event["job"]["name"] == app]
        return sorted(found, key=lambda event: event["eventTime"])


@pytest.fixture
def marquez() -> Iterator[Marquez]:
    made = Marquez()
    with receiving(made.take) as made.url:
        yield made


class Crew:
    """One worker, replaced when it dies."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._log = folder / "workers.log"
        self._environment = os.environ | environment
        self._worker = self._start()

    def replace(self) -> None:
        if self._worker.poll() is not None:
            self._worker = self._start()

    def close(self) -> None:
        self._worker.terminate()
        self._worker.wait(timeout=40)

    def kill(self) -> None:
        if self._worker.poll() is None:
            os.killpg(self._worker.pid, signal.SIGKILL)
        self._worker.wait()

    def log(self) -> str:
        return self._log.read_text()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "actors.worker", "--apps", APPS]
            return subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )


@contextmanager
def crew(folder: Path, ledger: str, broker: str, **words: str) -> Iterator[Crew]:
    made = Crew(
        folder,
        {
            "SLUICE_LEDGER_URL": ledger,
            "SLUICE_BROKER_URL": broker,
            "SLUICE_LEASE": "2s",
            "SLUICE_TICK": "200ms",
            **words,
        },
    )
    try:
        yield made
    finally:
        made.kill()


LANDS = ("partitions", "land", "events", "2024-04-01..2024-04-03")


def told(events: list[dict[str, Any]]) -> list[str]:
    return [event["eventType"] for event in events]


def partitions(dataset: dict[str, Any], which: str) -> list[str]:
    condition = dataset[f"{which}Facets"]["subset"][f"{which}Condition"]
    return [each["identifier"] for each in condition["partitions"]]


def test_each_run_sends_lineage_events_with_its_inputs_and_outputs(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path, marquez: Marquez
) -> None:
    broker = connect(redis)
    definitions = Definitions(Settings(apps=(APPS,)))
    client = Client(ledger, broker.publish, lambda: definitions.current)
    words = {
        "SLUICE_LINEAGE_URL": marquez.url,
        "SLUICE_LINEAGE_TOKEN": TOKEN,
        "SLUICE_LINEAGE_DATASET_NAMESPACE": "db",
    }
    heard = folder / "heard"
    with crew(folder, live_ledger_url, redis, HEARD=str(heard), **words) as workers:
        client.submit(Submission(app="trends", start="2024-04-02", end="2024-04-03", id="good"))
        subprocess.run(
            [sys.executable, "-m", "sluice.ops.cli.main", *LANDS],
            cwd=ROOT,
            env=os.environ
            | {"SLUICE_LEDGER_URL": live_ledger_url, "SLUICE_BROKER_URL": redis, "SLUICE_APPS": APPS},
            check=True,
            timeout=60,
        )

        def is_over(id_: str) -> bool:
            if marquez.events("trends"):
                heard.touch()
            status = client.status(id_)
            return status is not None and status.state not in {"received", "active"}

        wait_until(lambda: is_over("good"), within_s=60, meanwhile=workers.replace, explain=workers.log)
        # Submitted only now, because a worker that is killed loses the events that it has not sent yet.
        client.submit(Submission(app="late", start="2024-04-02", end="2024-04-02", id="late"))
        client.submit(Submission(app="visitors", start="2024-04-02", end="2024-04-02", id="days"))
        for id_ in ("late", "days"):
            wait_until(lambda id_=id_: is_over(id_), within_s=60, explain=workers.log)
        workers.close()
    broker.close()
    status = client.status("good")
    assert status is not None
    assert status.state is SubmissionState.SUCCEEDED
    for path, authorization, event in marquez.heard:
        assert (path, authorization) == ("/api/v1/lineage", f"Bearer {TOKEN}")
        openlineage.check(event)
    _check(marquez)
    _check_days(marquez)


def _check_days(marquez: Marquez) -> None:
    """Check the events of the jobs with keys that make a day together, and those of the app that reads this day."""
    count, (start, complete) = marquez.events("count"), marquez.events("visitors")
    assert sorted(told(count)) == ["COMPLETE", "COMPLETE", "FAIL", "START", "START", "START"]
    made = [output for event in count for output in event["outputs"]]
    assert len(made) == 5
    assert all((each["namespace"], each["name"]) == ("db", "visits") for each in made)
    assert all(partitions(each, "output") == ["2024-04-02"] for each in made)
    assert {"no answer" in str(event["run"]) for event in count if event["eventType"] == "FAIL"} == {True}
    (read,) = start["inputs"]
    assert (read["namespace"], read["name"], read.get("facets", {})) == ("db", "visits", {})
    assert partitions(read, "input") == ["2024-04-02"]
    assert told([start, complete]) == ["START", "COMPLETE"]


def _check(marquez: Marquez) -> None:
    sums, trends, late = (marquez.events(app) for app in ("sums", "trends", "late"))
    assert told(sums) == ["START", "FAIL", "START", "COMPLETE"]
    assert told(trends) == ["START", "ABORT", "START", "COMPLETE"]
    assert told(late) == ["START", "FAIL"]
    for events in (sums, trends, late):
        runs = [event["run"]["runId"] for event in events]
        assert runs == [run for run in dict.fromkeys(runs) for _ in range(2)]
    (read,) = sums[0]["inputs"]
    assert (read["namespace"], read["name"]) == ("db", "events")
    assert partitions(read, "input") == ["2024-04-01", "2024-04-02", "2024-04-03"]
    (made,) = sums[3]["outputs"]
    assert (made["namespace"], made["name"]) == ("db", "sums")
    assert partitions(made, "output") == ["2024-04-02", "2024-04-03"]
    (from_sums,) = trends[2]["inputs"]
    assert from_sums["facets"]["version"] == made["facets"]["version"]
    assert "the table is locked" in sums[1]["run"]["facets"]["errorMessage"]["message"]
    parents = {event["run"]["facets"]["parent"]["run"]["runId"] for event in [*sums, *trends]}
    assert len(parents) == 1
    assert sums[0]["run"]["facets"]["parent"]["job"] == {"namespace": "sluice", "name": "trends.submission"}
