"""Publish buffer: the first message is sent at once, later ones together, and all of them before ``close`` returns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from threading import enumerate as enumerate_threads

import pytest

from sluice.actors.worker import publish_buffer
from sluice.actors.worker.publish_buffer import TOGETHER, PublishBuffer
from sluice.broker.messages import Message, Plan, Tick
from sluice.jobs.errors import Unreachable
from tests.jobs.runners.runner_bench import eventually


class Ear:
    """Receiver of published messages. While its ``door`` is shut, each publication waits."""

    def __init__(self) -> None:
        self.heard: list[list[Message]] = []
        self.door = Event()
        self.door.set()
        self.deaf = False

    def publish(self, messages: Sequence[Message]) -> None:
        self.heard.append([*messages])
        assert self.door.wait(30)
        if self.deaf:
            raise Unreachable("It is away.")


@contextmanager
def _held_up(ear: Ear) -> Iterator[Callable[[Message], None]]:
    """Yield a function that adds a message to a publish buffer, which waits in its first publication. At the end of the
    block the wait ends and all messages are sent."""
    publish_buffer = PublishBuffer(ear.publish)
    ear.door.clear()
    publish_buffer.publish([_plan("first")])
    eventually(lambda: ear.heard)
    yield lambda message: publish_buffer.publish([message])
    ear.door.set()
    publish_buffer.close()


def _tellers() -> list[Thread]:
    return [thread for thread in enumerate_threads() if thread.name == "sluice-publish_buffer"]


def _plan(*ids: str) -> Plan:
    return Plan(submissions=ids)


def test_the_first_message_is_sent_at_once_and_later_ones_together() -> None:
    ear = Ear()
    with _held_up(ear) as tell:
        for name in ("a", "b", "c"):
            tell(_plan(name))
        assert ear.heard == [[_plan("first")]]
    assert ear.heard == [[_plan("first")], [_plan("a", "b", "c")]]


def test_only_plans_of_single_submissions_are_combined_up_to_a_limit() -> None:
    ear = Ear()
    names = [f"n{number}" for number in range(TOGETHER + 1)]
    with _held_up(ear) as tell:
        tell(_plan("x", "y"))
        for name in names:
            tell(_plan(name))
        tell(Tick())
    assert ear.heard[1] == [_plan("x", "y"), Tick(), _plan(*names[:-1]), _plan(names[-1])]


def test_close_waits_until_all_messages_are_sent() -> None:
    ear = Ear()
    ear.door.clear()
    publish_buffer = PublishBuffer(ear.publish)
    publish_buffer.publish([_plan("first")])
    publish_buffer.publish([_plan("last")])
    closing = Thread(target=publish_buffer.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    ear.door.set()
    closing.join(30)
    assert not closing.is_alive()
    assert [plan for told in ear.heard for plan in told][-1] in (_plan("last"), _plan("first", "last"))


def test_an_unreachable_broker_is_logged_and_tried_again_with_the_next_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ear = Ear()
    ear.deaf = True
    publish_buffer = PublishBuffer(ear.publish)
    publish_buffer.publish([_plan("lost")])
    eventually(lambda: "again from the ledger (1): It is away." in caplog.text)
    ear.deaf = False
    publish_buffer.publish([_plan("heard")])
    publish_buffer.close()
    assert ear.heard == [[_plan("lost")], [_plan("heard")]]


def test_an_unexpected_error_does_not_prevent_later_messages(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[Sequence[Message]] = []

    def publish(messages: Sequence[Message]) -> None:
        calls.append(messages)
        if len(calls) == 1:
            raise ValueError("ours")

    publish_buffer = PublishBuffer(publish)
    publish_buffer.publish([_plan("lost")])
    eventually(lambda: "ours" in caplog.text)
    publish_buffer.publish([_plan("heard")])
    publish_buffer.close()
    assert calls == [[_plan("lost")], [_plan("heard")]]


def test_messages_behind_a_slow_publication_can_be_taken_by_the_caller() -> None:
    ear = Ear()
    ear.door.clear()
    publish_buffer = PublishBuffer(ear.publish)
    assert publish_buffer.held_up() == []
    publish_buffer.publish([_plan("first")])
    eventually(lambda: ear.heard)
    publish_buffer.publish([_plan("a")])
    publish_buffer.publish([_plan("b")])
    taken: list[Message] = []
    eventually(lambda: taken.extend(publish_buffer.held_up()) or taken)
    assert taken == [_plan("a", "b")]
    ear.door.set()
    publish_buffer.close()
    assert ear.heard == [[_plan("first")]]
    assert publish_buffer.held_up() == []


def test_the_buffer_has_a_thread_only_while_there_are_messages() -> None:
    ear = Ear()
    publish_buffer = PublishBuffer(ear.publish)
    for number, name in enumerate(("a", "b"), start=1):
        publish_buffer.publish([_plan(name)])
        eventually(lambda number=number: len(ear.heard) == number and not _tellers())
    assert ear.heard == [[_plan("a")], [_plan("b")]]


def test_a_caller_that_waits_has_the_collected_messages_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish_buffer, "GATHER_S", 3600.0)
    ear = Ear()
    made = PublishBuffer(ear.publish)
    made.publish([_plan("first")])
    eventually(lambda: ear.heard)
    made.publish([_plan("awaited")])
    made.publish([])
    eventually(lambda: ear.heard == [[_plan("first")], [_plan("awaited")]])
    made.close()
