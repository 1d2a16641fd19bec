"""The example project ``retail``: forty days of twelve shops, on the embedded default and on RabbitMQ and Postgres.

Damaged, late and implausible files, alerts, a retry, a restatement of three days, and the contents of every file.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from sluice.jobs.examples.retail.files import (
    FIRST,
    LAST,
    days,
    write_damaged,
    write_implausible,
    write_takings,
)
from sluice.jobs.examples.retail.pipeline import SHOPS
from sluice.ledger.database.connection import Ledger
from tests.homes import started_ledger
from tests.live.fleet import fleet, wait_until
from tests.ops.typist import Typist

APPS = "sluice.jobs.examples.retail.pipeline"
DAMAGED, LATE, IMPLAUSIBLE = (
    (date(2026, 10, 20), "s02"),
    (date(2026, 11, 3), "s07"),
    (date(2026, 11, 9), "s11"),
)
RESTATED = (date(2026, 10, 27), date(2026, 10, 29))
ALL = ("--start", str(FIRST), "--end", str(LAST))
#: Seconds for one step of the story on a loaded machine.
WITHIN_S = 240
_SUCCESSES = """
SELECT job.app, count(*) FROM transition JOIN job ON job.id = transition.job
WHERE transition.target = 'succeeded' GROUP BY job.app
"""


class Retail:
    """The project at work: its folder of files, the commands, and the number of successes by app."""

    def __init__(self, desk: Typist, ledger: Ledger, data: Path) -> None:
        self.data = data
        self._desk = desk
        self._ledger = ledger

    def write(self, day: date, shop: str, price: float = 1.0) -> None:
        write_takings(self.data, day, shop, price=price)

    def submit(self, *words: str) -> str:
        """Submit and wait for the end. Return the state of the submission."""
        return self._state("submit", *words, "--wait", "--wait-timeout", f"{WITHIN_S}s")

    def retry(self, submission: str) -> str:
        return self._state("retry", submission, "--wait", "--wait-timeout", f"{WITHIN_S}s")

    def restate(self) -> None:
        """Make stale partitions again, and wait for the end."""
        for id_ in self._desk.asks("partitions", "restate")["submissions"]:
            wait_until(lambda id_=id_: self._ended(id_), within_s=WITHIN_S)

    def stale(self, table: str) -> int:
        return int(self._desk.asks("partitions", "ls", table)["stale"])

    def successes(self) -> Counter[str]:
        return Counter(dict(self._ledger.transact(lambda tx: tx.rows(_SUCCESSES))))

    def alerts(self) -> list[tuple[str, str, str]]:
        """Return the event, the app and the key of each alert."""
        found = [json.loads(file.read_text()) for file in (self.data / "alerts").glob("*.json")]
        return sorted((each["event"], each["app"], each["key"]) for each in found)

    def read(self, kind: str) -> dict[str, float]:
        return {file.stem: json.loads(file.read_text()) for file in (self.data / kind).glob("*.json")}

    def _state(self, *words: str) -> str:
        return str(json.loads(self._desk.types(*words, "--json").out)["state"])

    def _ended(self, id_: str) -> bool:
        return self._desk.asks("submissions", id_)["state"] in ("succeeded", "failed")


@pytest.fixture(params=["embedded", "rabbitmq"])
def retail(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Retail]:
    data = tmp_path / "data"
    with ExitStack() as stack:
        if request.param == "embedded":
            url = stack.enter_context(started_ledger(tmp_path / ".sluice"))
            desk = Typist(tmp_path, SLUICE_APPS=APPS, RETAIL_DATA=str(data))
            log = stack.enter_context((tmp_path / "up.log").open("w"))
            stack.enter_context(desk.starts("up", log=log))
            ledger = stack.enter_context(closing(Ledger(url)))
        else:
            ledger = request.getfixturevalue("ledger")
            broker = request.getfixturevalue("rabbitmq")
            desk = Typist(
                tmp_path,
                SLUICE_APPS=APPS,
                RETAIL_DATA=str(data),
                SLUICE_LEDGER_URL=ledger.url,
                SLUICE_BROKER_URL=broker,
            )
            stack.enter_context(
                fleet(2, tmp_path, ledger=ledger.url, broker=broker, apps=APPS, RETAIL_DATA=str(data))
            )
        yield Retail(desk, ledger, data)


def _arrive(retail: Retail) -> None:
    for day in days():
        for shop in SHOPS:
            if (day, shop) != LATE:
                retail.write(day, shop)
    write_damaged(retail.data, *DAMAGED)
    write_implausible(retail.data, *IMPLAUSIBLE)


def _expected(retail: Retail) -> tuple[dict[str, float], dict[str, float]]:
    """Return the features and the weekly revenue that follow from the files in the inbox."""
    revenue: Counter[date] = Counter()
    for file in (retail.data / "inbox").glob("*.csv"):
        lines = file.read_text().splitlines()[1:]
        revenue[date.fromisoformat(file.stem[:10])] += sum(float(line.split(",")[1]) for line in lines)
    features = {
        str(day): sum(
            revenue[day - timedelta(days=back)] for back in range(7) if day - timedelta(back) >= FIRST
        )
        for day in days()
    }
    weekly = {
        f"2026-W{week}": sum(revenue[date.fromisocalendar(2026, week, day)] for day in range(1, 8))
        for week in range(42, 47)
    }
    return features, weekly


def _close(one: dict[str, float], other: dict[str, float]) -> bool:
    return one.keys() == other.keys() and all(abs(one[key] - other[key]) < 0.01 for key in one)


def test_forty_days_of_twelve_shops(retail: Retail) -> None:
    _arrive(retail)
    backfill = "backfill"
    assert retail.submit("features", *ALL, "--id", backfill) == "failed"
    broken = {
        ("ingest", f"{DAMAGED[0]:%Y%m%d}_{DAMAGED[1]}"),
        ("ingest", f"{LATE[0]:%Y%m%d}_{LATE[1]}"),
        ("check", f"{IMPLAUSIBLE[0]:%Y%m%d}_{IMPLAUSIBLE[1]}"),
    }
    made = retail.successes()
    shops = len(SHOPS) * 40
    assert (made["ingest"], made["check"], made["clean"], made["daily"]) == (
        shops - 2,
        shops - 3,
        shops - 3,
        37,
    )
    wait_until(lambda: {each[1:] for each in retail.alerts()} == broken, within_s=WITHIN_S)
    assert {each[0] for each in retail.alerts()} == {"failed"}

    for day, shop in (DAMAGED, LATE, IMPLAUSIBLE):
        retail.write(day, shop)
    # A check reads the ingested data, so the corrected file is ingested again.
    assert retail.submit("ingest", f"{IMPLAUSIBLE[0]}_{IMPLAUSIBLE[1]}", "--rerun", "job") == "succeeded"
    assert retail.retry(backfill) == "succeeded"
    made = retail.successes()
    assert (made["check"], made["clean"], made["daily"]) == (shops, shops, 40)
    wait_until(lambda: len(retail.alerts()) == 2 * len(broken), within_s=WITHIN_S)
    assert retail.submit("weekly", "--start", "2026-W42", "--end", "2026-W46") == "succeeded"
    assert retail.submit("ranking", *ALL) == "succeeded"
    features, weekly = _expected(retail)
    assert _close(retail.read("features"), features)
    assert _close(retail.read("weekly"), weekly)
    assert len(retail.read("ranking")) == 40


def test_a_restatement_of_three_days_makes_again_what_depends_on_them(retail: Retail) -> None:
    for day in days():
        for shop in SHOPS:
            retail.write(day, shop)
    assert retail.submit("features", *ALL) == "succeeded"
    assert retail.submit("weekly", "--start", "2026-W42", "--end", "2026-W46") == "succeeded"
    assert retail.submit("ranking", *ALL) == "succeeded"
    before = retail.successes()
    for day in days(*RESTATED):
        for shop in SHOPS:
            retail.write(day, shop, price=2.0)
    first, last = map(str, RESTATED)
    assert retail.submit("ingest", "--start", first, "--end", last, "--rerun", "downstream") == "succeeded"
    wait_until(lambda: retail.stale("features") == 3 + 6, within_s=WITHIN_S)
    assert retail.stale("weekly") == 1
    retail.restate()
    assert retail.successes() - before == {
        **dict.fromkeys(("ingest", "check", "clean"), 3 * len(SHOPS)),
        "daily": 3,
        "regions": 3,
        "region": 3 * 4,
        "ranking": 3,
        "features": 2,
        "weekly": 1,
    }
    features, weekly = _expected(retail)
    assert _close(retail.read("features"), features)
    assert _close(retail.read("weekly"), weekly)
    assert retail.stale("features") == retail.stale("weekly") == 0
