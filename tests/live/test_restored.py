"""A ledger that is backed up in the middle of a pipeline, lost, and restored as in the runbook."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.schema import migrate
from sluice.ops.cli.main import main
from tests.ledger.generations import database
from tests.live.fleet import fleet, wait_until
from tests.ops.backups import commands, typed

_LOG = logging.getLogger("sluice.tests")

#: Keys that are requested before the backup, and after it.
KEYS, LATER = range(40), range(40, 60)
APPS = ("first", "second", "third")
_OPEN = "SELECT count(*) FROM submission WHERE state <> 'succeeded'"
_SUCCEEDED = "SELECT count(*) FROM job WHERE state = 'succeeded'"
_NUMBERS = (
    "SELECT (SELECT max(id) FROM job), (SELECT max(number) FROM submission), (SELECT max(id) FROM history)"
)
_AT_WORK = "SELECT count(*) FROM worker WHERE left_at IS NULL AND lease_until > clock_timestamp()"
_NEW = "SELECT min(id) FROM job WHERE key::int = ANY(%(later)s)"


@contextmanager
def _asked(url: str, broker_url: str, keys: range) -> Iterator[Ledger]:
    """Yield a ledger in which these keys were requested. The submissions have the same ids each time."""
    with closing(connect(broker_url)) as broker, closing(Ledger(url)) as ledger:
        Client(ledger, broker.publish).submit_many(
            [Submission(app="third", key=str(key), push="wanted", id=f"s{key}") for key in keys]
        )
        yield ledger


def _lose_and_restore(url: str, folder: Path, restore: str) -> None:
    name = urlsplit(url).path[1:]
    with psycopg.connect(urlsplit(url)._replace(path="/postgres").geturl(), autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        server.execute(f"CREATE DATABASE {name}".encode())
    typed(restore, folder, url)


def _one(ledger: Ledger, sql: str, **words: object) -> int:
    return int(ledger.transact(lambda tx: tx.column(sql, **words))[0])


@pytest.mark.timeout(600)
def test_a_pipeline_continues_after_its_ledger_was_restored_to_an_earlier_moment(
    live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    dump, restore = commands()
    with database(live_ledger_url) as url:
        migrate.upgrade(url)
        with fleet(2, folder, ledger=url, broker=broker_url) as workers:
            with _asked(url, broker_url, KEYS):
                _have_one_run(url, broker_url, folder)
                wait_until(lambda: len(workers.lines()) > len(KEYS) // 2, within_s=100, explain=workers.log)
                typed(dump, folder, url)
                with _asked(url, broker_url, LATER) as ledger:
                    # All of these jobs succeed, but the restored ledger does not contain them.
                    wait_until(lambda: _one(ledger, _SUCCEEDED) == 180, within_s=200, explain=workers.log)
                    before = ledger.transact(lambda tx: tx.rows(_NUMBERS))[0]
            workers.terminate()
            ran = len(workers.lines())
            _lose_and_restore(url, folder, restore)
            assert main(["--ledger", url, "db", "check"]) == 0
            words = ["--ledger", url, "--broker", broker_url, "db", "restored"]
            wait_until(lambda: main(words) == 0, within_s=60)
            workers.start_all()
            (folder / "effects.9001").touch()
            with _asked(url, broker_url, LATER) as again:
                wait_until(lambda: _is_over(again), within_s=200, explain=lambda: workers.log()[-3000:])
                # A worker that does not handle SIGTERM yet would die of it. Wait until both have joined.
                wait_until(lambda: _one(again, _AT_WORK) == 2, within_s=60, explain=workers.log)
                assert workers.terminate() == [0, 0]
                assert again.transact(breaches) == []
                assert _one(again, _NEW, later=[*LATER]) > max(before)
        claims = Counter(tuple(line[:3]) for line in workers.lines())
        assert {line for line, times in claims.items() if times > 1} == set(), "a claim was given out twice"
        for _, key, claim, _ in workers.lines()[ran:]:
            assert int(claim) > max(before), key
        _LOG.info(
            "%d runs, %d of them after the restoration; no claim twice",
            len(workers.lines()),
            len(workers.lines()) - ran,
        )


def _have_one_run(url: str, broker_url: str, folder: Path) -> None:
    """Start a job that runs at the time of the backup, and has not ended by then."""
    with closing(connect(broker_url)) as broker, closing(Ledger(url)) as ledger:
        Client(ledger, broker.publish).submit(Submission(app="patient", key="9001", id="patient"))
    effects = folder / "effects"
    wait_until(lambda: effects.exists() and "patient" in effects.read_text(), within_s=60)


def _is_over(ledger: Ledger) -> bool:
    return _one(ledger, _OPEN) == 0 and _one(ledger, _SUCCEEDED) == 3 * (len(KEYS) + len(LATER)) + 1
