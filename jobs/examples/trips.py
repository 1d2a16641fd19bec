"""A trip that is booked as a whole or not at all.

    reserve a seat  ─►  pay for it  ─►  print the ticket

    sluice --apps jobs/examples/trips.py run trip ann_LX318

Each step has a second half that takes it back. Where one fails, it is taken back, and all before it: so nobody pays for
a seat that is gone, and no seat stays empty that nobody pays for. See it fail, at each of its steps, and after each:

    sluice --apps jobs/examples/trips.py run trip bob_LX318 --fail-last
    sluice --apps jobs/examples/trips.py run trip eve_LX318 --fail-at 1=fatal --restart-each-step

A worker may die anywhere, so that a step begins again though it has run already. Whatever is done to the outside world
bears ``flight.token``, which is the same each time: the airline, asked twice under one token, gives one seat.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice import Fatal, Retry, Step, retry, saga
from sluice.jobs.sagas.flight import Flight

SEATS = 3
FARE = 120
#: What everybody has in the bank to begin with.
BALANCE = 200

_TABLES = """
CREATE TABLE IF NOT EXISTS seat (token TEXT PRIMARY KEY, flight_no TEXT, seat INTEGER, UNIQUE (flight_no, seat));
CREATE TABLE IF NOT EXISTS payment (token TEXT PRIMARY KEY, customer TEXT, amount INTEGER);
CREATE TABLE IF NOT EXISTS ticket (token TEXT PRIMARY KEY, line TEXT);
"""


class World:
    """An airline, a bank and a printer, which in earnest are services of others. Here they are one small file."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        with self.books() as books:
            books.executescript(_TABLES)

    @contextmanager
    def books(self) -> Iterator[sqlite3.Connection]:
        """For one at a time, since what is read decides what is written. It stays written, unless anything raises."""
        books = sqlite3.connect(self._file, timeout=30, isolation_level=None)
        try:
            books.execute("BEGIN IMMEDIATE")
            with books:
                yield books
        finally:
            books.close()


def world() -> World:
    """The context: made once in each process, for all of its flights."""
    return World(Path(".sluice") / "trips.db")


class Reserve(Step):
    # The airline may be busy; then it is asked again, four times at most.
    retry = retry.fixed(seconds=2, times=4)

    def do(self, flight: Flight) -> Fatal | Retry | None:
        number = flight.inputs["flight_no"]
        try:
            with flight.context.books() as books:
                # What was reserved under this token before a crash is found again, and is no second seat.
                mine = books.execute("SELECT seat FROM seat WHERE token = ?", [flight.token]).fetchone()
                taken = books.execute("SELECT seat FROM seat WHERE flight_no = ?", [number]).fetchall()
                free = [seat for seat in range(1, SEATS + 1) if (seat,) not in taken]
                if mine is None and not free:
                    return Fatal(f"{number} is full")
                seat = mine[0] if mine else free[0]
                books.execute("INSERT OR IGNORE INTO seat VALUES (?, ?, ?)", [flight.token, number, seat])
        except sqlite3.OperationalError as error:
            return Retry(str(error))
        # For the steps to come. It is kept when this one is over, so its own undo must not rely on it.
        flight.working["seat"] = seat
        return None

    def undo(self, flight: Flight) -> None:
        """By the token, not by the seat in the map: if a worker died before that was kept, there is a seat all the
        same. And if nothing was ever reserved, nothing is deleted."""
        with flight.context.books() as books:
            books.execute("DELETE FROM seat WHERE token = ?", [flight.token])


class Pay(Step):
    def do(self, flight: Flight) -> Fatal | None:
        customer = flight.inputs["customer"]
        with flight.context.books() as books:
            paid = books.execute(
                "SELECT coalesce(sum(amount), 0) FROM payment WHERE customer = ? AND token <> ?",
                [customer, flight.token],
            ).fetchone()[0]
            if paid + FARE > BALANCE:
                return Fatal(f"{customer} has {BALANCE - paid} left, and the fare is {FARE}")
            books.execute("INSERT OR IGNORE INTO payment VALUES (?, ?, ?)", [flight.token, customer, FARE])
        return None

    def undo(self, flight: Flight) -> None:
        with flight.context.books() as books:
            books.execute("DELETE FROM payment WHERE token = ?", [flight.token])


class Ticket(Step):
    def do(self, flight: Flight) -> None:
        line = f"{flight.inputs['customer']}: {flight.inputs['flight_no']}, seat {flight.working['seat']}"
        with flight.context.books() as books:
            books.execute("INSERT OR IGNORE INTO ticket VALUES (?, ?)", [flight.token, line])
        flight.log.info("%s", line)

    def undo(self, flight: Flight) -> None:
        with flight.context.books() as books:
            books.execute("DELETE FROM ticket WHERE token = ?", [flight.token])


@saga(job_id="{customer}_{flight_no}", context=world)
def trip(flight: Flight) -> list[Step]:
    """Called again whenever the flight is taken up, so it looks nothing up; ``flight.inputs`` it may ask."""
    return [Reserve(), Pay(), Ticket()]
