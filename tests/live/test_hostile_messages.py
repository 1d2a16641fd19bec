"""Hostile messages on the planner's queue. The worker survives, and logs one line for each."""

from pathlib import Path

import pika
import pytest

from sluice.actors.client import Client
from sluice.broker import codec
from sluice.broker.connect import connect
from sluice.broker.messages import PLANNER, Message, Submit, SubmitMany
from sluice.jobs.errors import BadMessage
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.broker.hostile import Hostile, hostile_messages
from tests.live.fleet import fleet, wait_until

COUNT = 100
#: Messages that can be read and are handled: every tenth. The others become dead letters.
READABLE = COUNT // 10


@pytest.mark.timeout(180)
def test_a_worker_survives_a_hundred_hostile_messages(
    ledger: Ledger, live_ledger_url: str, rabbitmq: str, folder: Path
) -> None:
    broker = connect(rabbitmq)
    client = Client(ledger, broker.publish)
    with fleet(1, folder, ledger=live_ledger_url, broker=rabbitmq) as workers:
        wait_until(lambda: "ready for action" in workers.log(), within_s=60, explain=workers.log)
        there = broker.dead_letters(PLANNER)
        _put(rabbitmq, _bodies())
        wait_until(
            lambda: broker.dead_letters(PLANNER) - there == COUNT - READABLE,
            within_s=30,
            explain=lambda: (
                f"{broker.dead_letters(PLANNER)} dead letters, {there} before\n{workers.stacks()}"
            ),
        )
        id_ = client.submit(Submission(app="third", key="7"))
        assert client.wait(id_, timeout_s=60).state is SubmissionState.SUCCEEDED
        wait_until(lambda: broker.depth(PLANNER) == 0, within_s=30, explain=workers.log)
        log = workers.log()
        assert workers.terminate() == [0]
    broker.close()
    told = [line for line in log.splitlines() if "goes to the dead letters" in line]
    assert len(told) == COUNT - READABLE
    assert all(len(line) < 1000 for line in told)
    assert "Traceback" not in log
    assert ledger.transact(breaches) == []


def _bodies() -> list[bytes]:
    """Return bodies for the planner from a fixed draw: many that cannot be read, and a few readable submissions.

    A readable submission that makes no sense is refused, and does not become a dead letter.
    """
    drawn = [hostile for hostile in hostile_messages(5, 2000) if hostile.queue == PLANNER]
    unreadable = [hostile.body for hostile in drawn if _read(hostile) is None]
    submissions = [hostile.body for hostile in drawn if isinstance(_read(hostile), Submit | SubmitMany)]
    return [*unreadable[: COUNT - READABLE], *submissions[:READABLE]]


def _read(hostile: Hostile) -> Message | None:
    try:
        return codec.unseal(hostile.queue, hostile.body)[1]
    except BadMessage:
        return None


def _put(url: str, bodies: list[bytes]) -> None:
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        # RabbitMQ drops messages published shortly before a connection is closed, unless it has confirmed them
        # (measured with both processors busy: 80 of 100 messages).
        channel.confirm_delivery()
        for body in bodies:
            channel.basic_publish("", PLANNER, body, pika.BasicProperties(delivery_mode=2))
