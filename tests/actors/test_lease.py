"""Runs that do not begin because their worker cannot trust its lease by its own clock."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest

from sluice.actors.assembly import stores
from sluice.actors.executor.claims_in_flight import GATHER_S, ClaimsInFlight, LateResults
from sluice.actors.executor.execution import Execution
from sluice.actors.settings.settings import Settings
from sluice.actors.telemetry.observers import RunReport
from sluice.jobs.model.job import Assignment
from sluice.jobs.observe.log_context import Subject
from sluice.jobs.runners.process import process
from sluice.jobs.states import State
from tests.actors.bench import Bench
from tests.actors.ledgers import Late
from tests.broker.conftest import until
from tests.world import LEASE_S


class Leased:
    """Bench with a worker that trusts its lease of 15 s by a clock that the test sets. The answers to its claims can be
    delayed."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.clock_s = 0.0
        self.before_answer: Callable[[], None] = lambda: None
        self.holdings = ClaimsInFlight(lease_s=LEASE_S, clock=lambda: self.clock_s)
        self.holdings.renew(0.0)
        self.ledger = Late(bench.world, self._answer)
        bench.running = Execution(
            self.ledger,
            lambda: bench.world.catalogue,
            self.holdings,
            bench.worker,
            bench.sent.extend,
            stores=stores(Settings()),
        )

    def _answer(self) -> None:
        self.before_answer()

    def answered_once(self, meanwhile: Callable[[], None]) -> None:
        """Call ``meanwhile`` once, between the next commit and its answer."""

        def before_answer() -> None:
            self.before_answer = lambda: None
            meanwhile()

        self.before_answer = before_answer

    def pass_s(self, seconds: float) -> None:
        self.clock_s += seconds


@pytest.fixture
def leased(bench: Bench) -> Iterator[Leased]:
    made = Leased(bench)
    with closing(made.ledger):
        yield made


def test_a_claim_that_is_answered_in_time_runs(leased: Leased) -> None:
    leased.answered_once(lambda: leased.pass_s(9))
    leased.bench.run("transfer")
    assert leased.bench.effects() == 1


def test_a_run_does_not_begin_if_its_claim_is_answered_after_the_lease(leased: Leased) -> None:
    leased.answered_once(lambda: leased.pass_s(LEASE_S))
    leased.bench.run("transfer")
    assert leased.bench.effects() == 0
    assert leased.bench.world.state("transfer") is State.READY


def test_a_run_does_not_begin_if_its_claim_took_a_whole_lease(
    leased: Leased,
) -> None:
    """The lease was renewed meanwhile. But a heartbeat hands back old claims that its process does not know, and may
    have handed back this claim."""

    def renew() -> None:
        for _ in range(3):
            leased.pass_s(LEASE_S / 3)
            leased.holdings.renew(leased.clock_s)

    leased.answered_once(renew)
    leased.bench.run("transfer")
    assert leased.bench.effects() == 0
    assert leased.bench.world.state("transfer") is State.READY


def test_a_run_does_not_begin_if_its_lease_was_lost_since_its_claim(leased: Leased) -> None:
    """The lease was renewed again, and the claim was answered sooner than a lease lasts. But another worker may have
    the job by now."""

    def lose_and_renew() -> None:
        leased.pass_s(4)
        leased.holdings.renew(leased.clock_s)

    leased.pass_s(8)
    leased.answered_once(lose_and_renew)
    leased.bench.run("transfer")
    assert leased.bench.effects() == 0
    assert leased.bench.world.state("transfer") is State.READY


def test_jobs_of_a_batch_do_not_begin_once_the_lease_is_not_trusted(leased: Leased) -> None:
    world = leased.bench.world
    world.define({"step": {"job_id": "{x}", "bash_cmd": "true"}})
    for key in "123":
        world.submit("step", key)
    begun: list[str] = []

    def begin(report: RunReport, assignment: Assignment) -> Assignment:
        begun.append(assignment.name.key)
        leased.pass_s(LEASE_S)
        return assignment

    with patch.object(RunReport, "begins", begin):
        leased.bench.hint("step", *"123")
    assert begun == ["1"]
    assert [world.state(f"step/{key}") for key in "23"] == [State.READY] * 2


def test_a_message_waits_while_the_lease_is_not_trusted(leased: Leased) -> None:
    leased.pass_s(LEASE_S)
    leased.bench.world.submit("transfer")
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(leased.bench.hint, "transfer")
        with pytest.raises(TimeoutError):
            late.result(timeout=0.3)
        assert leased.bench.world.state("transfer") is State.READY
        leased.holdings.renew(leased.clock_s)
        assert late.result(timeout=30).verdicts == ["acknowledged"]
    assert leased.bench.effects() == 1


def test_a_message_that_waits_for_the_lease_is_given_back_on_shutdown(leased: Leased) -> None:
    leased.pass_s(LEASE_S)
    leased.bench.world.submit("transfer")
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(leased.bench.hint, "transfer")
        leased.holdings.drain()
        assert late.result(timeout=30).verdicts == ["given back"]
    assert leased.bench.world.state("transfer") is State.READY


def test_a_command_that_ignores_sigterm_is_killed_before_the_lease_ends(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease decides: it is shorter than the grace time of commands, which is 600 s here."""
    monkeypatch.setattr(process, "GRACE_S", 600.0)
    begun = tmp_path / "begun"
    command = f"trap '' TERM; touch {begun}; while :; do sleep 0.05; done"
    bench.world.define({"stubborn": {"job_id": "{x}", "bash_cmd": command}})
    bench.running = Execution(
        bench.world.ledger,
        lambda: bench.world.catalogue,
        bench.holdings,
        bench.worker,
        bench.sent.extend,
        stores=stores(Settings(lease_s=0.6)),
    )
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(bench.run, "stubborn")
        until(begun.exists)
        bench.holdings.stop_all()
        running.result(timeout=30)
    assert bench.world.state("stubborn") is State.READY


def test_late_results_are_logged_at_once_and_then_together(caplog: pytest.LogCaptureFixture) -> None:
    moment = [100.0]
    late = LateResults(lambda: moment[0])
    late.log([Subject(app="left", key="1")])
    late.log([Subject(app="left", key="2")])
    late.log([Subject(app="sink", key="1"), Subject(app="sink", key="1")])
    late.log()
    moment[0] += GATHER_S
    late.log()
    late.log()
    moment[0] += GATHER_S
    late.log([Subject(app="left", key="3")], others_follow=True)
    late.log([Subject(app="left", key="4")], others_follow=True)
    late.log(at_once=True)
    assert [record.getMessage().partition(" came")[0] for record in caplog.records] == [
        "the result of left/1",
        "the results of left/2, sink/1",
        "the results of left/3, left/4",
    ]
