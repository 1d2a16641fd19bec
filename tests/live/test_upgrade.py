"""Workers of a release continue while the ledger is migrated, beside workers of the next release."""

import logging
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.schema import migrate
from tests.ledger.generations import database
from tests.live import releases
from tests.live.fleet import Fleet, fleet, wait_until

_LOG = logging.getLogger("sluice.tests")

APPS = ("first", "second", "third")
#: Keys per batch. Each key has a job of each app.
BATCH = 25
_ASKED = (
    """SELECT sluice.submit(jsonb_build_object('app', 'third', 'key', %(key)s::text, 'push', 'wanted'))"""
)
_STATES = "SELECT state, count(*) FROM job GROUP BY state"
_AT_WORK = "SELECT count(*) FROM worker WHERE left_at IS NULL"
_OPEN = "SELECT count(*) FROM submission WHERE state <> 'succeeded'"


class Asker:
    """Client that requests one batch of keys after another, by ``Client`` and by SQL, as any service may."""

    def __init__(self, ledger: Ledger, client: Client) -> None:
        self._ledger = ledger
        self._client = client
        self._keys = count(1)
        self.asked = 0

    def ask(self) -> None:
        keys = [str(next(self._keys)) for _ in range(BATCH)]
        self._client.submit_many([Submission(app="third", key=key, push="wanted") for key in keys[1:]])
        self._ledger.transact(lambda tx: tx.rows(_ASKED, key=keys[0]))
        self.asked += len(keys)

    def jobs(self) -> int:
        return self.asked * len(APPS)


@pytest.mark.timeout(600)
def test_workers_of_the_previous_release_continue_while_the_ledger_is_migrated(
    live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    before, after = releases.two(folder)
    assert before.revision < after.revision
    with database(live_ledger_url) as url, ExitStack() as stack:
        assert before.upgrade(url) == before.revision
        broker = stack.enter_context(closing(connect(broker_url)))
        ledger = stack.enter_context(closing(Ledger(url)))
        old = stack.enter_context(
            fleet(2, _made(folder / "old"), ledger=url, broker=broker_url, root=before.root)
        )
        asker = Asker(ledger, Client(ledger, broker.publish))
        asker.ask()
        wait_until(old.lines, within_s=60, explain=old.log)
        asker.ask()
        assert after.upgrade(url) == after.revision == migrate.revision(url)
        with fleet(2, _made(folder / "new"), ledger=url, broker=broker_url, root=after.root) as new:
            _have_both_work(asker, ledger, old, new)
            _have_all_end(asker, ledger, old, new)
            assert old.terminate() == new.terminate() == [0, 0]
        assert ledger.transact(breaches) == []
        _check(asker, old, new)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _have_both_work(asker: Asker, ledger: Ledger, old: Fleet, new: Fleet) -> None:
    """Wait until both releases have run jobs that were requested after the migration."""
    before = {"old": len(old.lines()), "new": 0}

    def both() -> bool:
        return len(old.lines()) > before["old"] + BATCH and len(new.lines()) > BATCH

    def more() -> None:
        if len(old.lines()) + len(new.lines()) > asker.jobs() - BATCH:
            asker.ask()

    wait_until(lambda: ledger.transact(lambda tx: tx.column(_AT_WORK)) == [4], within_s=100, explain=new.log)
    asker.ask()
    wait_until(both, within_s=200, meanwhile=more, explain=lambda: old.log()[-3000:] + new.log()[-3000:])


def _have_all_end(asker: Asker, ledger: Ledger, old: Fleet, new: Fleet) -> None:
    def explain() -> str:
        return f"{ledger.transact(lambda tx: tx.rows(_STATES))}\n{old.log()[-3000:]}\n{new.log()[-3000:]}"

    def is_over() -> bool:
        states = dict(ledger.transact(lambda tx: tx.rows(_STATES)))
        return states == {"succeeded": asker.jobs()} and ledger.transact(lambda tx: tx.column(_OPEN)) == [0]

    wait_until(is_over, within_s=200, explain=explain)


def _check(asker: Asker, old: Fleet, new: Fleet) -> None:
    """Check that each job ran once, by either release. No worker was killed."""
    lines = old.lines() + new.lines()
    assert sorted((app, int(key)) for app, key, *_ in lines) == [
        (app, key) for app in APPS for key in range(1, asker.asked + 1)
    ]
    assert {claim for _, _, claim, _ in lines} == {"1"}
    assert "Traceback" not in old.log() + new.log()
    _LOG.info(
        "%d jobs: %d by the release before, %d by this", asker.jobs(), len(old.lines()), len(new.lines())
    )
