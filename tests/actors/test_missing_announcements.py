"""Announcements that a tick repeats: only those that are missing in the queues."""

from collections.abc import Collection, Mapping
from datetime import timedelta

import pytest

from sluice.actors.groomer import ticks
from sluice.broker.messages import Execute, Tick
from sluice.ledger.recovery.groomer_steps import PATIENCE_S
from tests.world import World


def announced_again(world: World, depths: Mapping[str, int]) -> dict[str, int]:
    """Let the patience for an announcement end. Return how many announcements a tick repeats, by app."""
    asked: list[str] = []

    def known(apps: Collection[str]) -> Mapping[str, int]:
        asked.extend(apps)
        return depths

    world.now += timedelta(seconds=PATIENCE_S + 1)
    messages = ticks.tick(world.ledger, world.catalogue, Tick(), depths=known)
    assert sorted(asked) == ["a", "b"]
    sent = [message.app for message in messages if isinstance(message, Execute)]
    return {app: sent.count(app) for app in ("a", "b")}


@pytest.mark.parametrize(
    ("depths", "sent"),
    [
        ({}, {"a": 3, "b": 1}),
        ({"a": 0, "b": 0}, {"a": 3, "b": 1}),
        ({"a": 3, "b": 1}, {"a": 0, "b": 0}),
        ({"a": 2, "b": 0}, {"a": 1, "b": 1}),
        ({"a": 5000}, {"a": 0, "b": 1}),
    ],
)
def test_a_queue_gets_no_more_messages_than_its_app_has_ready_jobs(
    world: World, depths: dict[str, int], sent: dict[str, int]
) -> None:
    world.apps("a, b")
    for key in "123":
        world.submit("a", key)
    world.submit("b")
    assert announced_again(world, depths) == sent
