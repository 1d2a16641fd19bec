"""Leases that cannot be renewed because the ledger refuses or hangs: runs end in time, and the renewal is retried."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from threading import Event
from uuid import uuid4

import psycopg
import pytest
from psycopg.errors import DeadlockDetected

from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.telemetry.counters import ProcessCounters
from sluice.actors.worker import heartbeat
from sluice.actors.worker.heartbeat import Heartbeat, WorkerTerms
from sluice.jobs.catalogue.resolve.digest import KnownDefinitions
from sluice.jobs.errors import BadSetting, Unreachable
from sluice.jobs.model.names import Claim
from sluice.ledger.database import kept_plans
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.fixtures import cut_off
from tests.actors.ledgers import Late, Refusing, Silent
from tests.jobs.runners.runner_bench import eventually
from tests.world import LEASE_S as WORLD_LEASE_S
from tests.world import World

#: Seconds. Short, because the tests use real clocks: they test the clock of the process.
LEASE_S = 0.3
ERRORS = [
    Unreachable("The ledger does not answer."),
    BadSetting("This role may not do it."),
    DeadlockDetected("once more"),
]


class Life:
    """Process that holds a claim on one job, with an event that stops the run."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        *,
        lease_s: float = LEASE_S,
        clock: Callable[[], float] = time.monotonic,
        give_back: Callable[[list[Claim]], None] = lambda _: None,
        health_file: Path | None = None,
    ) -> None:
        self._world = world
        world.apps("a")
        world.submit("a")
        self.holdings = ClaimsInFlight(lease_s=lease_s, clock=clock)
        self.id = uuid4()
        self.known = KnownDefinitions(apps={"a": "first"})
        self.line = Heartbeat(
            ledger,
            self.holdings,
            self.id,
            terms=WorkerTerms(queues=[], threads=1, code=None),
            give_back=give_back,
            known=lambda: self.known,
            meter=ProcessCounters(ledger, {}),
            health_file=health_file,
        )

    def claims(self) -> Event:
        """Claim the job, and return the stop event of its run."""
        claimed = self._world.claim("a", worker=self.id)
        assert claimed is not None
        return self.holdings.take([claimed.right])[claimed.right]

    def lease_left_s(self) -> float:
        with psycopg.connect(self._world.url) as connection:
            row = connection.execute(
                "SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM worker WHERE id = %s",
                (self.id,),
            ).fetchone()
        assert row is not None
        return float(row[0])


@pytest.fixture
def refusing(world: World) -> Iterator[Refusing]:
    with closing(Refusing(world)) as made:
        yield made


