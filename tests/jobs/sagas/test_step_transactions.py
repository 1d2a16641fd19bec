"""``flight.transaction``: the writes of a step and its end are committed together, in memory."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from sluice import Fatal, Flight, Rerun, Retry, Step, Wait, retry
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.journal import JournalTransaction
from sluice.jobs.sagas.result import FlightEnd
from sluice.testing import fly, fly_everywhere
from tests.jobs.sagas.air import Air


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE booking (step text)")
        yield connection


def bookings(database: sqlite3.Connection) -> list[str]:
    assert not database.in_transaction
    return [step for (step,) in database.execute("SELECT step FROM booking ORDER BY rowid")]


def book(flight: Flight, then: Any = None) -> None:
    with flight.transaction(*([] if then is None else [then])) as connection:
        connection.execute("INSERT INTO booking VALUES (?)", (flight.step_name,))
        flight.working[flight.step_name] = "booked"


def in_air(database: sqlite3.Connection, **scripted: Any) -> Air:
    air = Air("a b", **scripted)
    air.journal._connection = database
    return air


class Booking(Step):
    """Step that books in a transaction, and cancels the booking in another."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def do(self, flight: Flight) -> None:
        book(flight)

    def undo(self, flight: Flight) -> None:
        with flight.transaction() as connection:
            connection.execute("DELETE FROM booking WHERE step = ?", (self._name,))


def two_bookings(_: Flight) -> list[Step]:
    return [Booking("hotel"), Booking("train")]


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]


def test_the_writes_and_the_end_of_the_step_are_committed_together(database: sqlite3.Connection) -> None:
    air = in_air(database, do_a=[book])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert bookings(database) == ["a"]
    assert air.journal.lines == ["do 0 done", "do 1 done"]
    assert air.journal.entries[0].working == {"a": "booked"}


def test_an_error_in_the_block_leaves_neither(database: sqlite3.Connection) -> None:
    def fails(flight: Flight) -> None:
        with flight.transaction() as connection:
            connection.execute("INSERT INTO booking VALUES ('a')")
            raise RuntimeError("no room")

    air = in_air(database, do_a=[fails])
    end = air.fly()
    assert (end.how, end.failure and end.failure.message) == (FlightEnd.UNDONE, "no room")
    assert bookings(database) == []
    assert air.journal.lines == ["switch 0 done", "undo 0 done"]


def test_a_retry_in_the_block_is_a_retry(database: sqlite3.Connection) -> None:
    def busy(flight: Flight) -> None:
        with flight.transaction() as connection:
            connection.execute("INSERT INTO booking VALUES ('busy')")
            raise Retry("busy")

    air = in_air(database, do_a=[busy, book])
    air.rules["a"] = retry.fixed(seconds=1, times=2)
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert bookings(database) == ["a"]


@pytest.mark.parametrize("ending", [RuntimeError("too late"), Fatal("too late"), Retry("too late")])
def test_an_error_after_the_commit_is_logged_and_changes_nothing(
    database: sqlite3.Connection, caplog: pytest.LogCaptureFixture, ending: Exception
) -> None:
    def fails_afterwards(flight: Flight) -> None:
        book(flight)
        raise ending

    air = in_air(database, do_a=[fails_afterwards])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert bookings(database) == ["a"]
    (told,) = errors(caplog)
    assert told.startswith("a is done, because its transaction is committed; this has no effect: ")
    assert told.endswith("too late")


