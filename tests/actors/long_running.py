"""A long-running service on a grid with prepared answers, and a ledger with a clock that is set by hand."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sluice.actors.assembly import stores
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.execution import Execution
from sluice.actors.executor.external_work import ExternalWorkPoller
from sluice.actors.settings.settings import Settings
from sluice.broker.messages import Execute, JobRound, Message, Watch
from sluice.jobs.catalogue import load
from sluice.jobs.observe.failpoints import CommitPoints
from sluice.ledger.database.connection import Ledger, Tx
from tests.world import World

T = TypeVar("T")

GRID = """
asked = []
answers = []
alive = {}
meanwhile = lambda: None
run_breaks = 0
cancel_breaks = 0

class Grid:
    poll_s = 5

    def run(self, job):
        global run_breaks
        asked.append("run")
        if run_breaks:
            run_breaks -= 1
            raise ConnectionError("the grid does not answer")
        job.log.info("starting %s", job.key)
        meanwhile()
        return alive.setdefault(job.token, f"w{len(alive) + 1}")

    def check(self, handle):
        asked.append("check")
        meanwhile()
        answer = answers.pop(0) if answers else "running"
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def cancel(self, handle):
        global cancel_breaks
        asked.append("cancel")
        if cancel_breaks:
            cancel_breaks -= 1
            raise ConnectionError("the grid does not answer")
"""
APPS = """
[far]
job_id = "{{x}}"
job_type = "{folder}/grid.py:Grid"
is_long_running = true

[short]
job_id = "{{x}}"
job_type = "{folder}/grid.py:Grid"

[after]
job_id = "{{x}}"
bash_cmd = "true"
depends_on = {{ app_name = ["far"] }}
"""


class Delivered:
    """Delivery that records whether it was given back."""

    def __init__(self) -> None:
        self.was_given_back = False

    def acknowledge(self) -> None: ...

    def give_back(self) -> None:
        self.was_given_back = True


class Site:
    """Grid, and workers that start and poll its work. ``meanwhile`` is called during ``run`` and ``check``."""

    def __init__(self, world: World, folder: Path) -> None:
        (folder / "grid.py").write_text(GRID)
        (folder / "apps.toml").write_text(APPS.format(folder=folder))
        world.catalogue = load([str(folder / "apps.toml")])
        self.world = world
        manager = world.catalogue.app("far").manager
        assert manager is not None
        self.grid: Any = vars(sys.modules[manager.__module__])
        self.holdings = ClaimsInFlight()

    @property
    def asked(self) -> list[str]:
        asked: list[str] = self.grid["asked"]
        return asked

    def answer(self, *answers: object) -> None:
        self.grid["answers"][:] = answers

    def field(self, column: str, job: str = "far") -> Any:
        return self.world.field(job, column)

    def round(self, column: str, job: str = "far") -> Any:
        """Return a column of the round of the last claim."""
        known = self.world.known(job)
        sql = f"SELECT {column} FROM round WHERE job = %(job)s ORDER BY claim DESC LIMIT 1"
        return self.world.ledger.transact(lambda tx: tx.column(sql, job=known.id))[0]

    def run(self, job: str = "far", *, ledger: Ledger | None = None) -> None:
        """Run one ready job by a new worker."""
        sent: list[Message] = []
        running = Execution(
            ledger or self.world.ledger,
            lambda: self.world.catalogue,
            self.holdings,
            self.world.hire(),
            sent.extend,
            stores=stores(Settings()),
        )
        known = self.world.known(job)
        turn = JobRound(known.id, self.world.round(job))
        running.execute(Execute(app=known.app, jobs=(turn,)), Delivered())
        self._spread(sent)

    def look(self, *hints: Watch, meanwhile: Callable[[], object] = lambda: None) -> Delivered:
        """Make these polls by a worker; default: the polls that were requested."""
        self.grid["meanwhile"] = meanwhile
        delivered, sent = Delivered(), list[Message]()
        if not hints:
            hints, self.world.looks = (*self.world.looks,), []
        for hint in hints:
            self.process(sent).watch(hint, delivered)
        self.grid["meanwhile"] = lambda: None
        self._spread(sent)
        return delivered

    def process(self, sent: list[Message]) -> ExternalWorkPoller:
        """Return a process that can make polls."""
        return ExternalWorkPoller(self.world.ledger, lambda: self.world.catalogue, self.holdings, sent.extend)

    def passes(self, seconds: float) -> None:
        """Let this time pass, then tick the groomer and make the requested polls."""
        self.world.tick(after_s=seconds)
        self.look()

    def _spread(self, sent: list[Message]) -> None:
        self.world.queue.extend(sent)
        self.world.deliver()


class Died(BaseException):
    """Raised in place of SIGKILL."""


class LastTransaction(Ledger):
    """Ledger of a worker that dies before its second transaction. The first one is the claim."""

    def __init__(self, world: World) -> None:
        super().__init__(world.url, connections=1, clock=lambda: world.now)
        self._is_used = False

    def transact(self, work: Callable[[Tx], T], at: CommitPoints | None = None) -> T:
        if self._is_used:
            raise Died
        self._is_used = True
        return super().transact(work, at)
