"""Announcements that a tick repeats: only those that are missing in the queues. A tick for backlogs looks into all
queues, any other tick only for apps without a message in their queue."""

from collections.abc import Collection, Mapping
from datetime import timedelta

import pytest

from sluice.actors.groomer import ticks
from sluice.broker.messages import Execute, Tick
from sluice.ledger.recovery.groomer_steps import PATIENCE_S
from tests.world import World


def announced_again(
    world: World, depths: Mapping[str, int], *, backlogs: bool, asks: str = "ab"
) -> dict[str, int]:
    """Let the patience for an announcement end. Return how many announcements a tick repeats, by app. The tick has to
    ask for the depths of the queues ``asks``."""
    asked: list[str] = []

    def known(apps: Collection[str]) -> Mapping[str, int]:
        asked.extend(apps)
        return depths

    world.now += timedelta(seconds=PATIENCE_S + 1)
    messages = ticks.tick(world.ledger, world.catalogue, Tick(backlogs=backlogs), depths=known)
    assert sorted(asked) == [*asks]
    sent = [message.app for message in messages if isinstance(message, Execute)]
    return {app: sent.count(app) for app in ("a", "b")}


@pytest.mark.parametrize(
    ("depths", "of_backlogs", "of_others"),
    [
        ({}, {"a": 3, "b": 1}, {"a": 3, "b": 1}),
        ({"a": 0, "b": 0}, {"a": 3, "b": 1}, {"a": 3, "b": 1}),
        ({"a": 3, "b": 1}, {"a": 0, "b": 0}, {"a": 0, "b": 0}),
        ({"a": 2, "b": 0}, {"a": 1, "b": 1}, {"a": 0, "b": 1}),
        ({"a": 5000}, {"a": 0, "b": 1}, {"a": 0, "b": 1}),
    ],
)
@pytest.mark.parametrize("backlogs", [True, False])
def test_a_queue_gets_no_more_messages_than_its_app_has_ready_jobs(
    backlog: World,
    depths: dict[str, int],
    of_backlogs: dict[str, int],
    of_others: dict[str, int],
    *,
    backlogs: bool,
) -> None:
    """A tick that is not for backlogs announces no job of an app with messages in its queue."""
    assert announced_again(backlog, depths, backlogs=backlogs) == (of_backlogs if backlogs else of_others)


def test_a_tick_does_not_write_to_a_backlog(backlog: World) -> None:
    """Otherwise each tick would write to a thousand jobs of a large one."""
    assert announced_again(backlog, {"a": 1, "b": 0}, backlogs=False) == {"a": 0, "b": 1}
    written = "SELECT DISTINCT app FROM job WHERE dispatch_attempts > 0"
    assert backlog.ledger.transact(lambda tx: tx.column(written)) == ["b"]


def test_jobs_of_a_backlog_are_announced_again_when_the_queue_is_empty(backlog: World) -> None:
    assert announced_again(backlog, {"a": 3, "b": 1}, backlogs=False) == {"a": 0, "b": 0}
    assert announced_again(backlog, {"a": 0, "b": 1}, backlogs=False) == {"a": 3, "b": 0}


def test_an_app_that_this_process_does_not_know_is_found_by_a_tick_for_backlogs(backlog: World) -> None:
    backlog.apps("b")
    assert announced_again(backlog, {}, backlogs=False, asks="b") == {"a": 0, "b": 1}
    assert announced_again(backlog, {}, backlogs=True, asks="a") == {"a": 3, "b": 0}


@pytest.fixture
def backlog(world: World) -> World:
    """Return a world with three ready jobs of one app and one of another, and no thread that could run them."""
    world.apps("a, b")
    for key in "123":
        world.submit("a", key)
    world.submit("b")
    world.ledger.transact(lambda tx: tx.write("UPDATE worker SET threads = 0"))
    return world
