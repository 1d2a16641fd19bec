"""What the console answers to those who look, by HTTP, on a ledger that has something of everything."""

from collections.abc import Iterator

import pytest

from tests.ops.caller import Caller, console, names
from tests.ops.orders import drained, waiting
from tests.ops.typist import Typist
from tests.ops.weeks import APPS as TABLES

SCHEDULES = {"schedules": [{"id": "nightly", "app": "fetch", "cron": "0 2 * * *", "key": "20261120_oslo"}]}


@pytest.fixture(scope="module")
def stocked(orders: Typist) -> Typist:
    """Three jobs in a row of which the last fails, a saga that waits, and tables of which two days are asked for."""
    orders.apps("tables.json", TABLES)
    orders.apps("times.json", SCHEDULES)
    orders.environment["SLUICE_APPS"] = "orders.py,apps.json,tables.json,times.json"
    orders.asks("submit", "publish", "2026-11-20", "--id", "first", "--user", "ana")
    waiting(orders, "41")
    orders.asks("partitions", "land", "events", "2024-04-01..2024-04-07")
    orders.asks("submit", "joined", "--start", "2024-04-01", "--end", "2024-04-02", "--id", "days")
    drained(orders)
    return orders


@pytest.fixture(scope="module")
def caller(stocked: Typist) -> Iterator[Caller]:
    with console(stocked) as caller:
        yield caller


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/jobs/publish/2026-11-20", ["show", "publish", "2026-11-20"]),
        ("/api/jobs/order/41", ["show", "order", "41"]),
        ("/api/jobs/publish/2026-11-20/why", ["why", "publish", "2026-11-20"]),
        ("/api/jobs/mail/2026-11-20/why", ["why", "mail", "2026-11-20"]),
        ("/api/jobs/order/41/saga", ["saga", "show", "order", "41"]),
        ("/api/workers", ["workers"]),
    ],
)
def test_a_call_answers_what_the_command_does(
    path: str, words: list[str], caller: Caller, stocked: Typist
) -> None:
    assert caller.reads(path) == stocked.asks(*words)


def test_an_app_is_told_with_how_many_jobs_it_has(caller: Caller, stocked: Typist) -> None:
    found = caller.reads("/api/apps/fetch")
    assert found.pop("counts") == {"succeeded": 2}
    assert found == stocked.asks("apps", "show", "fetch")
    assert "fetch" in names(caller.reads("/api/apps")["apps"], "app")
