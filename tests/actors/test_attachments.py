"""External work between a claim and its outcome: whether the run still owns the work when it has to end."""

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from sluice.actors.assembly import stores
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.execution import Execution
from sluice.actors.executor.job_services import WorkAttachment
from sluice.actors.settings.settings import Settings
from sluice.broker.messages import Execute, JobRound, Message
from sluice.jobs.catalogue import load
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.external_work import WorkOwner
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.world import LEASE_S, World

GRID = """
asked = []
answers = []
meanwhile = lambda: None

class Grid:
    poll_s = 0.01

    def run(self, job):
        asked.append("run")
        return {"token": job.token}

    def check(self, handle):
        asked.append("check")
        meanwhile()
        return answers.pop(0) if answers else "running"

    def cancel(self, handle):
        asked.append("cancel")
"""


class Acknowledged:
    """Delivery that ignores its verdict."""

    def acknowledge(self) -> None: ...

    def give_back(self) -> None: ...


class Site:
    """Grid, and workers that run its one job. ``meanwhile`` is called while the grid is polled."""

    def __init__(self, world: World, folder: Path) -> None:
        (folder / "grid.py").write_text(GRID)
        (folder / "apps.toml").write_text(
            f'[far]\njob_id = "{{x}}"\njob_type = "{folder}/grid.py:Grid"\nmax_fails = 1\n'
        )
        world.catalogue = load([str(folder / "apps.toml")])
        self.world = world
        self.grid: Any = vars(sys.modules[self._grid().__module__])
        self.id = world.submit("far")
        self.holdings = ClaimsInFlight()

    @property
    def asked(self) -> list[str]:
        """The calls of the grid, without consecutive repeats."""
        asked: list[str] = self.grid["asked"]
        return [each for place, each in enumerate(asked) if each != "".join(asked[place - 1 : place])]

    @property
    def handle(self) -> Any:
        return self.world.field("far", "handle")

    def run(self, *answers: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Run the job by a new worker until it ends or is stopped."""
        self.grid["answers"][:] = answers
        self.grid["meanwhile"] = meanwhile
        sent: list[Message] = []
        running = Execution(
            self.world.ledger,
            lambda: self.world.catalogue,
            self.holdings,
            self.world.hire(),
            sent.extend,
            stores=stores(Settings()),
        )
        turn = JobRound(self.world.known("far").id, self.world.round("far"))
        running.execute(Execute(app="far", jobs=(turn,)), Acknowledged())
        self.world.queue.extend(sent)
        self.world.deliver()

    def _grid(self) -> type:
        found = self.world.catalogue.app("far").manager
        assert found is not None
        return found


@pytest.fixture
def site(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return Site(world, tmp_path)


def test_the_ledger_has_the_handle_only_while_the_work_runs(site: Site) -> None:
    seen: list[Any] = []
    site.run("succeeded", meanwhile=lambda: seen.append(site.handle))
    (handle,) = seen
    assert len(handle["token"]) == 32
    assert site.handle is None
    assert site.world.state("far") is State.SUCCEEDED


def test_a_leaving_worker_hands_the_job_back_and_the_next_finds_the_work(site: Site) -> None:
    site.run(meanwhile=site.holdings.stop_all)
    assert site.world.state("far") is State.READY
    site.run("running", "succeeded")
    assert site.asked == ["run", "check"]
    assert site.world.state("far") is State.SUCCEEDED


def test_a_cancelled_job_has_its_work_ended(site: Site) -> None:
    def cancel() -> None:
        site.world.cancel(site.id)
        site.holdings.stop_all()

    site.run(meanwhile=cancel)
    assert site.asked == ["run", "check", "cancel"]
    assert site.world.state("far") is State.CANCELLED
    assert site.handle is None


def test_a_worker_that_lost_its_lease_does_not_cancel_the_work(site: Site) -> None:
    def lose() -> None:
        site.world.tick(after_s=LEASE_S + 1)
        site.holdings.stop_all()

    site.run(meanwhile=lose)
    assert site.asked == ["run", "check"]
    site.run("succeeded")
    assert site.asked == ["run", "check"]
    assert site.world.state("far") is State.SUCCEEDED


def test_the_round_after_a_failure_starts_new_work(site: Site) -> None:
    site.run("failed")
    site.world.tick(after_s=1)
    site.run("succeeded")
    assert site.asked == ["run", "check", "run", "check"]


# Attaching alone, with a ledger that is unreachable at first.


class _Away:
    """Ledger that is unreachable for this many requests, and then accepts."""

    def __init__(self, times: int) -> None:
        self.times = times

    def transact(self, _: object, at: object = None) -> bool:
        self.times -= 1
        if self.times >= 0:
            raise Unreachable("The ledger does not answer.")
        return True


def _attaching(times: int, stop: Event) -> WorkAttachment:
    job = ClaimedJob(1, "far", "1", 0, 1, None, None, None, None)
    return WorkAttachment(cast(Ledger, _Away(times)), job, stop, lambda _: None)


def test_storing_a_handle_is_retried_until_the_ledger_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.actors.executor.ledger_retry.AGAIN_S", 0.001)
    assert _attaching(3, Event()).keep("w1")


def test_storing_a_handle_stops_once_the_lease_is_not_trusted() -> None:
    stop = Event()
    stop.set()
    assert not _attaching(99, stop).keep("w1")


def test_while_the_ledger_is_away_the_stop_event_decides_the_keeper() -> None:
    stop = Event()
    assert _attaching(99, stop).keeper("w1") is WorkOwner.OURS
    stop.set()
    assert _attaching(99, stop).keeper("w1") is WorkOwner.ANOTHER
    _attaching(99, stop).ended("w1")
