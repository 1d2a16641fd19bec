"""Success that a job records in a transaction of its own, by ``job.succeed_in`` and ``job.transaction``."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from sluice.actors.executor import own_successes, transactions
from sluice.jobs.catalogue import load
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.runners.run_output import captured_runs
from sluice.jobs.states import State
from tests.actors.bench import Bench
from tests.world import World

SOURCE = """
import asyncio
import os

import psycopg
from psycopg.rows import dict_row
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from sluice import app

URL = {url!r}
ENGINE = create_engine(URL.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
WRITE = "INSERT INTO public.effect VALUES ('written')"
LEFT_OPEN = []


@app(job_id="{x}")
def by_psycopg(job):
    with psycopg.connect(URL, row_factory=dict_row) as connection:
        connection.execute(WRITE)
        print("written")
        job.succeed_in(connection)
    return "booked"


@app(job_id="{x}")
def by_sqlalchemy(job):
    with ENGINE.begin() as connection:
        connection.execute(text(WRITE))
        job.succeed_in(connection)
    return "booked"


@app(job_id="{x}")
def by_session(job):
    with Session(ENGINE) as session, session.begin():
        session.execute(text(WRITE))
        job.succeed_in(session)
    return "booked"


@app(job_id="{x}", isolate=True)
def isolated(job):
    with psycopg.connect(URL) as connection:
        connection.execute(WRITE)
        job.succeed_in(connection)
    return "booked"


@app(job_id="{x}", isolate=True)
def isolated_and_killed(job):
    with psycopg.connect(URL) as connection:
        connection.execute(WRITE)
        job.succeed_in(connection)
    os.kill(os.getpid(), 9)


@app(job_id="{x}")
def raises_before_the_commit(job):
    with psycopg.connect(URL) as connection:
        connection.execute(WRITE)
        job.succeed_in(connection)
        raise RuntimeError("no commit")


@app(job_id="{x}")
def raises_after_the_commit(job):
    with psycopg.connect(URL) as connection:
        connection.execute(WRITE)
        job.succeed_in(connection)
    raise RuntimeError("too late")


@app(job_id="{x}")
def rolls_back(job):
    connection = psycopg.connect(URL)
    connection.execute(WRITE)
    job.succeed_in(connection)
    connection.close()
    return "booked"


@app(job_id="{x}")
def rolls_back_and_tries_again(job):
    for last in (False, True):
        with psycopg.connect(URL) as connection:
            connection.execute(WRITE)
            job.succeed_in(connection)
            if not last:
                connection.rollback()
    return "booked"


@app(job_id="{x}")
def in_a_savepoint_that_is_rolled_back(job):
    with psycopg.connect(URL) as connection:
        with connection.transaction():
            connection.execute(WRITE)
            job.succeed_in(connection)
            raise psycopg.Rollback()


@app(job_id="{x}")
def never_commits(job):
    LEFT_OPEN.append(connection := psycopg.connect(URL))
    connection.execute(WRITE)
    job.succeed_in(connection)
    return "booked"


@app(job_id="{x}")
def in_autocommit(job):
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute(WRITE)
        job.succeed_in(connection)


@app(job_id="{x}")
def twice(job):
    for _ in range(2):
        with psycopg.connect(URL) as connection:
            connection.execute(WRITE)
            job.succeed_in(connection)


@app(job_id="{x}")
def asynchronously(job):
    async def succeed():
        async with await psycopg.AsyncConnection.connect(URL) as connection:
            job.succeed_in(connection)

    asyncio.run(succeed())


@app(job_id="{x}")
def elsewhere(job):
    with psycopg.connect(URL, dbname="postgres") as connection:
        job.succeed_in(connection)
"""
#: Apps whose writes are committed with their success.
SUCCEED = (
    "by_psycopg",
    "by_sqlalchemy",
    "by_session",
    "isolated",
    "rolls_back_and_tries_again",
)


@pytest.fixture
def bank(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """The bench, with jobs that connect to the database themselves."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    source = tmp_path / "bank.py"
    source.write_text(SOURCE.replace("{url!r}", repr(bench.world.url)))
    bench.world.catalogue = load([str(source)])
    yield bench
    for connection in sys.modules[bench.world.catalogue["never_commits"].function.__module__].LEFT_OPEN:
        connection.close()


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]


@pytest.mark.parametrize("app", SUCCEED)
def test_the_users_writes_and_the_success_are_committed_together(bank: Bench, app: str) -> None:
    bank.run(app)
    bank.judge()
    assert bank.world.state(app) is State.SUCCEEDED
    assert bank.effects() == 1
    done = bank.round_of(app)
    assert (done.ending, done.error, done.error_after_commit) == ("done", None, None)
    assert bank.world.ledger.transact(lambda tx: tx.column("SELECT result FROM round")) == ['"booked"']


