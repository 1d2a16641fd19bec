"""A worker that is stopped for longer than its lease, and continues. Its result is dropped, and it goes on working."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.history import JobReport
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import Fleet, fleet, wait_until


class Scene:
    """Two workers with a thread each, and a job that runs until it is allowed to end."""

    def __init__(self, workers: Fleet, client: Client, folder: Path) -> None:
        self.workers = workers
        self.client = client
        self._folder = folder
        self.stopped: int | None = None

    def submit(self, *keys: str, **policy: object) -> None:
        """Submit the keys one by one, so that one worker does not get them in one batch."""
        for key in keys:
            self.client.submit(Submission(app="patient", key=key, policy=policy))

    def job(self, key: str = "1") -> JobReport:
        found = self.client.job("patient", key)
        assert found is not None
        return found

    def runs(self, *keys: str) -> list[tuple[str, int]]:
        """Return the claim and the process of each run of these jobs that has begun."""
        return [(claim, int(pid)) for _, key, claim, pid in self.workers.lines() if key in keys]

    def allow_end(self, *keys: str) -> None:
        for key in keys:
            (self._folder / f"effects.{key}").touch()

    def stop_its_process(self) -> int:
        """Stop the process that runs job 1, without the other processes of its session. Return its id."""
        self.waits(lambda: self.runs("1"))
        ((_, process),) = self.runs("1")
        os.kill(process, signal.SIGSTOP)
        self.stopped = process
        return process

    def let_go_on(self) -> None:
        if self.stopped is not None:
            os.kill(self.stopped, signal.SIGCONT)
            self.stopped = None

    def said(self) -> list[tuple[int, str]]:
        """Return the process and the text of each log message about the late run of job 1: it is stopped, or its result
        is dropped.
        """
        lines = [json.loads(line) for line in self.workers.log().splitlines() if line.startswith("{")]
        about = [line for line in lines if "patient/1" in line["message"]]
        late = ("run is stopped", "came too late and is dropped")
        return [
            (line["pid"], line["message"]) for line in about if any(text in line["message"] for text in late)
        ]

    def waits(self, is_so: Callable[[], object]) -> None:
        wait_until(is_so, within_s=60, explain=lambda: f"{self.runs('1')}\n{self.workers.log()[-3000:]}")


@contextmanager
def _scene(ledger: Ledger, ledger_url: str, broker_url: str, folder: Path, *, lease: str) -> Iterator[Scene]:
    broker = connect(broker_url)
    words = {"SLUICE_LEASE": lease, "SLUICE_LOG": "json"}
    with fleet(2, folder, ledger=ledger_url, broker=broker_url, threads=1, **words) as workers:
        yield Scene(workers, Client(ledger, broker.publish), folder)
    assert ledger.transact(breaches) == []
    broker.close()


def _works_on(scene: Scene, late: int) -> None:
    """Check that each worker, including the late one, runs a job again."""
    scene.submit("2", "3")
    scene.waits(lambda: len(scene.runs("2", "3")) == 2)
    assert late in {process for _, process in scene.runs("2", "3")}
    scene.allow_end("2", "3")
    scene.waits(lambda: {scene.job(key).state for key in "23"} == {State.SUCCEEDED})
    assert {process for process, _ in scene.said()} == {late}, scene.workers.log()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("has_ended", [True, False], ids=["another has ended", "another runs"])
def test_a_late_worker_is_refused_after_another_took_its_job_and_works_on(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path, *, has_ended: bool
) -> None:
    with _scene(ledger, live_ledger_url, broker_url, folder, lease="2s") as scene:
        scene.submit("1")
        late = scene.stop_its_process()
        scene.waits(lambda: len(scene.runs("1")) == 2)
        (_, first), (claim, second) = scene.runs("1")
        assert (first, claim) == (late, "2")
        assert second != late
        if has_ended:
            scene.allow_end("1")
            scene.waits(lambda: scene.job().state is State.SUCCEEDED)
        before = scene.job()
        scene.let_go_on()
        scene.waits(scene.said)
        if not has_ended:
            assert (scene.job().state, scene.job().log) == (State.RUNNING, before.log)
            scene.allow_end("1")
            scene.waits(lambda: scene.job().state is State.SUCCEEDED)
        _works_on(scene, late)
        after = scene.job()
        assert (after.round, after.losses) == (1, 1)
        assert "0:lost" in after.record
        assert not {"0:output", "0:executed"} & set(after.record)
        assert str(after.record["1:worker"]).endswith(f":{second}")
        if has_ended:
            assert (dict(after.record), after.log) == (dict(before.record), before.log)


@pytest.mark.timeout(240)
def test_a_late_worker_is_refused_after_the_timeout_of_its_job_and_works_on(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    with _scene(ledger, live_ledger_url, broker_url, folder, lease="15s") as scene:
        scene.submit("1", timeout="4s")
        late = scene.stop_its_process()
        scene.waits(lambda: scene.job().state is State.TIMED_OUT)
        before = scene.job()
        assert {"0:timeout", "0:timed_out"} <= set(before.record)
        scene.allow_end("1")
        scene.let_go_on()
        scene.waits(scene.said)
        _works_on(scene, late)
        after = scene.job()
        assert (after.state, after.round, after.timeouts) == (State.TIMED_OUT, 0, 1)
        assert (dict(after.record), after.log) == (dict(before.record), before.log)
        assert len(scene.runs("1")) == 1