@pytest.fixture
def silent(world: World) -> Iterator[Silent]:
    with closing(Silent(world)) as made:
        yield made
        made.answer()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_runs_end_before_a_lease_that_cannot_be_renewed_and_renewal_is_retried(
    world: World, refusing: Refusing, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    caplog.set_level(logging.INFO)
    life = Life(world, refusing)
    life.line.start()
    stop = life.claims()
    refusing.refuse(error)
    assert stop.wait(20), "the worker must stop before another worker claims its job"
    eventually(lambda: life.lease_left_s() < 0)
    refusing.relent()
    eventually(lambda: life.lease_left_s() > 0)
    life.line.end()
    assert life.lease_left_s() <= 0, "the worker has given up its lease"
    if isinstance(error, Unreachable):
        failed, end = _told(caplog, "sluice.outages")
        stopped, back = _told(caplog)
        assert (failed.levelno, end.levelno) == (logging.WARNING, logging.INFO)
        assert "answers again" in end.getMessage()
    else:
        failed, stopped, back = _told(caplog)
        assert failed.getMessage() == f"a heartbeat failed: {error}"
        assert failed.exc_info
    assert str(error) in failed.getMessage()
    assert "1 run is stopped" in stopped.getMessage()
    assert "the lease is renewed" in back.getMessage()


def test_runs_are_stopped_before_the_lease_ends_although_the_heartbeat_hangs(
    world: World, silent: Silent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    life = Life(world, silent)
    life.line.start()
    stop = life.claims()
    silent.hang()
    assert silent.is_waited_for(), "the heartbeat"
    assert stop.wait(20), "its claim is about to be another worker's"
    eventually(lambda: life.lease_left_s() < 0)
    (start,) = _told(caplog, "sluice.outages")
    assert "is unreachable" in start.getMessage()
    assert "no answer for 0." in start.getMessage()
    (stopped,) = _told(caplog)
    assert stopped.levelno == logging.WARNING
    assert "1 run is stopped before it ends" in stopped.getMessage()
    assert not life.holdings.may_begin
    silent.answer()
    eventually(lambda: life.holdings.may_begin)
    life.line.end()
    _, back = _told(caplog)
    assert (back.levelno, "the lease is renewed" in back.getMessage()) == (logging.INFO, True)
    assert [record.levelno for record in _told(caplog, "sluice.outages")] == [logging.WARNING, logging.INFO]


def test_all_runs_are_stopped_while_a_third_of_the_lease_is_left(
    world: World, refusing: Refusing, caplog: pytest.LogCaptureFixture
) -> None:
    moment = [1000.0]
    life = Life(world, refusing, lease_s=3600.0, clock=lambda: moment[0])
    life.line.start()
    stop = life.claims()
    other = life.holdings.take([Claim(0, 1)])[Claim(0, 1)]
    moment[0] += 2399
    life.line.enforce()
    assert not stop.is_set()
    moment[0] += 1
    life.line.enforce()
    life.line.enforce()
    assert stop.is_set()
    assert other.is_set()
    (stopped,) = _told(caplog)
    assert "for 2400.0 s, so 2 runs are stopped" in stopped.getMessage()
    life.line.end()


@pytest.mark.parametrize("is_answered", [True, False])
def test_the_heartbeat_hands_back_an_old_claim_only_if_it_stays_unknown(
    world: World, *, is_answered: bool
) -> None:
    commits, handed_back = count(1), list[Claim]()

    def before_answer() -> None:
        """Take the claim before the second commit is answered. That one reads claims that are as old as a lease and
        unknown to their worker."""
        if next(commits) == 2 and is_answered:
            life.holdings.take([claim.right])

    with closing(Late(world, before_answer)) as ledger:
        life = Life(world, ledger, lease_s=WORLD_LEASE_S, give_back=handed_back.extend)
        claim = world.claim("a")
        assert claim is not None
        life.id = life.line.id = world.worker
        world.now += timedelta(seconds=WORLD_LEASE_S + 1)
        life.line.beat()
    assert handed_back == ([] if is_answered else [claim.right])


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_worker_exits_although_the_ledger_cannot_record_it(
    world: World, refusing: Refusing, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    life = Life(world, refusing)
    life.line.start()
    refusing.refuse(error)
    life.line.end()
    assert "its lease will expire" in caplog.text


def test_changed_definitions_reach_the_ledger_with_the_next_heartbeat(
    world: World, refusing: Refusing
) -> None:
    life = Life(world, refusing)
    life.line.start()
    try:
        assert _recorded(world) == life.known.digest
        life.known = KnownDefinitions(apps={"a": "second"})
        eventually(lambda: _recorded(world) == life.known.digest)
    finally:
        life.line.end()


def _recorded(world: World) -> str | None:
    with psycopg.connect(world.url) as connection:
        row = connection.execute("SELECT catalogue FROM worker WHERE catalogue IS NOT NULL").fetchone()
    return row[0] if row else None


def _told(caplog: pytest.LogCaptureFixture, logger: str = "sluice.worker") -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == logger]


def test_a_process_that_stood_still_logs_that_and_no_outage_of_the_ledger(
    world: World, refusing: Refusing, caplog: pytest.LogCaptureFixture
) -> None:
    moment = [1000.0]
    life = Life(world, refusing, lease_s=3600.0, clock=lambda: moment[0])
    life.line.start()
    life.claims()
    moment[0] += 2500
    life.line.enforce(stood_still_s=2490.0)
    (stopped,) = _told(caplog)
    assert stopped.getMessage().startswith("this process stood still for 2490.0 s: the lease has not been")
    assert _told(caplog, "sluice.outages") == []
    life.line.end()


def test_a_lease_is_trusted_from_the_request_of_its_renewal(world: World) -> None:
    """The answer may come late. The lease in the ledger began before it, so another worker may have the job earlier."""
    moment, delays = [1000.0], [0.0]

    def before_answer() -> None:
        moment[0] += delays.pop() if delays else 0.0

    with closing(Late(world, before_answer)) as late:
        life = Life(world, late, lease_s=3600.0, clock=lambda: moment[0])
        life.line.start()
        for delay, pause in ((0.0, 1200.0), (1000.0, 200.0), (1500.0, 0.0), (2500.0, 0.0)):
            delays.append(delay)
            life.line.beat()
            assert life.holdings.trusted_for_s == 2400.0 - delay
            assert life.line.pause_s() == pause, "so the next request comes before the trust ends"
        life.line.end()


def test_after_a_late_answer_the_lease_is_renewed_again_before_anything_else(world: World) -> None:
    """Otherwise the little trust that is left may end meanwhile. Every second heartbeat is complete nevertheless."""
    moment, delays = [1000.0], list[float]()

    def before_answer() -> None:
        moment[0] += delays.pop(0) if delays else 0.0

    with closing(Late(world, before_answer)) as late:
        life = Life(world, late, lease_s=3600.0, clock=lambda: moment[0])
        life.line.start()
        delays += [2300.0, 200.0]
        life.line.beat()
        assert life.holdings.trusted_for_s == 100.0
        life.line.beat()
        assert life.holdings.trusted_for_s == 2200.0
        delays += [2300.0, 2300.0, 1.0]
        life.line.beat()
        life.line.beat()
        assert delays == []
        life.line.end()


def test_lost_claims_are_checked_for_only_while_a_claim_is_held(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "CHECK_EVERY_S", 0.005)
    life = Life(world, world.ledger, lease_s=WORLD_LEASE_S)
    checks = list[float]()
    monkeypatch.setattr(life.line, "check_claims", lambda: checks.append(time.monotonic()))
    life.line.start()
    for number in (1, 2):
        before, claim = len(checks), Claim(1, number)
        life.holdings.take([claim])
        eventually(lambda before=before: len(checks) >= before + 3)
        life.holdings.forget([claim])
        eventually(lambda: not life.holdings.any_held.is_set())
        rests = len(checks)
        time.sleep(0.05)
        assert len(checks) == rests
    life.line.end()


def test_a_heartbeat_drops_plans_once_there_are_many_jobs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drops(tx: Tx) -> int:
        return tx.connection.plan_drops

    # Pages that earlier tests left would be filled first.
    world.ledger.transact(cut_off)
    monkeypatch.setattr(kept_plans, "SMALL", 0)
    with closing(Ledger(world.url, connections=1, steady=True)) as ledger:
        life = Life(world, ledger, lease_s=WORLD_LEASE_S)
        life.line.start()
        try:
            life.line.beat()
            assert ledger.transact(drops) == 0
            world.define({"b": {"job_id": "{x}", "autofill_values": {"x": "0:1000"}, "bash_cmd": "true"}})
            world.submit("b", None)
            life.line.beat()
            assert ledger.transact(drops) == 1
        finally:
            life.line.end()
