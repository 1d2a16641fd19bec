"""A fixed number of inputs at every entry, in a few seconds."""

import logging
import random

import pytest

from sluice.ops.console.access import AccessControl
from tests.fuzz import entries
from tests.ops.console_client import TOKEN, Asker, console_of, serving
from tests.world import World

SEEDS = range(3)
COUNT = 40


@pytest.fixture(params=SEEDS)
def chance(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def test_the_head_of_a_request_is_read_or_refused(chance: random.Random) -> None:
    entries.heads(chance, 20 * COUNT)


def test_the_consoles_socket_answers_or_closes(
    chance: random.Random, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    console = console_of(world, AccessControl(TOKEN))
    with serving(console.answer, console.refuse) as place:
        entries.sockets(chance, place, COUNT)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


def test_a_console_call_is_answered_without_a_server_error(chance: random.Random, world: World) -> None:
    entries.calls(chance, Asker(world), 2 * COUNT)


def test_a_message_is_read_or_refused(chance: random.Random) -> None:
    entries.messages(chance.randrange(2**32), 5 * COUNT)


def test_a_policy_is_read_or_refused(chance: random.Random) -> None:
    entries.policies(chance, 10 * COUNT)


def test_the_sql_function_accepts_or_raises(chance: random.Random, world: World) -> None:
    world.apps("a -> b")
    entries.sql(chance, world, COUNT)
