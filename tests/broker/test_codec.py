"""Encoding and decoding of messages, without a broker."""

import json
from typing import Any

import msgspec
import pytest
from dramatiq import DecodeError
from msgspec import Raw

from sluice.broker import codec
from sluice.broker.messages import (
    MESSAGES,
    Cancel,
    Ended,
    Execute,
    Executed,
    JobRound,
    Landed,
    Look,
    Message,
    Pause,
    Plan,
    Resume,
    Submit,
    SubmitMany,
    Tick,
    Watch,
)
from sluice.jobs.errors import BadMessage

EVERY_KIND: list[Message] = [
    Submit(submission=Raw(b'{"app":"etl","keys":["a","b"],"policy":{"max_fails":2}}'), id="one"),
    SubmitMany(submissions=(Raw(b'{"app":"etl"}'), Raw(b'{"nonsense":[1,2]}')), id="two"),
    Cancel(submission="one"),
    Cancel(app="etl", key="2026-01-01"),
    Pause(submission="one"),
    Landed(table="events", partitions=("2024-04-01", "2024-04-03..2024-04-05")),
    Resume(submission="one", id="three"),
    Resume(app="etl", key="2026-01-01", event="approved", payload={"by": "ann", "n": [1, None]}, id="four"),
    Plan(submissions=("one", "two")),
    Executed(jobs=(1, 2, 3)),
    Ended(jobs=(4,)),
    Tick(),
    Look(),
    Execute(app="etl", jobs=(JobRound(1, 0), JobRound(2, 7))),
    Watch(app="etl", jobs=(1, 2)),
]


def envelope(**changes: Any) -> bytes:
    fields = {
        "queue_name": "planner",
        "actor_name": "submit",
        "args": [],
        "kwargs": {"app": "etl", "key": "2026-01-01"},
        "options": {},
        "message_id": "7c0f",
        "message_timestamp": 1_770_000_000_000,
    }
    return json.dumps({key: value for key, value in (fields | changes).items() if value is not None}).encode()


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda message: message.actor)
def test_every_message_arrives_as_it_was_sent(message: Message) -> None:
    letter = codec.seal(message)
    _, arrived = codec.unseal(letter.queue, letter.body)
    assert msgspec.json.encode(arrived) == msgspec.json.encode(message)
    assert letter.queue == message.queue


def test_an_event_has_its_own_id_or_the_id_of_its_message() -> None:
    words = {"app": "order", "key": "7", "event": "paid"}
    for kwargs, id in ((words | {"id": "evt-1"}, "evt-1"), (words, "7c0f")):
        _, message = codec.unseal("planner", envelope(actor_name="resume", kwargs=kwargs))
        assert isinstance(message, Resume)
        assert message.id == id


@pytest.mark.parametrize("id", ["", "x" * 201, 7])
def test_an_event_with_an_unusable_id_is_refused(id: object) -> None:
    body = envelope(actor_name="resume", kwargs={"app": "order", "key": "7", "event": "paid", "id": id})
    with pytest.raises(BadMessage, match="do not fit 'resume'"):
        codec.unseal("planner", body)


def test_every_kind_of_message_has_an_example() -> None:
    assert {type(message) for message in EVERY_KIND} == set(MESSAGES)


def test_the_fields_of_a_submission_are_kept_unchanged() -> None:
    _, message = codec.unseal(
        "planner", envelope(kwargs={"app": "etl", "work_ids": [[1, 3]], "unheard": 1.50})
    )
    assert isinstance(message, Submit)
    assert json.loads(bytes(message.submission)) == {"app": "etl", "work_ids": [[1, 3]], "unheard": 1.5}
    assert message.id == "7c0f"


def test_an_unreadable_submission_does_not_affect_its_batch() -> None:
    body = envelope(actor_name="submit_many", kwargs={"submissions": [{"app": "etl"}, 17, "x"]})
    _, message = codec.unseal("planner", body)
    assert isinstance(message, SubmitMany)
    assert [bytes(one) for one in message.submissions] == [b'{"app": "etl"}', b"17", b'"x"']


