"""Submissions by signed messages: the audit has the id of the key, and no entry for what was not admitted."""

import json
from typing import Any

import pytest
from msgspec import Raw

from sluice.actors.planner import admission
from sluice.broker.codec import JsonEncoder, seal, unseal
from sluice.broker.messages import PLANNER, Message, Submit, SubmitMany
from sluice.broker.signing import Keyring
from sluice.ledger.reads.audit_log import acts
from tests.world import World, taken_in

KEYS = JsonEncoder(Keyring({"ci-risk": "r" * 32, "old": "o" * 32}))
OLD = JsonEncoder(Keyring({"old": "o" * 32}))


@pytest.fixture
def installed(world: World) -> World:
    world.apps("a")
    return world


def one(id_: str, **words: Any) -> Submit:
    return Submit(
        submission=Raw(json.dumps({"app": "a", "key": "1", "id": id_, **words}).encode()), id=f"m-{id_}"
    )


def received(message: Message, sender: JsonEncoder, receiver: JsonEncoder = KEYS) -> Any:
    """Return the message as it is read from a broker."""
    return unseal(PLANNER, seal(message, sender).body, receiver)[1]


def entries(world: World) -> list[tuple[str, str, Any, Any]]:
    found = world.ledger.transact(lambda tx: acts(tx, limit=100))
    return [(each.actor, each.action, each.target, each.result) for each in reversed(found)]


@pytest.mark.parametrize(("sender", "key"), [(KEYS, "ci-risk"), (OLD, "old")])
def test_the_audit_names_the_key_of_a_new_submission(sender: JsonEncoder, key: str, installed: World) -> None:
    message = received(one("first"), sender)
    assert message.signed_by == key
    for _ in range(2):  # The second delivery is a repetition.
        taken_in(installed.ledger, installed.catalogue, message)
    assert entries(installed) == [(f"key: {key}", "submit", {"apps": ["a"]}, {"submissions": ["first"]})]


def test_the_id_of_a_message_suppresses_no_entry(installed: World) -> None:
    for id_ in ("first", "second"):
        message = Submit(submission=one(id_).submission, id="the same")
        taken_in(installed.ledger, installed.catalogue, received(message, KEYS))
    assert [result["submissions"] for _, _, _, result in entries(installed)] == [["first"], ["second"]]


def test_a_refused_or_conflicting_submission_has_no_entry(installed: World) -> None:
    taken_in(installed.ledger, installed.catalogue, received(one("first"), KEYS))
    taken_in(installed.ledger, installed.catalogue, received(one("first", key="2"), KEYS))
    taken_in(installed.ledger, installed.catalogue, received(one("second", nonsense=1), KEYS))
    assert [result for _, _, _, result in entries(installed)] == [{"submissions": ["first"]}]


def test_without_keys_nothing_is_recorded(installed: World) -> None:
    plain = JsonEncoder()
    for sender in (plain, KEYS):
        message = received(one(f"by-{sender is KEYS}"), sender, plain)
        assert message.signed_by is None
        taken_in(installed.ledger, installed.catalogue, message)
    assert entries(installed) == []


def test_a_message_with_many_submissions_has_one_entry(
    installed: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "NAMED_MAX", 2)
    rows = tuple(Raw(json.dumps({"app": "a", "key": key, "id": key}).encode()) for key in "123")
    message = received(SubmitMany(submissions=rows, id="many"), KEYS)
    assert message.signed_by == "ci-risk"
    admission.admit(
        installed.ledger,
        [(f"many/{place}", row) for place, row in enumerate(message.submissions)],
        signed_by=message.signed_by,
    )
    assert entries(installed) == [
        ("key: ci-risk", "submit", {"apps": ["a"]}, {"submissions": ["1", "2"], "more": 1})
    ]


def test_a_sender_cannot_name_a_key_by_itself(installed: World) -> None:
    body = seal(one("first", signed_by="ci-risk"), OLD).body
    assert unseal(PLANNER, body, KEYS)[1].signed_by == "old"  # type: ignore[attr-defined] # it is a Submit
    many = json.loads(seal(SubmitMany(submissions=(), id="x"), JsonEncoder()).body)
    assert many["kwargs"] == {"submissions": []}
