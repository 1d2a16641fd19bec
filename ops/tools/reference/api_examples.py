"""Examples of ``docs/api.md``, by heading. Each is a complete program with an app.

``tests/typed`` loads each of them into a catalogue, checks it with mypy and pyright, and calls its tests.
"""

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "app": """
from datetime import date
from sluice import Job, app, each, retry

SHOPS = ["graz", "oslo"]

@app(max_fails=3, retry=retry.exponential(seconds=1, max_seconds=60), timeout="10m")
def fetch(job: Job, day: date, shop: str = each(SHOPS), *, limit: int = 1000) -> int:
    job.log.info("at most %d sales of %s", limit, shop)
    return 12

@app(needs=[fetch.all("shop")])
def report(job: Job, day: date) -> int:
    return sum(job.results(fetch).values())
""",
    "The decorated function": """
from datetime import date
from sluice import app

@app
def fetch(day: date, shop: str, *, limit: int = 1000) -> int:
    return limit

@app(needs=[fetch.where(shop=["graz", "oslo"]).max_lag("6h")])
def compare(day: date) -> None: ...

def test_fetch() -> None:
    assert fetch(date(2026, 11, 20), "graz") == 1000
    assert fetch.job(date(2026, 11, 20), "graz", limit=5).key == "20261120_graz"
""",
    "any_of": """
from datetime import date
from sluice import any_of, app

@app
def download(day: date) -> None: ...

@app
def scan(day: date) -> None: ...

@app(needs=[any_of(download, scan)])
def read(day: date) -> None: ...
""",
    "each": """
from datetime import date
from sluice import app, each

@app
def count(day: date = each("2026-01-01:2027-01-01"), part: int = each(range(8))) -> None: ...
""",
    "retry.exponential": """
from sluice import app, retry

@app(retry=retry.exponential(seconds=1, max_seconds="1m", times=5, jitter=True))
def call(customer: int) -> None: ...
""",
    "schedule": """
from datetime import date
from sluice import app, schedule

@app
def nightly(day: date) -> None: ...

at_night = schedule(id="nightly", app=nightly, cron="30 2 * * *", timezone="Europe/Vienna", key="{due-1d:%Y%m%d}")
""",
    "Hooks": """
from collections.abc import Generator
from contextlib import contextmanager
from sluice import Hooks, Job, app

class Greeting(Hooks):
    @contextmanager
    def around(self, job: Job) -> Generator[None]:
        job.log.info("%s begins", job.key)
        yield
        job.log.info("%s has ended", job.key)

hooks = Greeting()

@app
def resize(image: str) -> None: ...
""",
    "Job": """
from datetime import date
from sluice import Job, app

@app
def load(job: Job, day: date, *, parts: int = 10) -> int:
    job.log.info("round %d of %s", job.round, job.key)
    for part in range(parts):
        if job.cancelled:
            break
        job.progress(part + 1, parts)
    return parts

@app
def book(job: Job, order: int) -> None:
    with job.transaction() as connection:
        connection.execute("insert into booking (number) values (%s)", (order,))
""",
    "Fatal": """
from sluice import Fatal, Retry, app

@app(max_fails=10)
def poll(order: int, *, state: str = "open") -> None:
    if state == "refused":
        raise Fatal("the order was refused")
    if state == "open":
        raise Retry("not ready", after="5m")
""",
    "ManagesJobs": """
from sluice import Job, Status, app

@app(job_id="{model}", timeout="6h")
class Train:
    poll_s = 5.0

    def run(self, job: Job) -> str:
        return f"grid-{job.token}"

    def check(self, handle: str) -> Status:
        return Status("running", text=f"{handle} is in the queue", progress=(3, 10))

    def cancel(self, handle: str) -> None: ...
""",
    "saga": """
from sluice import Fatal, Flight, Step, Success, Wait, retry, saga

class Reserve(Step):
    retry = retry.fixed(seconds=2, times=4)

    def do(self, flight: Flight) -> Success:
        flight.working["seat"] = 12
        return Success()

    def undo(self, flight: Flight) -> None:
        flight.log.info("seat %s is free again", flight.working["seat"])

class Approve(Step):
    def do(self, flight: Flight) -> Wait:
        return Wait("approved", timeout="2h")

class Charge(Step):
    def do(self, flight: Flight) -> Fatal | None:
        return None if flight.events["approved"] else Fatal("it was not approved")

@saga(job_id="{customer}")
def trip(flight: Flight) -> list[Step]:
    return [Reserve(), Approve(), Charge()]
""",
    "connect": """
from datetime import date
from sluice import JobFailed, app, connect

@app
def bill(day: date, customer: int, *, draft: bool = False) -> int:
    return customer

def ask() -> int | None:
    with connect() as client:
        handle = client.submit(bill.job(date(2026, 11, 20), customer=7, draft=True))
        try:
            return handle.result(timeout=60)
        except JobFailed as failed:
            print(failed.state, failed.error)
            return None
""",
    "Submission": """
from sluice import Submission, app, connect

@app
def invoice(year: int, customer: int) -> None: ...

def year_end(customers: list[int]) -> bool:
    keys = tuple(f"2026_{customer}" for customer in customers)
    with connect() as client:
        id = client.submit(Submission(app=invoice, keys=keys, id="invoices of 2026", policy={"priority": 5}))
        return client.wait(id, timeout_s=3600).state == "succeeded"
""",
    "AsyncClient": """
import asyncio
from sluice import AsyncClient, app

@app
async def square(n: int) -> int:
    return n * n

async def squares() -> list[int]:
    async with AsyncClient() as client:
        handles = [await client.submit(square.job(n)) for n in range(10)]
        return await asyncio.gather(*(handle.result() for handle in handles))
""",
    "run": """
from datetime import date
from sluice import Job, app
from sluice.testing import run

@app
def double(job: Job, day: date, n: int) -> int:
    job.log.info("doubling %d", n)
    return 2 * n

def test_double() -> None:
    outcome = run(__file__, double, "2026-11-20_4")
    assert outcome.error is None
    assert outcome.result == 8
    assert "doubling 4" in outcome.output
""",
    "fly_everywhere": """
from typing import Any
from sluice import Flight, Step, saga
from sluice.testing import fly, fly_everywhere

TAKEN: set[str] = set()

class Take(Step):
    def do(self, flight: Flight) -> None:
        TAKEN.add(flight.token)

    def undo(self, flight: Flight) -> None:
        TAKEN.discard(flight.token)

@saga(job_id="{customer}")
def trip(flight: Flight) -> list[Step]:
    return [Take()]

INPUTS: dict[str, Any] = {"customer": "ann"}

def test_a_trip_takes_a_seat() -> None:
    assert fly(trip, inputs=INPUTS).calls == ("do Take",)
    TAKEN.clear()

def test_no_seat_is_lost() -> None:
    report = fly_everywhere(trip, inputs=INPUTS, left_behind=lambda: set(TAKEN))
    assert report.troubles == []
""",
    "Debug": """
from sluice import Flight, Step, saga
from sluice.testing import Debug, fly

class Pack(Step):
    def do(self, flight: Flight) -> None: ...

class Send(Step):
    def do(self, flight: Flight) -> None: ...

@saga(job_id="{order}")
def parcel(flight: Flight) -> list[Step]:
    return [Pack(), Send()]

def test_a_parcel_is_unpacked_if_it_cannot_be_sent() -> None:
    flown = fly(parcel, inputs={"order": 7}, debug=Debug(fail_do={"Send": "fatal"}))
    assert flown.ending == "undone"
    assert flown.calls == ("do Pack", "do Send", "undo Send", "undo Pack")
""",
}
