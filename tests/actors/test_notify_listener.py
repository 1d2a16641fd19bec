"""Notifications by way of the ledger. They reach a process with a broker in its own memory."""

from collections.abc import Iterator, Sequence
from socket import socketpair

import psycopg
import pytest

from sluice.actors.worker.notify_listener import NotifyListener, notify_through
from sluice.broker.messages import Message, Plan, Tick
from sluice.ledger.database import notify
from sluice.ledger.database.connection import Tx
from tests.jobs.runners.runner_bench import eventually
from tests.world import World

_LISTENERS = "SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN sluice' AND datname = current_database()"
_CUT_OFF = f"SELECT pg_terminate_backend(pid) FROM ({_LISTENERS}) listener"


class House:
    """Process that records its published messages, in their order."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.heard: list[Message] = []

    def publish(self, messages: Sequence[Message]) -> None:
        self.heard += messages

    def say(self, *messages: Message) -> None:
        notify_through(self.world.ledger, messages)


@pytest.fixture
def house(world: World) -> Iterator[House]:
    made = House(world)
    with NotifyListener(world.ledger, made.publish):
        yield made


def test_notifications_are_published_in_the_order_they_were_sent(house: House) -> None:
    house.say(Plan(submissions=("a", "b")), Tick())
    house.say(Plan(submissions=("c",)))
    eventually(lambda: len(house.heard) == 3)
    assert house.heard == [Plan(submissions=("a", "b")), Tick(), Plan(submissions=("c",))]


def test_a_notification_that_comes_with_the_answer_to_a_statement_is_received(world: World) -> None:
    """This happens if it is sent just after LISTEN has been executed."""
    awake, other = socketpair()
    with awake, other, psycopg.connect(world.url, autocommit=True) as connection:
        ear = notify.listen(connection, notify.ENDS)
        connection.execute("SELECT pg_notify(%s, 'first'), pg_notify(%s, 'second')", [notify.ENDS] * 2)
        assert ear.words(awake, within_s=10) == ["first", "second"]


def test_a_notification_too_long_for_notify_is_left_out_and_others_arrive(house: House) -> None:
    house.say(Plan(submissions=tuple(f"submission {number}" for number in range(1000))), Tick())
    eventually(lambda: house.heard)
    assert house.heard == [Tick()]


def test_an_unreadable_notification_is_logged_and_skipped(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    def nonsense(tx: Tx) -> None:
        notify.notify(tx, "")
        notify.notify(tx, "sluice.planner {}")

    house.world.ledger.transact(nonsense)
    house.say(Tick())
    eventually(lambda: house.heard)
    assert house.heard == [Tick()]
    assert caplog.text.count("invalid notification") == 2


def test_a_broken_connection_is_made_again(house: House) -> None:
    def heard_again() -> bool:
        house.say(Tick())
        return bool(house.heard)

    assert house.world.ledger.transact(lambda tx: tx.column(_CUT_OFF)) == [True]
    eventually(heard_again)


def test_the_listener_receives_nothing_after_its_block(world: World) -> None:
    house = House(world)
    with NotifyListener(world.ledger, house.publish):
        pass
    house.say(Tick())
    # The server ends its side of the closed connection a moment later.
    eventually(lambda: world.ledger.transact(lambda tx: tx.column(_LISTENERS)) == [])
    assert house.heard == []
