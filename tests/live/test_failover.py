"""Failover of the ledger to a replica, as in docs/operate.md."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sluice.actors.executor import transactions
from sluice.broker.messages import Execute, JobRound
from sluice.jobs.catalogue import Catalogue
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery import leases
from sluice.ledger.recovery.invariants import breaches
from sluice.ledger.schema import migrate
from sluice.ops.cli.main import main
from tests.live.replicas import Pair, replicated
from tests.world import LEASE_S, World

_PAUSED = "INSERT INTO app_pause (app, since) VALUES ('b', now())"
_JOB = "SELECT id, state, claim FROM job WHERE app = 'a'"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with replicated(tmp_path) as pair:
        migrate.upgrade(pair.primary.url)
        yield pair


def _claim(url: str, catalogue: Catalogue) -> int:
    """Claim the job for a new worker, and return the number of the claim."""
    worker = uuid4()
    words: dict[str, Any] = {"host": "test", "pid": 1, "queues": [], "threads": 1, "lease_s": LEASE_S}
    with closing(Ledger(url, connections=1)) as ledger:
        ledger.transact(lambda tx: leases.join(tx, worker, **words))
        ((job, _, _),) = ledger.transact(lambda tx: tx.rows(_JOB))
        claimed, _ = transactions.claim(ledger, catalogue, Execute(app="a", jobs=(JobRound(job, 0),)), worker)
    return claimed[0].claim


def test_after_a_failover_that_lost_a_claim_its_number_is_not_given_out_again(pair: Pair) -> None:
    with World(pair.primary.url) as world:
        world.apps("a")
        world.submit("a")
        pair.catch_up()
        assert main(["--ledger", pair.replica.url, "ls", "--json"]) == 0, "a replica serves reads"
        pair.cut_off()
        lost = _claim(pair.primary.url, world.catalogue)
    pair.fail_over()
    with closing(Ledger(pair.replica.url, connections=1)) as ledger:
        ((_, state, claim),) = ledger.transact(lambda tx: tx.rows(_JOB))
        assert (state, claim + 1) == ("ready", lost), "the next claim would have the same number"
        ledger.transact(lambda tx: tx.write("UPDATE worker SET lease_until = clock_timestamp()"))
        assert main(["--ledger", pair.replica.url, "db", "check"]) == 0
        assert main(["--ledger", pair.replica.url, "db", "restored"]) == 0
        assert _claim(pair.replica.url, world.catalogue) > lost
        assert ledger.transact(breaches) == []


def test_with_a_synchronous_replica_a_process_continues_and_no_claim_is_lost(pair: Pair) -> None:
    """The process has the addresses of both servers."""
    pair.primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
    pair.primary.ask("SELECT pg_reload_conf()")
    with World(pair.primary.url) as world:
        world.apps("a")
        world.submit("a")
        claim = _claim(pair.primary.url, world.catalogue)
    with closing(Ledger(pair.url, connections=1)) as ledger:
        ledger.transact(lambda tx: tx.write(_PAUSED))
        pair.fail_over()
        ((_, state, kept),) = ledger.transact(lambda tx: tx.rows(_JOB))
        assert (state, kept) == ("running", claim)
        ledger.transact(lambda tx: tx.write("DELETE FROM app_pause"))
        assert ledger.transact(breaches) == []


def test_an_upgrade_of_a_replica_is_refused_by_name(pair: Pair, capfd: pytest.CaptureFixture[str]) -> None:
    pair.primary.ask("DROP SCHEMA sluice CASCADE")
    pair.catch_up()
    assert main(["--ledger", pair.replica.url, "db", "upgrade"]) == 2
    assert "The server is a standby of another one, and accepts no changes." in capfd.readouterr().err
