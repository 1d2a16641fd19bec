"""Sagas between a claim and its outcome: the journal in the ledger, and the events that arrive meanwhile."""

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from sluice.actors.assembly import stores
from sluice.actors.client import Client
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.execution import Execution
from sluice.actors.executor.job_services import RunJournal
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Execute, JobRound, Message, Resume
from sluice.jobs.catalogue import load
from sluice.jobs.errors import BadMessage, BadRequest, Unreachable
from sluice.jobs.model.names import JobName
from sluice.jobs.sagas.journal import Direction, JournalEntry, JournalReply, Log
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.sagas.events import EventOutcome
from tests.world import World

TRIP = """
from sluice import Fatal, Step, Wait, app, saga

calls = []
broken = []

class Ask(Step):
    def do(self, flight):
        calls.append("ask")
        flight.working["asked"] = flight.inputs["x"]
        return Wait("approved", timeout="1h")

    def undo(self, flight):
        calls.append("take back")
        if broken:
            raise OSError(broken[0])

class Book(Step):
    def do(self, flight):
        calls.append(f"book by {flight.events['approved']}")
        return Fatal("full") if flight.events["approved"] == "bob" else None

    def undo(self, flight):
        calls.append("unbook")

@saga(job_id="{x}")
def trip(flight):
    return [Ask(), Book()]
"""
NO_SAGA = """
from sluice import app

@app(job_id="{x}")
def trip(job): ...
"""
TRIP_1 = JobName("trip", "1")


class Acknowledged:
    def acknowledge(self) -> None: ...

    def give_back(self) -> None: ...


