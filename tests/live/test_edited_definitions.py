"""Definitions that are edited, in a file or in Redis, while workers use them."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.queues import ALL_APPS, CONTROL
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from sluice.ledger.reads.fleet import count_servers
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import fleet, wait_until

WORKERS = 2


class Source:
    """Source of apps that echo a word. With an empty ``redis`` they are defined in a file."""

    def __init__(self, folder: Path, redis: str) -> None:
        self._file = folder / "apps.json"
        self._effects = folder / "effects"
        self._redis = redis

    @property
    def place(self) -> str:
        return f"{self._redis}/definitions" if self._redis else str(self._file)

    def define(self, **says: str) -> None:
        apps = {
            app: {"job_id": "{x}", "bash_cmd": f"echo {what} {{x}} >> {self._effects}"}
            for app, what in says.items()
        }
        if not self._redis:
            self._file.write_text(json.dumps(apps))
            return
        with Redis.from_url(self._redis) as client, client.pipeline() as at_once:
            at_once.delete("definitions")
            at_once.hset("definitions", mapping={app: json.dumps(words) for app, words in apps.items()})
            at_once.execute()


@pytest.fixture(params=["file", "redis"])
def source(request: pytest.FixtureRequest, folder: Path) -> Source:
    return Source(folder, request.getfixturevalue("redis") if request.param == "redis" else "")


@pytest.mark.timeout(120)
def test_workers_use_the_definitions_that_are_current_when_a_job_runs(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path, source: Source
) -> None:
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)

    def run(app: str) -> None:
        for id_ in client.submit_many([Submission(app=app, key=key) for key in ("1", "2")]):
            assert client.wait(id_, timeout_s=30).state is SubmissionState.SUCCEEDED

    source.define(told="one")
    with fleet(WORKERS, folder, ledger=live_ledger_url, broker=broker_url, apps=source.place) as workers:
        run("told")
        wait_until(
            lambda: workers.log().count("ready for action") == WORKERS, within_s=30, explain=workers.log
        )
        source.define(told="two", new="hello")
        wait_until(
            lambda: workers.log().count("the definitions have changed: 2 apps; new: new") == WORKERS,
            within_s=30,
            explain=workers.log,
        )
        client.submit(Submission(app="told", key="1", rerun="job"))
        run("new")
        wait_until(lambda: len(workers.lines()) == 5, within_s=30, explain=workers.log)
        lines = sorted(" ".join(line) for line in workers.lines())
        assert lines == ["hello 1", "hello 2", "one 1", "one 2", "two 1"]
        assert workers.terminate() == [0] * WORKERS
    assert ledger.transact(breaches) == []
    broker.close()


@pytest.mark.timeout(120)
def test_a_worker_for_all_apps_serves_an_added_app_but_no_control_queue(
    ledger: Ledger, live_ledger_url: str, redis: str, folder: Path
) -> None:
    source = Source(folder, "")
    source.define(first="one")
    places = {"ledger": live_ledger_url, "broker": redis, "apps": source.place}
    for name in ("control", "workers"):
        (folder / name).mkdir()
    with (
        fleet(1, folder / "control", queues=",".join(CONTROL), **places),
        fleet(1, folder / "workers", queues=ALL_APPS, **places) as workers,
        closing(connect(redis)) as broker,
    ):
        client = Client(ledger, broker.publish)

        def run(app: str) -> None:
            id_ = client.submit(Submission(app=app, key="1"))
            assert client.wait(id_, timeout_s=60).state is SubmissionState.SUCCEEDED, workers.log()

        run("first")
        source.define(first="one", added="two")
        run("added")
        queues = [*CONTROL, "first", "added"]
        assert ledger.transact(
            lambda tx: {each: count_servers(tx, each) for each in queues}
        ) == dict.fromkeys(queues, 1)
    assert (folder / "effects").read_text().splitlines() == ["one 1", "two 1"]