def test_options_from_outside_are_dropped() -> None:
    wishes = {"on_success": "evil", "pipe_target": {}, "eta": 1, "max_retries": 9, "redis_message_id": "r1"}
    opened, _ = codec.unseal("planner", envelope(options=wishes))
    assert opened.options == {"redis_message_id": "r1"}


def test_args_options_and_timestamp_may_be_left_out() -> None:
    _, message = codec.unseal("planner", envelope(args=None, options=None, message_timestamp=None))
    assert isinstance(message, Submit)


def test_the_queue_name_in_the_envelope_is_ignored() -> None:
    opened, _ = codec.unseal("planner", envelope(queue_name="somewhere"))
    assert opened.queue_name == "planner"


DEEP = b'{"queue_name":"planner","actor_name":"submit","message_id":"m","kwargs":{"app":' + b"[" * 100_000

REFUSED = {
    "nothing": (b"", "truncated"),
    "no JSON": (b"nonsense", "malformed"),
    "no object": (b"[1]", "Expected `object`"),
    "broken text": (b'{"queue_name":"\xff"}', "utf-8"),
    "broken text in a submission": (
        envelope(actor_name="submit", kwargs={"app": "a", "key": "KEY"}).replace(b"KEY", b"\xff"),
        "utf-8",
    ),
    "nested too deeply": (DEEP, "nests deeper than 256 levels"),
    "no id": (envelope(message_id=None), "message_id"),
    "an empty id": (envelope(message_id=""), "message_id"),
    "a long id": (envelope(message_id="x" * 201), "message_id"),
    "NUL in the id": (envelope(message_id="a\x00b"), "message_id"),
    "unknown actor": (envelope(actor_name="rm_rf"), "no actor is called 'rm_rf'"),
    "positional arguments": (envelope(args=[1]), "keyword arguments only"),
    "unknown field": (envelope(actor_name="plan", kwargs={"submissions": [], "x": 1}), "unknown field `x`"),
    "unknown field beside submissions": (
        envelope(actor_name="submit_many", kwargs={"submissions": [], "x": 1}),
        "unknown field `x`",
    ),
    "missing field": (envelope(actor_name="plan", kwargs={}), "missing required field"),
    "wrong type": (envelope(actor_name="executed", kwargs={"jobs": ["a"]}), "Expected `int`"),
    "a number that no job has": (envelope(actor_name="ended", kwargs={"jobs": [2**63]}), "Expected `int`"),
    "a number beyond all": (envelope(actor_name="executed", kwargs={"jobs": [2**200]}), "Expected `int`"),
    "a number below none": (envelope(actor_name="ended", kwargs={"jobs": [-1]}), "Expected `int` >= 0"),
    "a round that no job has": (
        envelope(actor_name="execute", kwargs={"app": "etl", "jobs": [[1, 2**31]]}),
        "Expected `int` <= 2147483647",
    ),
    "NUL in a name": (envelope(actor_name="cancel", kwargs={"submission": "a\x00b"}), "NUL"),
    "NUL in a list": (envelope(actor_name="plan", kwargs={"submissions": ["a", "\x00"]}), "NUL"),
    "wrong queue": (envelope(actor_name="tick", kwargs={}), "belongs on queue 'groomer'"),
    "another app's": (
        envelope(actor_name="execute", kwargs={"app": "etl", "jobs": []}),
        "belongs on queue 'etl'",
    ),
}


@pytest.mark.parametrize(("body", "why"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_message_is_refused_with_a_reason(body: bytes, why: str) -> None:
    with pytest.raises(BadMessage, match=why) as refused:
        codec.unseal("planner", body)
    assert "\n" not in refused.value.what


def test_a_body_above_the_size_limit_is_refused_without_being_read() -> None:
    with pytest.raises(DecodeError, match="the limit is 4194304"):
        codec.JsonEncoder().decode(b"not even JSON" * 400_000)


def test_a_message_above_the_size_limit_is_not_sent() -> None:
    with pytest.raises(BadMessage, match="the limit is 4194304") as refused:
        codec.seal(Plan(submissions=("x" * 5_000_000,)))
    assert "Split it" in refused.value.advice
