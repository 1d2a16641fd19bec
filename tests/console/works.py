"""Definitions for the console tests: some of every way to key and to run jobs."""

import json
from pathlib import Path
from typing import Any

from tests.ops.orders import ORDERS

SHOPS = ["graz", "oslo"]
DAY = {"date": "date"}
APPS: dict[str, Any] = {
    "fetch": {
        "job_id": "{date}_{shop}",
        "identifiers": DAY,
        "autofill_values": {"shop": SHOPS},
        "bash_cmd": "echo fetching {shop}; echo '<b>not bold</b>'",
    },
    "report": {
        "job_id": "{date}",
        "identifiers": DAY,
        "depends_on": {"app_name": ["fetch"], "shop": "all"},
        "bash_cmd": "echo the report of {date}",
    },
    "publish": {
        "job_id": "{date}",
        "identifiers": DAY,
        "depends_on": {"app_name": ["report"]},
        "bash_cmd": "echo trying; echo no paper >&2; exit 3",
        "max_fails": 1,
        "archive": "manual",
    },
    "mail": {
        "job_id": "{date}",
        "identifiers": DAY,
        "depends_on": {"app_name": ["publish"]},
        "bash_cmd": "true",
    },
    # Its jobs run, and print, until their gate is opened.
    "gate": {
        "job_id": "{name}",
        "bash_cmd": "n=0; while [ ! -e {name}.open ]; do echo look $((n += 1)).; sleep 0.05; done",
    },
    # Its receiver has an address that no delivery is made to. The job is late after a second.
    "alarming": {
        "job_id": "{name}",
        "bash_cmd": "while [ ! -e {name}.open ]; do sleep 0.05; done; exit 3",
        "max_fails": 0,
        "due_within": "1s",
        "notify": [{"on": ["failed", "late"], "webhook": "http://127.0.0.1:9/services/hush"}],
    },
    "staging": {"partition": "day", "bash_cmd": "true"},
    "joined": {
        "partition": "day",
        "bash_cmd": "true",
        "table_dependencies": [{"table": "staging"}, {"table": "events"}],
    },
    "scores": {"chunk_size": 10, "bash_cmd": "true"},
    "schedules": [
        {"id": "nightly", "app": "report", "cron": "0 2 * * *", "key": "{due:%Y%m%d}"},
        {"id": "yearly", "app": "gate", "cron": "0 0 1 1 *", "key": "{due:%Y}"},
    ],
}
TOTALS = """
from sluice import Job, app

@app(max_fails=0)
def piece(box: int, n: int) -> None:
    if n == 8:
        raise ValueError("it is broken")

@app
def unpack(job: Job, box: int) -> None:
    job.expand(piece, [{"n": n} for n in range(9)], then=packed, when="finished")

@app(needs=[unpack])
def packed(box: int) -> int:
    return 9

@app
def total(n: int):
    return {"text": "<b>not bold</b>", "number": 2**60 + 1} if n < 9 else "x" * 300_000
"""
#: Value of ``SLUICE_APPS``.
SOURCES = "apps.json,orders.py,totals.py"
RAN = "20261120"


def write_works(folder: Path) -> None:
    (folder / "apps.json").write_text(json.dumps(APPS))
    (folder / "orders.py").write_text(ORDERS)
    (folder / "totals.py").write_text(TOTALS)


def open_gate(folder: Path, name: str) -> None:
    """Let the job that waits at this gate go on."""
    (folder / f"{name}.open").touch()
