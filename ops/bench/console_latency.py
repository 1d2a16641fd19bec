"""Response times of the console on a ledger with years of history.

All screens use one ledger, in which a million jobs have run and a year of tables is planned. One console answers. A
client measures its answers, one request after the other, on a connection that stays open.
"""

import json
import math
import os
import random
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import quote

import msgspec

from sluice.actors.planner import handlers
from sluice.actors.settings.settings import Settings
from sluice.actors.worker.definitions import Definitions
from sluice.broker.messages import Plan
from sluice.jobs.errors import SluiceError
from sluice.jobs.model.submission import Submission
from sluice.ledger import fixtures
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import tidy
from sluice.ledger.lifecycle import submissions
from sluice.ledger.stats import state_counts
from sluice.ops.bench.pipelines import Apps
from sluice.ops.bench.sample import Figures
from sluice.ops.bench.shapes import scaled

_CHAIN = 40
_KEYS = scaled(25_000)
#: Size of the partition grid: a row for each table, a column for each day.
_TABLES = 28
_DAYS = ("2026-01-01", "2026-12-31")
#: Requests for each screen.
LOOKS = scaled(200)
_APART_S = 20.0
#: Token of the measured console.
TOKEN = secrets.token_urlsafe(32)


def looking(ledger_url: str) -> Figures:
    with TemporaryDirectory() as folder:
        source = Path(folder) / "apps.json"
        source.write_text(json.dumps(_apps()))
        filled_s = _filled_s(ledger_url, source)
        with _console(ledger_url, source) as connection:
            figures = {"fill_s": filled_s, "first_ms": _asked_ms(connection, "/api/overview")}
            for screen, paths in _screens().items():
                took = sorted(_asked_ms(connection, path) for path in paths)
                figures |= {
                    f"{screen}_ms": median(took),
                    f"{screen}_p95_ms": took[math.ceil(len(took) * 0.95) - 1],
                }
    return figures


def _apps() -> Apps:
    """Return chains of apps by key, and tables by day in chains of four."""
    chain: Apps = {f"step{n:02}": {"job_id": "{n}", "bash_cmd": "true"} for n in range(_CHAIN)}
    for n in range(1, _CHAIN):
        chain[f"step{n:02}"]["depends_on"] = {"app_name": [f"step{n - 1:02}"]}
    tables: Apps = {
        f"table{n:02}": {
            "output_table": f"t{n:02}",
            "partition": {"unit": "day"},
            "bash_cmd": "true",
            "table_dependencies": [
                {"table": f"t{n - 1:02}", "start_offset": 0, "end_offset": 0} for _ in range(int(n % 4 != 0))
            ],
        }
        for n in range(_TABLES)
    }
    return chain | tables


def _filled_s(ledger_url: str, source: Path) -> float:
    """Fill the ledger. Return the seconds that it took.

    Afterwards all transitions are counted and the statistics are current, as in a ledger that has run for years.
    """
    began = time.perf_counter()
    catalogue = Definitions(Settings(apps=(str(source),))).current
    chain = sorted(name for name in catalogue if name.startswith("step"))
    since = datetime.now(UTC) - timedelta(seconds=(_KEYS + 200) * _APART_S)
    with closing(Ledger(ledger_url)) as ledger:
        ledger.transact(lambda tx: fixtures.gather(tx, chain, _KEYS, since=since, apart_s=_APART_S))
        for name in (name for name in catalogue if name.startswith("table") and int(name[-2:]) % 4 == 3):
            words = {"app": name, "id": f"year of {name}", "start": _DAYS[0], "end": _DAYS[1]}
            wanted = msgspec.convert(words, Submission)
            ledger.transact(partial(submissions.receive, submissions=[wanted]))
            handlers.plan(ledger, catalogue, Plan(submissions=(wanted.require_id(),)))
        while ledger.transact(state_counts.count):
            pass
        time.sleep(
            state_counts.EVERY_S
        )  # The last transitions are counted only after this interval, as in normal operation.
        ledger.transact(state_counts.count)
    tidy(ledger_url)
    return time.perf_counter() - began


def _screens() -> dict[str, list[str]]:
    """Return the requests for each screen, about jobs, keys and submissions from the whole ledger."""
    dice = random.Random(9)  # noqa: S311 - drawn alike in every run, not to be guessed
    keys = [str(dice.randint(1, _KEYS)) for _ in range(LOOKS)]
    apps = [f"step{dice.randrange(_CHAIN):02}" for _ in range(LOOKS)]
    return {
        "overview": ["/api/overview"] * LOOKS,
        "jobs": ["/api/jobs"] * LOOKS,
        "search_app_state": [f"/api/jobs?app={app}&state=succeeded&state=failed" for app in apps],
        "search_state": ["/api/jobs?state=failed"] * LOOKS,
        "search_key": [f"/api/jobs?key={key[:3]}" for key in keys],
        "search_submission": [f"/api/jobs?submission=crowd-{key}" for key in keys],
        "job": [f"/api/jobs/{app}/{key}" for app, key in zip(apps, keys, strict=True)],
        "why": [f"/api/jobs/{app}/{key}/why" for app, key in zip(apps, keys, strict=True)],
        "submissions": ["/api/submissions"] * LOOKS,
        "submission": [f"/api/submissions/crowd-{key}" for key in keys],
        "year": [f"/api/submissions/{quote('year of table03')}"] * LOOKS,
        "grid": [f"/api/partitions/grid?from={_DAYS[0]}&to={_DAYS[1]}"] * LOOKS,
        "workers": ["/api/workers"] * LOOKS,
        "graph": ["/api/graph"] * LOOKS,
    }


@contextmanager
def _console(ledger_url: str, source: Path) -> Iterator[HTTPConnection]:
    command: Sequence[str] = (
        *(sys.executable, "-m", "sluice.ops.cli.main", "--apps", str(source), "--ledger", ledger_url),
        *("console", "--listen", "127.0.0.1:0"),
    )
    environment = os.environ | {"SLUICE_CONSOLE_TOKEN": TOKEN}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as console:
        try:
            said = console.stdout.readline() if console.stdout else ""
            found = re.search(r"http://127\.0\.0\.1:(\d+)", said)
            if found is None:
                raise SluiceError("The console does not start.", where=said)
            with closing(HTTPConnection("127.0.0.1", int(found[1]), timeout=60)) as connection:
                yield connection
        finally:
            console.terminate()


def _asked_ms(connection: HTTPConnection, path: str) -> float:
    began = time.perf_counter()
    connection.request("GET", path, headers={"authorization": f"Bearer {TOKEN}"})
    response = connection.getresponse()
    body = response.read()
    took_s = time.perf_counter() - began
    if response.status != 200:
        raise SluiceError(f"{path} returns status {response.status}.", where=body[:200].decode())
    return took_s * 1000
