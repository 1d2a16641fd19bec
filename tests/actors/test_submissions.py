"""Submissions that other services send one by one, and a process that admits them.

Nothing ticks here, so only the messages cause planning.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.process import Process
from sluice.broker.connect import connect
from sluice.broker.interface import Broker
from sluice.broker.messages import Submit
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from sluice.ledger.lifecycle import submissions
from tests.jobs.runners.runner_bench import eventually

_APPS = {"a": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true"}}


class Office:
    """Process that plans and does nothing else."""

    def __init__(self, source: Path, ledger: Ledger, broker: Broker) -> None:
        settings = Settings(apps=(str(source),), lease_s=3.0, grace_s=5.0)
        self.ledger = ledger
        self._broker = broker
        self._process = Process(
            settings, Definitions(settings), ledger, broker, queues=["planner"], threads=1
        )

    def send(self, id: str, key: str = "1") -> None:
        words = msgspec.json.encode({"app": "a", "key": key})
        self._broker.publish([Submit(id=id, submission=msgspec.Raw(words))])

    def state(self, id: str) -> SubmissionState | None:
        status = self._process.client.status(id)
        return status and status.state

    def has_planned(self, id: str) -> bool:
        return self.state(id) is SubmissionState.ACTIVE

    def __enter__(self) -> "Office":
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()


@pytest.fixture
def office(ledger_url: str, tmp_path: Path) -> Iterator[Office]:
    source = tmp_path / "apps.json"
    source.write_bytes(msgspec.json.encode(_APPS))
    with closing(Ledger(ledger_url)) as ledger, closing(connect("memory://")) as broker:
        ledger.transact(empty)
        with Office(source, ledger, broker) as made:
            yield made


def test_submissions_in_quick_succession_are_all_planned(office: Office) -> None:
    ids = [f"{number}th" for number in range(40)]
    for number, id in enumerate(ids):
        office.send(id, str(number))
    eventually(lambda: all(map(office.has_planned, ids)))


def test_a_submission_that_cannot_be_planned_yet_does_not_delay_another(
    office: Office, ledger_url: str
) -> None:
    slow = Submission(app="a", key="1", id="slow")
    office.ledger.transact(lambda tx: submissions.receive(tx, [slow]))
    with closing(Ledger(ledger_url)) as outside, outside.begin() as tx:
        assert tx.rows("SELECT FROM submission WHERE id = 'slow' FOR UPDATE")
        office.send("slow")
        office.send("behind")
        eventually(lambda: office.has_planned("behind"))
        assert not office.has_planned("slow")
    office.send("slow")
    eventually(lambda: office.has_planned("slow"))


def test_a_submission_with_an_invalid_key_is_refused(office: Office) -> None:
    office.send("wrong", "no number")
    eventually(lambda: office.state("wrong") is SubmissionState.REFUSED)
