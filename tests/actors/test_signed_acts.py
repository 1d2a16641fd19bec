"""Acts by signed messages other than submissions: the audit has the id of the key, once for each change."""

from typing import Any

import pytest

from sluice.actors.worker.handlers import handle
from sluice.broker.codec import JsonEncoder, encode, seal, unseal
from sluice.broker.messages import PLANNER, Cancel, Landed, Message, Pause, Resume
from sluice.broker.signing import Keyring
from sluice.jobs.errors import BadMessage
from sluice.ledger.reads.audit_log import acts
from tests.world import World

KEYS = JsonEncoder(Keyring({"ci-risk": "r" * 32}))
PLAIN = JsonEncoder()


@pytest.fixture
def installed(world: World) -> World:
    world.define(
        {
            "a": {"job_id": "{x}", "bash_cmd": "true"},
            "sums": {"partition": "day", "bash_cmd": "true", "table_dependencies": [{"table": "events"}]},
        }
    )
    world.submit("a", None, keys=["1", "2"], id="s")
    return world


def received(message: Message, encoder: JsonEncoder = KEYS) -> Any:
    """Return the message as it is read from a broker."""
    return unseal(PLANNER, seal(message, encoder).body, encoder)[1]


def entries(world: World) -> list[tuple[str, str, Any, Any]]:
    found = world.ledger.transact(lambda tx: acts(tx, limit=100))
    return [(each.actor, each.action, each.target, each.result) for each in reversed(found)]


@pytest.mark.parametrize(
    ("message", "action", "target", "result"),
    [
        (Cancel(submission="s"), "cancel", {"submission": "s"}, {"cancelled": 2}),
        (Cancel(app="a", key="1"), "cancel", {"app": "a", "key": "1"}, {"cancelled": 1}),
        (
            Landed(table="events", partitions=("2024-04-01",)),
            "land",
            {"table": "events", "partitions": ["2024-04-01"]},
            {"landed": 1},
        ),
    ],
    ids=["cancel a submission", "cancel a job", "land"],
)
def test_the_audit_names_the_key_once(
    message: Message, action: str, target: Any, result: Any, installed: World
) -> None:
    for _ in range(2):  # The second delivery changes nothing.
        handle(installed.ledger, installed.catalogue, received(message))
    assert entries(installed)[0] == ("key: ci-risk", action, target, result)
    assert len(entries(installed)) == 1


def test_a_pause_and_its_end_are_recorded(installed: World) -> None:
    for message in (Pause(submission="s"), Resume(submission="s", id="r")):
        handle(installed.ledger, installed.catalogue, received(message))
    about = {"submission": "s"}
    assert entries(installed) == [
        ("key: ci-risk", "pause", about, {"held_back": 2}),
        ("key: ci-risk", "resume", about, {"let_go": 2}),
    ]


@pytest.mark.parametrize(
    "message", [Cancel(submission="none"), Cancel(app="a", key="9"), Pause(submission="none")]
)
def test_a_message_that_changes_nothing_has_no_entry(message: Message, installed: World) -> None:
    handle(installed.ledger, installed.catalogue, received(message))
    assert entries(installed) == []


def test_an_unsigned_message_has_no_entry(installed: World) -> None:
    handle(installed.ledger, installed.catalogue, received(Cancel(submission="s"), PLAIN))
    assert entries(installed) == []


def test_a_sender_cannot_name_a_key(installed: World) -> None:
    envelope = encode(Pause(submission="s"))
    envelope.kwargs["signed_by"] = "ci-risk"
    with pytest.raises(BadMessage, match="unknown field `signed_by`"):
        unseal(PLANNER, PLAIN.encode(envelope.asdict()), PLAIN)