class Agency:
    """World with a saga for trips, and workers that run its first job."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self._source = folder / "trips.py"
        self.define(TRIP)
        self.submission = world.submit("trip")
        self.client = Client(world.ledger, self._send, lambda: world.catalogue)

    def define(self, text: str) -> None:
        self._source.write_text(text)
        self.world.catalogue = load([str(self._source)])

    @property
    def own(self) -> dict[str, Any]:
        """Global names of the module that defines the trips."""
        app = self.world.catalogue.app("trip")
        assert app.saga is not None
        found: dict[str, Any] = app.saga.build.__globals__  # type: ignore[attr-defined]  # It is a function.
        return found

    def run(self) -> State:
        running = Execution(
            self.world.ledger,
            lambda: self.world.catalogue,
            ClaimsInFlight(),
            self.world.hire(),
            self._send,
            stores=stores(Settings()),
        )
        turn = JobRound(self.world.known("trip").id, self.world.round("trip"))
        running.execute(Execute(app="trip", jobs=(turn,)), Acknowledged())
        return self.state

    def told(self, **words: Any) -> None:
        self._send(handle(self.world.ledger, self.world.catalogue, Resume(**words)))

    @property
    def state(self) -> State:
        return self.world.state("trip")

    def _send(self, messages: Sequence[Message]) -> None:
        self.world.queue.extend(messages)
        self.world.deliver()


@pytest.fixture
def agency(world: World, tmp_path: Path) -> Agency:
    return Agency(world, tmp_path)


def test_a_flight_continues_where_it_was_when_its_event_arrives(agency: Agency) -> None:
    assert agency.run() is State.SUSPENDED
    agency.told(app="trip", key="1", event="approved", payload="ann", id="said")
    assert agency.state is State.READY
    assert agency.run() is State.SUCCEEDED
    assert agency.own["calls"] == ["ask", "book by ann"]


def test_an_event_in_a_repeated_message_is_kept_once(agency: Agency) -> None:
    for _ in range(2):
        agency.told(app="trip", key="1", event="approved", payload="ann", id="said")
    assert agency.run() is State.READY
    events = agency.world.ledger.transact(lambda tx: tx.column("SELECT id FROM saga_signal"))
    assert len(events) == 1


def test_a_flight_is_undone_when_its_wait_times_out(agency: Agency) -> None:
    assert agency.run() is State.SUSPENDED
    agency.world.tick(after_s=3600)
    assert agency.run() is State.FAILED
    assert agency.own["calls"] == ["ask", "take back"]


def test_a_cancelled_flight_is_undone(agency: Agency) -> None:
    assert agency.run() is State.SUSPENDED
    agency.world.cancel(agency.submission)
    agency.world.tick()
    assert agency.run() is State.CANCELLED
    assert agency.own["calls"] == ["ask", "take back"]


def test_a_failed_undo_can_be_marked_as_done_by_hand(
    agency: Agency, caplog: pytest.LogCaptureFixture
) -> None:
    agency.run()
    agency.client.resume_job(TRIP_1, "approved", payload="bob")
    agency.own["broken"].append("the line is dead")
    with caplog.at_level(logging.ERROR):
        assert agency.run() is State.FATAL
    assert "DISMAL FAILURE" in caplog.text
    agency.client.force_done(TRIP_1, by="ann")
    assert agency.run() is State.FAILED
    assert agency.own["calls"] == ["ask", "book by bob", "unbook", "take back"]
    with pytest.raises(BadRequest, match="No undo of trip/1 has failed"):
        agency.client.force_done(TRIP_1, by="ann")


def test_a_rerun_retries_a_failed_undo(agency: Agency) -> None:
    agency.run()
    agency.client.resume_job(TRIP_1, "approved", payload="bob")
    agency.own["broken"].append("the line is dead")
    assert agency.run() is State.FATAL
    agency.own["broken"].clear()
    agency.world.submit("trip", rerun="job")
    assert agency.run() is State.FAILED
    assert agency.own["calls"] == ["ask", "book by bob", "unbook", "take back", "take back"]


def test_resuming_a_job_reports_whether_the_event_was_kept(agency: Agency) -> None:
    assert agency.client.resume_job(TRIP_1, "approved") is EventOutcome.KEPT
    assert agency.client.resume_job(TRIP_1, "paid") is EventOutcome.KEPT
    agency.run()
    agency.run()
    with pytest.raises(BadRequest, match="trip/1 is succeeded"):
        agency.client.resume_job(TRIP_1)
    assert agency.client.resume_job(JobName("trip", "9")) is EventOutcome.EARLY


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"submission": "s", "app": "trip", "key": "1"},
        {"submission": "s", "event": "approved"},
        {"app": "trip"},
        {"app": "train", "key": "9"},
    ],
)
def test_a_resume_message_without_a_valid_target_is_a_dead_letter(
    agency: Agency, words: dict[str, str]
) -> None:
    with pytest.raises(BadMessage):
        agency.told(**words)


def test_resuming_a_job_that_is_no_saga_is_refused(agency: Agency) -> None:
    agency.define(NO_SAGA)
    with pytest.raises(BadRequest, match="no saga"):
        agency.client.resume_job(TRIP_1)


def test_a_flight_continues_after_its_app_was_temporarily_no_saga(agency: Agency) -> None:
    agency.run()
    agency.client.resume_job(TRIP_1, "approved", payload="ann")
    agency.define(NO_SAGA)
    assert agency.run() is State.FATAL
    agency.define(TRIP)
    agency.world.submit("trip", rerun="job")
    assert agency.run() is State.SUCCEEDED


# Journaling alone, with a ledger that is unreachable at first.


class _Away:
    """Ledger that is unreachable for this many requests, and then returns this answer."""

    def __init__(self, times: int, answer: object) -> None:
        self.times = times
        self.answer = answer

    def transact(self, _: object, at: object = None) -> object:
        self.times -= 1
        if self.times >= 0:
            raise Unreachable("The ledger does not answer.")
        return self.answer

    run_alone = transact


def _journaling(times: int, answer: object, stop: Event) -> RunJournal:
    job = ClaimedJob(1, "trip", "1", 0, 1, None, None, None, None)
    return RunJournal(cast(Ledger, _Away(times, answer)), job, stop)


ENTRY = JournalEntry(seq=1, step=0, name="Ask", steps=2, direction=Direction.DO)


def test_writing_an_entry_is_retried_until_the_ledger_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.actors.executor.ledger_retry.AGAIN_S", 0.001)
    heard = JournalReply(stands=True, abort_reason="cancelled")
    assert _journaling(3, heard, Event()).write(ENTRY) == heard
    assert _journaling(3, Log(), Event()).read() == Log()


def test_writing_an_entry_stops_once_the_lease_is_not_trusted() -> None:
    stop = Event()
    stop.set()
    assert not _journaling(99, None, stop).write(ENTRY).stands
    assert _journaling(99, None, stop).read() is None


def test_a_run_that_must_stop_still_writes_an_entry_to_a_reachable_ledger() -> None:
    stop = Event()
    stop.set()
    assert _journaling(0, JournalReply(stands=True), stop).write(ENTRY).stands


def test_heed_returns_the_last_known_answer_while_the_ledger_is_away() -> None:
    stop = Event()
    journal = _journaling(0, JournalReply(stands=True, abort_reason="cancelled"), stop)
    journal.heed()
    journal._ledger = cast(Ledger, _Away(99, None))
    assert journal.heed() == JournalReply(stands=True, abort_reason="cancelled")
    journal.meter("files", 1, 2)
    stop.set()
    assert not journal.heed().stands
