"""Events that come before their job: they are kept under its name, and handed on when it exists."""

import pytest

from sluice.jobs.model.names import JobName
from sluice.jobs.sagas.journal import FlightEvent
from sluice.jobs.states import State
from sluice.ledger.sagas import events
from sluice.ledger.sagas.events import KEPT_S, EventOutcome, EventRequest
from tests.ledger.flights import Sagas, came
from tests.world import World


@pytest.fixture
def sagas(world: World) -> Sagas:
    world.apps("a")
    return Sagas(world)


def _say(
    sagas: Sagas, name: str | None, *, token: str, key: str = "1", payload: object = None
) -> EventOutcome:
    said = EventRequest(name=name, payload=payload, by="ann", token=token)  # type: ignore[arg-type]  # It is JSON.
    return sagas.world.ledger.transact(
        lambda tx: events.deliver(tx, JobName("a", key), said, may_be_early=True).became
    )


def _heard(sagas: Sagas) -> list[FlightEvent]:
    log = sagas.read(sagas.claim())
    assert log is not None
    return list(log.events)


def _kept(sagas: Sagas) -> list[str]:
    return sagas.world.ledger.transact(
        lambda tx: tx.column("SELECT token FROM saga_signal_early ORDER BY id")
    )


def test_an_event_that_comes_before_its_job_is_handed_on_to_its_flight(sagas: Sagas) -> None:
    assert _say(sagas, "approved", token="one", payload={"by": "ann"}) is EventOutcome.EARLY
    assert _say(sagas, "paid", token="two") is EventOutcome.EARLY
    assert _say(sagas, "paid", token="two") is EventOutcome.REPEATED
    assert _say(sagas, "approved", token="one", key="2") is EventOutcome.EARLY
    sagas.world.tick()
    assert _kept(sagas) == ["one", "two", "one"], "their jobs do not exist yet"
    sagas.world.submit("a")
    sagas.world.tick()
    assert [(each.name, each.payload) for each in _heard(sagas)] == [
        ("approved", {"by": "ann"}),
        ("paid", None),
    ]
    assert _kept(sagas) == ["one"], "the event of the other job stays"


def test_a_suspended_flight_is_resumed_by_the_tick_that_hands_on_its_event(sagas: Sagas) -> None:
    _say(sagas, "approved", token="one")
    sagas.world.submit("a")
    sagas.suspend(sagas.claim(), 1, "approved")
    assert sagas.world.state("a") is State.SUSPENDED
    sagas.world.tick()
    assert sagas.world.state("a") is State.READY
    second = sagas.claim()
    log = sagas.read(second)
    assert log is not None
    assert sagas.write(second, came(2, log.events[0].id)).stands


def test_a_flight_that_waits_for_another_event_stays_suspended(sagas: Sagas) -> None:
    _say(sagas, "paid", token="one")
    sagas.world.submit("a")
    sagas.suspend(sagas.claim(), 1, "approved")
    sagas.world.tick()
    assert (sagas.world.state("a"), _kept(sagas)) == (State.SUSPENDED, [])


def test_an_event_that_is_sent_again_once_the_job_exists_counts_once(sagas: Sagas) -> None:
    _say(sagas, "approved", token="one")
    sagas.world.submit("a")
    assert _say(sagas, "approved", token="one") is EventOutcome.KEPT
    sagas.world.tick()
    assert len(_heard(sagas)) == 1
    assert _say(sagas, "approved", token="one") is EventOutcome.REPEATED


def test_an_early_event_for_a_job_that_has_ended_is_dropped(sagas: Sagas) -> None:
    _say(sagas, "approved", token="one")
    sagas.world.submit("a")
    sagas.end(sagas.claim())
    sagas.world.tick()
    assert (
        _kept(sagas),
        sagas.world.ledger.transact(lambda tx: tx.column("SELECT id FROM saga_signal")),
    ) == (
        [],
        [],
    )


def test_an_early_event_is_dropped_after_a_day_without_its_job(sagas: Sagas) -> None:
    _say(sagas, "approved", token="one")
    sagas.world.tick(after_s=KEPT_S)
    assert _kept(sagas) == ["one"]
    sagas.world.tick(after_s=1)
    assert _kept(sagas) == []
