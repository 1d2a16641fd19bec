"""A console with succeeded, failed, running and waiting jobs, a saga, and tables with partitions."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.embedded import start
from sluice.ledger.stats.state_counts import UNCOUNTED
from tests.console.conftest import Console, started
from tests.ops.typist import Typist

DAY = "20261120"
FIRST, LAST = date(2026, 10, 21), date(2026, 11, 20)
DAYS = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
_DATE = {"job_id": "{date}", "identifiers": {"date": "date"}}
_TRAINING = "for n in 1 2 3 4; do echo epoch $n: loss 0.$((70 - 9 * n)); done; sleep 600"
APPS: dict[str, Any] = {
    "fetch": {
        "job_id": "{date}_{shop}",
        "identifiers": {"date": "date"},
        "autofill_values": {"shop": ["graz", "lyon", "oslo", "turin"]},
        "bash_cmd": "echo 1200 sales of {shop}",
    },
    "report": _DATE
    | {
        "depends_on": {"app_name": ["fetch"], "shop": "all"},
        "bash_cmd": "echo report of {date}: 4 shops, 4800 sales",
    },
    "publish": _DATE
    | {
        "depends_on": {"app_name": ["report"]},
        "bash_cmd": "echo connecting to the archive; echo '403: the token of the archive expired' >&2; exit 3",
        "max_fails": 0,
    },
    "mail": _DATE | {"depends_on": {"app_name": ["publish"]}, "bash_cmd": "true"},
    "train": _DATE | {"depends_on": {"app_name": ["report"]}, "bash_cmd": _TRAINING},
    "evaluate": _DATE | {"depends_on": {"app_name": ["train"]}, "bash_cmd": "true"},
    "staging": {
        "partition": "day",
        "bash_cmd": "case {start} in *-07) echo no file of this day >&2; exit 3;; esac",
        "max_fails": 0,
    },
    "sales": {
        "partition": "day",
        "bash_cmd": "true",
        "table_dependencies": [{"table": "staging"}, {"table": "rates"}],
    },
    "weekly": {"partition": "week", "bash_cmd": "true", "table_dependencies": [{"table": "staging"}]},
    "schedules": [{"id": "nightly", "app": "mail", "cron": "0 2 * * *", "key": "{due:%Y%m%d}"}],
}
SAGA = """
from sluice import Step, Wait, saga

class Reserve(Step):
    def do(self, flight):
        flight.working["shelf"] = 7

    def undo(self, flight):
        pass

class Approve(Step):
    def do(self, flight):
        return Wait("approved")

class Ship(Step):
    def do(self, flight):
        pass

@saga(job_id="{customer}")
def order(flight):
    return [Reserve(), Approve(), Ship()]
"""
#: Number of jobs in each state, as soon as the scene is complete.
COMPLETE: Mapping[str, Mapping[State, int]] = {
    "publish": {State.FAILED: 1},
    "mail": {State.UPSTREAM_FAILED: 1},
    "train": {State.RUNNING: 1},
    "evaluate": {State.WAITING: 1},
    "order": {State.SUSPENDED: 2},
    "sales": {State.SUCCEEDED: 26, State.UPSTREAM_FAILED: 1, State.WAITING: 4},
}
#: Number of transitions in one minute of the past.
_MINUTE = """
INSERT INTO state_count_minute (minute, app, state, entered)
SELECT date_trunc('minute', now(), 'UTC') - make_interval(mins => %(ago)s), %(app)s, %(state)s, %(entered)s
"""
_WAIT_S = 90.0


@contextmanager
def scene_in(folder: Path) -> Iterator[Console]:
    """Run ``sluice up`` in this folder until the block ends. The scene is complete when the block begins."""
    (folder / "apps.json").write_text(json.dumps(APPS))
    (folder / "orders.py").write_text(SAGA)
    typist = Typist(
        folder,
        SLUICE_HOME=str(folder / "home"),
        SLUICE_APPS="apps.json,orders.py",
        SLUICE_TICK="200ms",
    )
    with started(typist, "up", "--listen", "127.0.0.1:0") as address:
        console = Console(address, folder)
        _submit(console)
        with start(folder / "home") as postgres, closing(Ledger(postgres.url, connections=1)) as ledger:
            _wait_for(ledger, _is_complete)
            console.asks("partitions/rates/land", partitions=_texts(DAYS[10:14]), again=True)
            _wait_for(ledger, _is_counted)
            ledger.transact(_fill_charts)
        yield console


def _submit(console: Console) -> None:
    console.asks("partitions/rates/land", partitions=_texts(DAYS[:-4]))
    for app in ("mail", "evaluate"):
        console.submits(app, DAY, id=f"{app}-of-{DAY}", user="ana")
    console.submits("sales", start=f"{FIRST}", end=f"{LAST}", id="sales-of-autumn", user="ana")
    console.submits("weekly", start="2026-W43", end="2026-W44", id="two-weeks", user="ana")
    for customer in ("bob", "eve"):
        console.submits("order", customer, id=f"order-of-{customer}", user="shop")


def _texts(days: Sequence[date]) -> list[str]:
    return [day.isoformat() for day in days]


def _wait_for(ledger: Ledger, is_so: Callable[[Tx], bool]) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not ledger.transact(is_so):
        assert time.monotonic() < deadline, f"{is_so.__name__} is still false"
        time.sleep(0.1)


def _is_complete(tx: Tx) -> bool:
    """Return whether the jobs of ``COMPLETE`` are in their states, and all others have ended or wait."""
    counts: dict[str, dict[State, int]] = {}
    for app, state, jobs in tx.rows("SELECT app, state, count(*) FROM job GROUP BY 1, 2"):
        counts.setdefault(app, {})[State(state)] = jobs
    others = {state for app, states in counts.items() if app != "train" for state in states}
    busy = others & {State.READY, State.RUNNING, State.EXECUTED}
    return not busy and all(counts.get(app) == states for app, states in COMPLETE.items())


def _is_counted(tx: Tx) -> bool:
    """Return whether the statistics contain every transition."""
    return not tx.column(f"SELECT 1 FROM {UNCOUNTED} LIMIT 1")


def _fill_charts(tx: Tx) -> None:
    """Replace the transitions of the last hour, which the charts show, by transitions of a longer history."""
    tx.write("DELETE FROM state_count_minute")
    tx.write(_MINUTE, ago=1, app="publish", state=str(State.FAILED), entered=1)
    for ago in range(60):
        wave = 4 + ago * 7 % 5 + (6 if ago % 15 < 5 else 0)
        for app, share in {"fetch": 4, "report": 1, "staging": 2, "sales": 2}.items():
            for state in (State.RUNNING, State.SUCCEEDED):
                tx.write(_MINUTE, ago=ago, app=app, state=str(state), entered=wave * share)
        if ago % 11 == 3:
            tx.write(_MINUTE, ago=ago, app="staging", state=str(State.FAILED), entered=5)
