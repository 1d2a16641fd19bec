"""Examples of docs/messages.md and docs/transactions.md, run as their readers would run them."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sluice.testing import Pipelines, Took
from tests.ops.typist import ROOT, Typist
from tests.world import World

PIPELINE = """
from datetime import date
from sluice import app

@app
def report(day: date) -> None: ...
"""


def _file(page: str, name: str) -> str:
    found = re.search(rf"^```python\n# {name}\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.M | re.S)
    assert found
    return found[1]


def test_a_web_service_submits_a_job(world: World, tmp_path: Path) -> None:
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "web.py").write_text(_file("messages.md", "web.py"))
    typist = Typist(tmp_path, SLUICE_LEDGER_URL=world.url)
    done = subprocess.run(
        [sys.executable, "web.py"],
        cwd=tmp_path,
        env=typist.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [submission] = typist.asks("submissions")
    assert (submission["id"], submission["app"]) == (done.stdout.strip(), "report")


def test_a_database_beside_the_ledger_gets_the_writes_of_a_job_once(
    pipeline: Pipelines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bookings.py").write_text(_file("transactions.md", "bookings.py"))
    with closing(sqlite3.connect("shop.db")) as shop:
        shop.execute("create table done (token text primary key)")
        shop.execute("create table booking (number)")
    run = pipeline("bookings.py", work=Took(1, real=True))
    run.submit("book", "7")
    run.until_quiet()
    run.submit("book", "7", rerun="job")
    run.until_quiet()
    assert run.ran("book") == 2
    with closing(sqlite3.connect("shop.db")) as shop:
        assert shop.execute("select number from booking").fetchall() == [(7,)]
