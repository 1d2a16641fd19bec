"""Sagas that cannot be taken up, and events that cannot be delivered."""

from pathlib import Path
from typing import Any

import pytest

from sluice.actors.executor.job_services import RunJournal
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.states import State
from tests.actors.test_saga_journal import NO_SAGA, TRIP, TRIP_1, Agency
from tests.ledger.flights import Sagas
from tests.world import LEASE_S, World


@pytest.fixture
def agency(world: World, tmp_path: Path) -> Agency:
    return Agency(world, tmp_path)


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("", None),
        ("x" * 201, None),
        ("a\0b", None),
        ("paid", {1: 2}),
        ("paid", "\0"),
        ("paid", {"n": float("nan")}),
    ],
)
def test_an_event_that_the_ledger_cannot_store_is_refused(agency: Agency, event: str, payload: Any) -> None:
    with pytest.raises(BadRequest, match="The event cannot be kept"):
        agency.client.resume_job(TRIP_1, event, payload=payload)


def test_a_flight_with_an_unreadable_journal_is_handed_back(
    agency: Agency, monkeypatch: pytest.MonkeyPatch
) -> None:
    agency.run()
    agency.client.resume_job(TRIP_1, "approved", payload="ann")
    agency.define(NO_SAGA)
    with monkeypatch.context() as away:
        away.setattr(RunJournal, "read", lambda _: None)
        assert agency.run() is State.READY
    assert agency.run() is State.FATAL


def test_a_flight_lost_in_its_first_step_waits_for_a_fixed_app(agency: Agency) -> None:
    Sagas(agency.world).claim("trip")
    agency.world.tick(after_s=LEASE_S + 1)
    agency.define(NO_SAGA)
    assert agency.run() is State.FATAL
    agency.world.submit("trip", rerun="job")
    assert agency.run() is State.FATAL
    agency.define(TRIP)
    agency.world.submit("trip", rerun="job")
    assert agency.run() is State.SUSPENDED


def test_a_flight_that_has_not_begun_fails_like_any_job(agency: Agency) -> None:
    agency.define(TRIP.replace("return [Ask(), Book()]", "return None"))
    assert agency.run() is State.FAILED


def test_an_event_that_comes_before_its_submission_is_not_lost(agency: Agency) -> None:
    agency.told(app="trip", key="2", event="approved", payload="ann", id="early")
    agency.world.submit("trip", "2")
    agency.world.tick()
    found = agency.world.ledger.transact(lambda tx: tx.rows("SELECT name, payload FROM saga_signal"))
    assert found == [("approved", "ann")]


def test_an_event_that_must_not_be_early_is_refused_without_a_job(agency: Agency) -> None:
    with pytest.raises(BadRequest, match="no job trip/2"):
        agency.client.resume_job(JobName("trip", "2"), "approved", may_be_early=False)
