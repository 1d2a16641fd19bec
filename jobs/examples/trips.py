"""A trip that is booked completely or not at all.

    reserve a seat  ─►  pay for it  ─►  print the ticket

    sluice --apps jobs/examples/trips.py run trip ann_LX318

Each step has an undo. If a step fails, it and all steps before it are undone. So no customer pays without a seat, and
no seat stays reserved without a payment. These commands let it fail, at each step and after each step:

    sluice --apps jobs/examples/trips.py run trip bob_LX318 --fail-last
    sluice --apps jobs/examples/trips.py run trip eve_LX318 --fail-at 1=fatal --restart-each-step

A worker may die at any point, so a step may run again although it has already run. Every request to the outside world
contains ``flight.token``, which is the same each time. If the airline gets two requests with one token, it reserves one
seat.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice import Fatal, Flight, Retry, Step, retry, saga

SEATS = 3
FARE = 120
#: Initial balance of each customer.
BALANCE = 200

_TABLES = """
CREATE TABLE IF NOT EXISTS seat (token TEXT PRIMARY KEY, flight_no TEXT, seat INTEGER, UNIQUE (flight_no, seat));
CREATE TABLE IF NOT EXISTS payment (token TEXT PRIMARY KEY, customer TEXT, amount INTEGER);
CREATE TABLE IF NOT EXISTS ticket (token TEXT PRIMARY KEY, line TEXT);
"""


class World:
    """An airline, a bank and a printer. In production these are external services; here they are one small file."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        with self.books() as books:
            books.executescript(_TABLES)

    @contextmanager
    def books(self) -> Iterator[sqlite3.Connection]:
        """Open the books for one flight at a time, because writes depend on reads. An exception rolls back."""
        books = sqlite3.connect(self._file, timeout=30, isolation_level=None)
        try:
            books.execute("BEGIN IMMEDIATE")
            with books:
                yield books
        finally:
            books.close()


def world() -> World:
    """Return the context, which is made once in each process for all of its flights."""
    return World(Path(".sluice") / "trips.db")


class Reserve(Step):
    # If the airline is busy, the request is repeated, at most four times.
    retry = retry.fixed(seconds=2, times=4)

    def do(self, flight: Flight) -> Fatal | Retry | None:
        number = flight.inputs["flight_no"]
        try:
            with flight.context.books() as books:
                # A reservation under this token from before a crash is found again, so there is no second seat.
                mine = books.execute("SELECT seat FROM seat WHERE token = ?", [flight.token]).fetchone()
                taken = books.execute("SELECT seat FROM seat WHERE flight_no = ?", [number]).fetchall()
                free = [seat for seat in range(1, SEATS + 1) if (seat,) not in taken]
                if mine is None and not free:
                    return Fatal(f"{number} is full")
                seat = mine[0] if mine else free[0]
                books.execute("INSERT OR IGNORE INTO seat VALUES (?, ?, ?)", [flight.token, number, seat])
        except sqlite3.OperationalError as error:
            return Retry(str(error))
        # For later steps. The map is stored when this step has ended, so the undo of this step must not rely on it.
        flight.working["seat"] = seat
        return None

    def undo(self, flight: Flight) -> None:
        """Delete by the token, not by the seat in the map: if the worker died before the map was stored, a seat is
        reserved nevertheless. If nothing was reserved, nothing is deleted."""
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
    """Return the steps. It is called whenever a worker continues the flight, so it uses ``flight.inputs`` only."""
    return [Reserve(), Pay(), Ticket()]
