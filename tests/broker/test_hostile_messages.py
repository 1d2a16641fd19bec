"""Hostile messages from a queue: each is decoded, or refused with one line."""

from collections import Counter

import pytest
from dramatiq import DecodeError

from sluice.broker import codec
from sluice.broker.messages import MESSAGES
from sluice.jobs.errors import BadMessage
from tests.broker.hostile import hostile_messages

COUNT = 2000


def test_two_thousand_mutated_messages_are_decoded_or_refused() -> None:
    read: Counter[str] = Counter()
    refusals: list[str] = []
    for hostile in hostile_messages(1, COUNT):
        try:
            envelope, message = codec.unseal(hostile.queue, hostile.body)
        except BadMessage as error:
            refusals.append(error.what)
        else:
            assert message.queue == envelope.queue_name == hostile.queue
            read[message.actor] += 1
        codec.id_of(hostile.body)
    assert read.keys() == {kind.actor for kind in MESSAGES}
    assert read.total() + len(refusals) == COUNT
    assert len(refusals) > COUNT / 10
    assert {len(refusal.splitlines()) for refusal in refusals} == {1}


@pytest.mark.parametrize("seed", [2, 3])
def test_the_envelope_of_a_hostile_message_is_decoded_or_refused(seed: int) -> None:
    """Dramatiq's own consumers decode the envelope in this way, before its kwargs are read."""
    for hostile in hostile_messages(seed, 500):
        try:
            fields = codec.JsonEncoder().decode(hostile.body)
        except DecodeError:
            continue
        assert set(fields["options"]) <= {"redis_message_id"}
        assert isinstance(fields["message_timestamp"], int)
