"""Success that a coroutine records in a transaction of an asynchronous session of SQLAlchemy."""

import sys
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.states import State
from tests.actors.bench import Bench

SOURCE = """
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from sluice import app

URL = {url!r}


@app(job_id="{x}")
async def book(job):
    engine = create_async_engine(URL.replace("postgresql:", "postgresql+psycopg:"))
    async with AsyncSession(engine) as session, session.begin():
        await session.execute(text("INSERT INTO public.effect VALUES ('written')"))
        await session.run_sync(job.succeed_in)
    await engine.dispose()
    return "booked"


@app(job_id="{x}")
async def passes_the_session(job):
    job.succeed_in(AsyncSession(create_async_engine(URL.replace("postgresql:", "postgresql+psycopg:"))))
"""


@pytest.fixture
def bank(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(sys, "path", [*sys.path])
    source = tmp_path / "async_bank.py"
    source.write_text(SOURCE.replace("{url!r}", repr(bench.world.url)))
    bench.world.catalogue = load([str(source)])
    return bench


def test_the_writes_of_a_session_and_the_success_are_committed_together(bank: Bench) -> None:
    bank.run("book")
    bank.judge()
    assert bank.world.state("book") is State.SUCCEEDED
    assert bank.effects() == 1
    assert bank.world.ledger.transact(lambda tx: tx.column("SELECT result FROM round")) == ['"booked"']


def test_an_asynchronous_session_is_refused_with_the_right_call(bank: Bench) -> None:
    bank.run("passes_the_session")
    bank.judge()
    assert bank.world.state("passes_the_session") is State.FAILED
    error = bank.round_of("passes_the_session").error or ""
    assert "cannot use AsyncSession: write `await session.run_sync(job.succeed_in)`" in error