def test_a_second_block_is_an_error_after_the_commit(
    database: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    air = in_air(database, do_a=[lambda flight: (book(flight), book(flight))])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert bookings(database) == ["a"]
    assert "A step has one transaction, and this step's has been committed." in errors(caplog)[0]


def test_later_changes_of_the_working_map_are_dropped_with_an_error(
    database: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """The next run would not see them, so the next step must not either."""

    def changes(flight: Flight) -> None:
        book(flight)
        flight.working["late"] = True

    seen: list[dict[str, Any]] = []
    air = in_air(database, do_a=[changes], do_b=[lambda flight: seen.append(flight.working.kept())])
    air.fly()
    assert seen == [{"a": "booked"}]
    assert errors(caplog) == ["a has changed flight.working after its commit; the changes are dropped"]


def test_a_step_can_commit_each_of_its_passes(database: sqlite3.Connection) -> None:
    air = in_air(database, do_a=[lambda flight: book(flight, Rerun), book])
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert bookings(database) == ["a", "a"]
    assert air.journal.lines == ["do 0 again", "do 0 done", "do 1 done"]


def test_a_step_can_commit_and_wait(database: sqlite3.Connection) -> None:
    air = in_air(database, do_a=[lambda flight: book(flight, Wait("paid"))])
    end = air.fly()
    assert (end.how, end.awaits and end.awaits.event) == (FlightEnd.SUSPENDED, "paid")
    air.journal.tell("paid")
    assert air.fly().how is FlightEnd.SUCCEEDED
    assert air.calls == ["do a", "do b"]


@pytest.mark.parametrize("then", [Retry, Fatal("no"), "success"])
def test_only_the_end_of_a_step_can_be_committed(database: sqlite3.Connection, then: Any) -> None:
    air = in_air(database, do_a=[lambda flight: book(flight, then)])
    end = air.fly()
    assert end.how is FlightEnd.UNDONE
    assert "cannot be committed; then is Success, Rerun, Stop or Wait" in str(end.failure)


def test_an_undo_can_commit_its_writes(database: sqlite3.Connection) -> None:
    air = in_air(database, do_b=[Fatal("no")], undo_a=[book])
    assert air.fly().how is FlightEnd.UNDONE
    assert bookings(database) == ["a"]


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_commit_whose_answer_is_lost_counts_if_the_journal_has_the_entry(
    database: sqlite3.Connection, is_committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    air = in_air(database, do_a=[book])
    commits = air.journal.transaction

    @contextmanager
    def breaks() -> Iterator[JournalTransaction]:
        if is_committed:
            with commits() as opened:
                yield opened
        else:
            yield JournalTransaction(database, lambda _: air.journal.heed())
            database.rollback()
        raise ConnectionError("the server closed the connection")

    monkeypatch.setattr(air.journal, "transaction", breaks)
    assert air.fly().how is (FlightEnd.SUCCEEDED if is_committed else FlightEnd.UNDONE)
    assert bookings(database) == (["a"] if is_committed else [])


def test_an_injected_failure_rolls_the_writes_back(database: sqlite3.Connection) -> None:
    flown = fly(two_bookings, connection=database, debug=Debug(fail_do={"train": "fatal"}))
    assert (flown.ending, bookings(database)) == ("undone", [])


def test_flights_with_transactions_can_be_rehearsed_everywhere(database: sqlite3.Connection) -> None:
    report = fly_everywhere(two_bookings, left_behind=lambda: bookings(database), connection=database)
    assert report.troubles == []
    assert len(report.flights) > 40


def test_a_rehearsal_finds_a_commit_without_the_end_of_the_step(database: sqlite3.Connection) -> None:
    class Careless(Booking):
        def do(self, flight: Flight) -> None:
            database.execute("INSERT INTO booking VALUES (?)", (self.name,))
            database.commit()

    report = fly_everywhere(
        lambda _: [Careless("hotel"), Booking("train")],
        left_behind=lambda: bookings(database),
        reset=lambda: (database.execute("DELETE FROM booking"), database.commit()),
        connection=database,
    )
    assert any("a worker dies when do hotel has run" in trouble for trouble in report.troubles)


def test_without_a_database_the_advice_names_the_argument() -> None:
    flown = fly(two_bookings)
    assert "flight.transaction() needs a database: in a test, call fly(…, connection=…)." in (
        flown.error or ""
    )