def test_the_output_so_far_is_stored_with_the_success(bank: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that dies after the commit adds nothing to the round any more."""
    monkeypatch.setattr(transactions, "complete", lambda *_, **__: [])
    with captured_runs(passes_on=False):
        bank.run("by_psycopg")
    assert bank.round_of("by_psycopg").output == "written\n"


@pytest.mark.parametrize(
    ("app", "error"),
    [
        ("raises_before_the_commit", "RuntimeError: no commit"),
        ("rolls_back", "before the transaction of job.succeed_in() was committed"),
        ("in_a_savepoint_that_is_rolled_back", "before the transaction of job.succeed_in() was committed"),
        ("asynchronously", "job.succeed_in() cannot use AsyncConnection"),
        ("elsewhere", "job.succeed_in() needs an open transaction of the ledger's own database."),
    ],
)
def test_a_success_that_is_not_committed_leaves_no_writes_and_fails_the_round(
    bank: Bench, app: str, error: str
) -> None:
    bank.run(app)
    bank.judge()
    assert bank.world.state(app) is State.FAILED
    assert bank.effects() == 0
    assert error in (bank.round_of(app).error or "")


def test_outside_a_transaction_the_success_is_refused(bank: Bench) -> None:
    """It would be committed by itself: before the writes that follow, or without those that fail."""
    bank.run("in_autocommit")
    bank.judge()
    assert bank.world.state("in_autocommit") is State.FAILED
    assert "The connection is not in a transaction" in (bank.round_of("in_autocommit").error or "")


@pytest.mark.parametrize(
    ("app", "error"),
    [
        ("raises_after_the_commit", "RuntimeError: too late"),
        ("twice", "The job has succeeded already."),
        ("isolated_and_killed", "killed by signal 9 (SIGKILL)"),
    ],
)
def test_an_error_after_the_commit_is_kept_with_the_round(
    bank: Bench, app: str, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    bank.run(app)
    bank.judge()
    assert bank.world.state(app) is State.SUCCEEDED
    assert bank.effects() == 1
    assert error in (bank.round_of(app).error_after_commit or "")
    assert [error in message for message in errors(caplog)] == [True]


def test_a_transaction_that_stays_open_is_closed_and_fails_the_round(
    bank: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The job is locked by it, so nothing could be recorded before its end."""
    monkeypatch.setattr(own_successes, "OPEN_S_MAX", 0.1)
    bank.run("never_commits")
    bank.judge()
    assert bank.world.state("never_commits") is State.FAILED
    assert bank.effects() == 0
    (told, *_) = errors(caplog)
    assert told.startswith("never_commits/1 returned with an open transaction")
    assert told.endswith("its connection was closed")


@pytest.mark.parametrize("words", [{"claim": 0}, {"worker": str(uuid4())}])
def test_a_session_without_the_claim_or_the_id_of_the_worker_is_refused(
    world: World, words: dict[str, Any]
) -> None:
    world.apps("a")
    world.submit("a")
    claimed = world.take("a")
    with (
        pytest.raises(Exception, match="was taken over; its writes are rolled back"),
        world.ledger.begin() as tx,
    ):
        replace(world.right_of(claimed), **words).record(tx.connection, "")
    assert world.state("a") is State.RUNNING


def test_the_function_writes_what_the_executor_writes(world: World) -> None:
    """With a breaker that counts successes, because the app is paused for a while."""
    world.define({"a": {"job_id": "{x}", "bash_cmd": "true", "breaker": {"fails": 1, "pause": "1m"}}})
    for key in ("1", "2", "3"):
        world.submit("a", key)
    broken, first, second = (world.take(f"a/{key}") for key in ("1", "2", "3"))
    transactions.record(world.ledger, {broken.right: Outcome(ending=Ending.ERROR, error="broke")})
    transactions.record(world.ledger, {first.right: Outcome(ending=Ending.DONE, output="it said é%'\n")})
    world.ledger.transact(lambda tx: world.right_of(second).record(tx.connection, "it said é%'\n"))
    rows = [
        (row["job"], row["transition"], row["round"], row["events"])
        for row in world.ledger.transact(lambda tx: tx.connection.named_rows(_WRITTEN, {}))
    ]
    assert rows[0] == rows[1]


_WRITTEN = """
SELECT to_jsonb(job.*) - '{id,key,rank,priority,claimed_at}'::text[] AS job,
       (SELECT jsonb_agg(to_jsonb(transition.*) - '{id,job}'::text[] ORDER BY id)
        FROM transition WHERE transition.job = job.id) AS transition,
       (SELECT to_jsonb(round.*) - '{id,job,result_pending}'::text[] FROM round WHERE round.job = job.id) AS round,
       (SELECT count(*) FROM breaker_event WHERE succeeded = 1) AS events
FROM job WHERE key <> '1' ORDER BY key
"""
