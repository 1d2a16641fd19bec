"""The id of an event: an event with the same id for the same job is kept once, by whichever way it comes."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sluice.actors.worker.handlers import handle
from sluice.broker import codec
from sluice.jobs.errors import BadMessage, BadRequest
from sluice.jobs.model.request_limits import DEPTH_MAX
from sluice.jobs.states import State
from sluice.ledger.sagas.events import EventOutcome
from tests.actors.test_saga_journal import TRIP_1, Agency
from tests.world import World

EVENT: dict[str, Any] = {"app": "trip", "key": "1", "event": "approved", "payload": "ann"}


@pytest.fixture
def agency(world: World, tmp_path: Path) -> Agency:
    return Agency(world, tmp_path)


def _kept(agency: Agency, table: str = "saga_signal") -> list[str]:
    return agency.world.ledger.transact(lambda tx: tx.column(f"SELECT token FROM {table} ORDER BY id"))


def _deliver(agency: Agency, message_id: str, **words: Any) -> None:
    letter = {
        "queue_name": "planner",
        "actor_name": "resume",
        "message_id": message_id,
        "kwargs": EVENT | words,
    }
    _, message = codec.unseal("planner", json.dumps(letter).encode())
    agency.world.queue.extend(handle(agency.world.ledger, agency.world.catalogue, message))
    agency.world.deliver()


def _by_sql(agency: Agency, **words: Any) -> str:
    """Send an event in its own transaction, and return the answer."""
    with psycopg.connect(agency.world.url) as connection:
        (answer,) = connection.execute(
            "SELECT sluice.resume(%s)", [json.dumps(EVENT | words)]
        ).fetchone() or ("",)
    return str(answer)


def test_an_event_that_is_repeated_by_any_way_is_kept_once(agency: Agency) -> None:
    _deliver(agency, "one", id="evt-1")
    _deliver(agency, "two", id="evt-1")
    assert agency.client.resume_job(TRIP_1, "approved", id="evt-1") is EventOutcome.REPEATED
    assert _by_sql(agency, id="evt-1") == "repeated"
    assert _kept(agency) == ["evt-1"]
    assert agency.run() is State.READY


def test_an_event_without_an_id_gets_the_id_of_its_message(agency: Agency) -> None:
    _deliver(agency, "one")
    _deliver(agency, "one")
    _deliver(agency, "two")
    assert _kept(agency) == ["one", "two"]


def test_two_jobs_may_have_events_with_the_same_id(agency: Agency) -> None:
    agency.world.submit("trip", "2")
    _deliver(agency, "one", id="evt-1")
    _deliver(agency, "two", id="evt-1", key="2")
    assert _kept(agency) == ["evt-1", "evt-1"]


def test_a_repeated_event_of_a_job_that_has_ended_is_no_error(agency: Agency) -> None:
    assert agency.run() is State.SUSPENDED
    assert agency.client.resume_job(TRIP_1, "approved", id="evt-1") is EventOutcome.RESUMED
    assert agency.run() is State.SUCCEEDED
    assert agency.client.resume_job(TRIP_1, "approved", id="evt-1") is EventOutcome.REPEATED
    _deliver(agency, "one", id="evt-1")
    assert _by_sql(agency, id="evt-1") == "repeated"
    with pytest.raises(BadRequest, match="trip/1 is succeeded"):
        agency.client.resume_job(TRIP_1, "approved", id="evt-2")
    with pytest.raises(BadMessage, match="trip/1 is succeeded"):
        _deliver(agency, "two", id="evt-2")
    assert _by_sql(agency, id="evt-2") == "too_late"


@pytest.mark.parametrize("id", ["", "x" * 201, "a\0b"])
def test_an_event_id_that_cannot_be_stored_is_refused(agency: Agency, id: str) -> None:
    with pytest.raises(BadRequest, match="The event cannot be kept"):
        agency.client.resume_job(TRIP_1, "approved", id=id)


def test_an_event_by_sql_ends_a_wait_once_its_transaction_has_committed(agency: Agency) -> None:
    assert agency.run() is State.SUSPENDED
    with psycopg.connect(agency.world.url) as connection:
        connection.execute("SELECT sluice.resume(%s)", [json.dumps(EVENT)])
        connection.rollback()
    assert _kept(agency, "saga_signal_early") == []
    assert _by_sql(agency, id="evt-1") == "kept"
    assert _by_sql(agency, id="evt-1") == "repeated"
    agency.world.tick()
    assert (agency.state, _kept(agency)) == (State.READY, ["evt-1"])
    assert agency.run() is State.SUCCEEDED
    assert agency.own["calls"] == ["ask", "book by ann"]


def test_an_event_by_sql_may_come_before_its_job(agency: Agency) -> None:
    assert _by_sql(agency, key="2") == "kept"
    agency.world.submit("trip", "2")
    agency.world.tick()
    assert len(_kept(agency)) == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"app": None}, "app"),
        ({"key": 7}, "key"),
        ({"event": ""}, "event"),
        ({"event": "x" * 201}, "event"),
        ({"id": ""}, "id"),
        ({"id": "x" * 201}, "id"),
        ({"evnt": "paid"}, "evnt"),
    ],
)
def test_an_event_by_sql_that_cannot_be_read_is_refused(
    agency: Agency, words: dict[str, Any], why: str
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=why):
        _by_sql(agency, **words)


def _nested(levels: int) -> object:
    made: object = 1
    for _ in range(levels):
        made = [made]
    return made


def test_a_payload_that_nests_too_deeply_is_refused_by_every_way(agency: Agency) -> None:
    payload = _nested(DEPTH_MAX + 1)
    with pytest.raises(BadMessage, match="deeper than 64 levels"):
        _deliver(agency, "one", payload=payload)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="deeper than 64 levels"):
        _by_sql(agency, payload=payload)
    with pytest.raises(BadRequest, match="deeper than 64 levels"):
        agency.client.resume_job(TRIP_1, "approved", payload=payload)
    assert _kept(agency) == []
