"""``sluice.testing.run``: one run of one job, as a tool for an author's own tests."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sluice.jobs.errors import BadKey, BadRequest, DefinitionError, UnknownApp
from sluice.jobs.model.job import Ending
from sluice.testing import run

SOURCE = """
import logging
from sluice import Step, app, saga


@app(job_id="{date}_{shop}", identifiers={"date": "date"})
def fetch(job, date, shop, till="open"):
    job.log.info("%s on %s: %s", shop, date, till)
    print("printed for", shop)
    logging.getLogger("acme").info("logged")
    if shop == "oslo":
        raise ConnectionError("the till does not answer")


@app(job_id="{n}", identifiers={"n": "int"}, isolate=True)
def apart(n):
    print("in a process of its own", n)


@app(chunk_size=10)
def chunk(work_ids):
    assert work_ids == [1, 2, 3, 7], work_ids


@app(output_table="days")
def days(partitions):
    pass


@saga(job_id="{n}")
def trip(flight):
    return []
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "pipeline.py"
    path.write_text(SOURCE)
    return str(path)


def test_a_successful_run_returns_its_output(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run(source, "fetch", "20261120_graz", till="shut")
    assert (outcome.ending, outcome.error) == (Ending.DONE, None)
    told, printed, logged = outcome.output.splitlines()
    assert told.endswith("graz on 2026-11-20: shut")
    assert printed == "printed for graz"
    assert logged.endswith("INFO acme: logged"), "as in a worker"
    assert capsys.readouterr().out == "printed for graz\n", "a test also sees what is printed"


def test_a_failed_run_returns_its_error(source: str) -> None:
    outcome = run(source, "fetch", "2026-11-20_oslo")
    assert outcome.ending is Ending.ERROR
    assert "the till does not answer" in (outcome.error or "")


def test_isolated_functions_and_chunks_run_as_in_a_worker(source: str) -> None:
    assert "in a process of its own 5" in run(source, "apart", "5").output
    assert run(source, "chunk", "1-3,7").error is None


def test_bad_keys_apps_and_definitions_raise_their_errors(source: str, tmp_path: Path) -> None:
    with pytest.raises(BadKey):
        run(source, "fetch", "tomorrow")
    with pytest.raises(UnknownApp):
        run(source, "fetsh", "1")
    for app in ("days", "trip"):
        with pytest.raises(BadRequest):
            run(source, app, "1")
    with pytest.raises(BadRequest, match="work IDs"):
        run(source, "chunk", "3-1")
    faulty = tmp_path / "faulty.json"
    faulty.write_text('{"a": {"job_id": "{x"}}')
    with pytest.raises(DefinitionError):
        run(str(faulty), "a", "1")


BANK = """
import sqlite3
from contextlib import closing

from sluice import Job, app

@app
def book(job: Job, order: int) -> None:
    with job.transaction() as connection:
        connection.execute("INSERT INTO booking VALUES (?)", (order,))
        if order < 0:
            raise ValueError("no such order")

@app
def pay(job: Job, order: int) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        job.succeed_in(database)

@app
def pay_nowhere(job: Job, order: int) -> None:
    job.succeed_in(None)
"""


@pytest.fixture
def bank(tmp_path: Path) -> str:
    (tmp_path / "bank.py").write_text(BANK)
    return str(tmp_path / "bank.py")


@pytest.mark.parametrize(("order", "kept"), [("7", [(7,)]), ("-7", [])])
def test_a_transaction_uses_the_connection_of_the_test(bank: str, order: str, kept: list[tuple[int]]) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE booking (number int)")
        outcome = run(bank, "book", order, connection=database)
        assert (outcome.error is None) == bool(kept)
        assert (outcome.succeeded_in is not None) == bool(kept)
        assert not database.in_transaction
        assert database.execute("SELECT number FROM booking").fetchall() == kept


def test_a_transaction_without_a_connection_is_refused(bank: str) -> None:
    assert "job.transaction() needs a database: call run(…, connection=…)" in (
        run(bank, "book", "7").error or ""
    )


def test_a_success_in_a_connection_of_the_job_needs_no_ledger(bank: str) -> None:
    outcome = run(bank, "pay", "7")
    assert (outcome.error, outcome.succeeded_in) == (None, 0)


def test_a_success_needs_a_connection(bank: str) -> None:
    assert "job.succeed_in() cannot use NoneType" in (run(bank, "pay_nowhere", "7").error or "")
