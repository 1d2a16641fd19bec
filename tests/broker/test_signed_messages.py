"""Messages that other programs publish: with options of their own, without a signature, or with a wrong signature."""

import hashlib
import hmac
import json
import logging
from typing import Any

import pytest

from sluice.broker import codec
from sluice.broker.codec import JsonEncoder
from sluice.broker.delivery import Delivery
from sluice.broker.messages import PLANNER, Message
from sluice.broker.signing import Keyring
from tests.broker.conftest import Post, Ran, parcel, until
from tests.broker.test_codec import envelope

KEYS = Keyring({"here": "h" * 32})
ELSEWHERE = Keyring({"here": "e" * 32})
#: Options with which dramatiq's own middleware sends further messages, delays this one, or retries it indefinitely.
WISHES: dict[str, Any] = {
    "on_success": "rm_rf",
    "on_failure": {"actor_name": "rm_rf", "queue_name": "planner"},
    "pipe_target": {
        "queue_name": "planner",
        "actor_name": "submit",
        "kwargs": {"app": "evil"},
        "options": {},
    },
    "pipe_ignore": True,
    "max_retries": 10**6,
    "eta": 4_000_000_000_000,
    "time_limit": 1,
    "max_age": 1,
    "group_completion_uuid": "x",
}


def test_dramatiq_options_of_a_foreign_message_have_no_effect(post: Post) -> None:
    """They cause no other message and no retry, neither at once nor when the handler fails."""
    seen: list[Delivery] = []
    ran = Ran()

    def fail(message: Message, delivery: Delivery) -> None:
        seen.append(delivery)
        ran(message, delivery)
        if len(seen) == 1:
            raise RuntimeError("as it is retried by dramatiq's own middleware")

    post.serve({"execute": fail}, [post.app, PLANNER])
    kwargs = {"app": post.app, "jobs": [[7, 0]]}
    body = envelope(queue_name=post.app, actor_name="execute", kwargs=kwargs, options=WISHES)
    post.put(post.app, body)
    until(lambda: seen)
    post.put(post.app, body)
    until(lambda: len(seen) == 2)
    post.broker.publish(parcel(post.app, 8))
    until(lambda: 8 in ran.jobs)
    assert ran.jobs == [7, 7, 8]
    assert [set(delivery.options) - {"redis_message_id"} for delivery in seen] == [set()] * 3
    until(lambda: post.broker.depth(post.app) + post.broker.depth(PLANNER) == 0)
    assert post.broker.dead_letters(post.app) + post.broker.dead_letters(PLANNER) == 0


def test_signed_messages_are_handled_and_all_others_become_dead_letters(
    server: Post, caplog: pytest.LogCaptureFixture
) -> None:
    ran = Ran()
    signed, open_ = server.connect(keys=KEYS), server.broker
    server.serve({"execute": ran}, broker=server.connect(keys=KEYS))
    with caplog.at_level(logging.ERROR, logger="sluice"):
        open_.publish(parcel(server.app, 1))
        server.connect(keys=ELSEWHERE).publish(parcel(server.app, 2))
        until(lambda: server.broker.dead_letters(server.app) == 2)
        signed.publish(parcel(server.app, 3))
        until(lambda: ran.jobs)
    assert ran.jobs == [3]
    told = sorted(
        record.getMessage().rpartition("dead letters: ")[2]
        for record in caplog.records
        if "dead letters" in record.getMessage()
    )
    assert told == [
        "it is not signed, and SLUICE_MESSAGE_KEYS is set here",
        "its signature by the key 'here' is not right",
    ]
    assert "h" * 32 not in caplog.text


def test_a_key_can_be_replaced_while_processes_use_both_keys(server: Post) -> None:
    old, new = {"old": "o" * 32}, {"new": "n" * 32}
    ran = Ran()
    server.serve({"execute": ran}, broker=server.connect(keys=Keyring(old | new)))
    for number, keys in enumerate([Keyring(old), Keyring(old | new), Keyring(new | old), Keyring(new)]):
        server.connect(keys=keys).publish(parcel(server.app, number))
    until(lambda: len(ran.jobs) == 4)
    assert sorted(ran.jobs) == [0, 1, 2, 3]
    assert server.broker.dead_letters(server.app) == 0


def test_a_process_without_keys_reads_signed_messages(server: Post) -> None:
    ran = Ran()
    server.serve({"execute": ran})
    server.connect(keys=KEYS).publish(parcel(server.app, 1))
    until(lambda: ran.jobs == [1])


def test_a_message_that_was_signed_without_our_code_is_accepted(server: Post) -> None:
    """It is signed as ``docs/messages.md`` describes, and its whitespace differs from ours."""

    ran = Ran()
    server.serve({"execute": ran}, broker=server.connect(keys=KEYS))
    fields = json.loads(envelope(actor_name="execute", kwargs={"app": server.app, "jobs": [[5, 0]]}))
    written = json.dumps(fields, indent=2).encode()
    signature = hmac.new(b"h" * 32, written, hashlib.sha256).hexdigest()
    server.put(server.app, f"HMAC-SHA256 here {signature}\n".encode() + written)
    until(lambda: ran.jobs == [5])
    assert codec.unseal(server.app, KEYS.sign(written), JsonEncoder(KEYS))
