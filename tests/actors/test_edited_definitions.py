"""Definitions that are edited while a process uses them."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from sluice.actors.groomer.redispatch import announce_everything
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.process import Process
from sluice.broker.connect import connect
from sluice.broker.interface import Broker
from sluice.broker.messages import CONTROL
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.recovery.invariants import breaches


class Place:
    """Surroundings of a process: a file of definitions, a ledger, and the broker in memory."""

    def __init__(self, folder: Path, ledger_url: str, kept: ExitStack) -> None:
        self._file = folder / "apps.json"
        self._kept = kept
        self.ledger = kept.enter_context(closing(Ledger(ledger_url)))
        self.ledger.transact(empty)
        self.broker: Broker = kept.enter_context(closing(connect("memory://")))

    def define(self, **says: str) -> None:
        """Define apps that print these texts."""
        self.write(**{app: {"job_id": "{x}", "bash_cmd": f"echo {what}"} for app, what in says.items()})

    def write(self, **apps: Mapping[str, object]) -> None:
        self._file.write_text(json.dumps(apps))

    def starts(self, queues: Sequence[str] = ()) -> Definitions:
        """Start a process with the present definitions, and return the object that holds its current ones."""
        settings = Settings(apps=(str(self._file),), tick_s=0.1, lease_s=3.0, grace_s=5.0)
        held = Definitions(settings)
        process = Process(settings, held, self.ledger, self.broker, queues=queues, threads=2)
        process.start()
        self._kept.callback(process.stop)
        self.client = process.client
        return held

    def run(self, app: str, key: str) -> str:
        """Run a job, and return its output."""
        id_ = self.client.submit(Submission(app=app, key=key))
        assert self.client.wait(id_, timeout_s=20).state is SubmissionState.SUCCEEDED
        return self.ledger.transact(
            lambda tx: tx.column(
                "SELECT output FROM round JOIN job ON job.id = round.job WHERE app = %(app)s AND key = %(key)s",
                app=app,
                key=key,
            )
        )[0]

    def state(self, app: str, key: str) -> State | None:
        name = JobName(app, key)
        known = self.ledger.transact(lambda tx: known_jobs.find(tx, [name]))
        return known[name].state if name in known else None


@pytest.fixture
def place(ledger_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr("sluice.actors.worker.definitions.LOOK_EVERY_S", 0.02)
    with ExitStack() as kept:
        made = Place(tmp_path, ledger_url, kept)
        yield made
        assert made.ledger.transact(breaches) == []


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline, "the condition was not met within 20 s"
        time.sleep(0.01)


def test_a_running_process_applies_new_and_changed_apps(place: Place) -> None:
    place.define(told="one")
    held = place.starts()
    assert place.run("told", "1") == "one\n"
    place.define(told="two", new="hello")
    until(lambda: "new" in held.current)
    assert place.run("told", "2") == "two\n"
    assert place.run("new", "1") == "hello\n"


def test_a_process_that_started_without_apps_serves_the_first_new_one(place: Place) -> None:
    place.define()
    held = place.starts()
    place.define(first="hello")
    until(lambda: "first" in held.current)
    assert place.run("first", "1") == "hello\n"


def test_a_process_with_fixed_queues_does_not_serve_a_new_app(place: Place) -> None:
    place.define(told="one")
    held = place.starts([*CONTROL, "told"])
    place.define(told="two", new="hello")
    until(lambda: "new" in held.current)
    place.client.submit(Submission(app="new", key="1"))
    assert place.run("told", "1") == "two\n"
    until(lambda: place.state("new", "1") is State.READY)
    until(lambda: place.broker.depth("new"))


def test_a_job_of_a_removed_app_waits_until_the_app_is_back(
    place: Place, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = tmp_path / "go_on"
    parent = {"job_id": "{x}", "bash_cmd": f"until [ -e {go_on} ]; do sleep 0.02; done"}
    child = {"job_id": "{x}", "bash_cmd": "echo bye", "depends_on": {"app_name": ["parent"]}}
    place.write(parent=parent, child=child)
    held = place.starts()
    place.client.submit(Submission(app="child", key="1"))
    until(lambda: place.state("parent", "1") is State.RUNNING)
    place.write(parent=parent)
    until(lambda: "child" not in held.current)
    go_on.touch()
    until(lambda: "child was removed from the definitions" in caplog.text)
    assert place.state("child", "1") is State.READY
    place.write(parent=parent, child=child)
    until(lambda: "child" in held.current)
    announce_everything(place.ledger, place.broker.publish)
    until(lambda: place.state("child", "1") is State.SUCCEEDED)
