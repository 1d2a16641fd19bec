"""A small world for scenarios: real handlers on a real ledger, a reliable queue, and a clock that is set by hand."""

import json
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self, cast
from uuid import UUID

import msgspec

from sluice.actors.executor import transactions
from sluice.actors.executor.own_successes import own_success
from sluice.actors.planner.landed_partitions import land as landing_of
from sluice.actors.planner.retries import retry
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import (
    Cancel,
    Execute,
    JobRound,
    Message,
    Pause,
    Plan,
    Resume,
    Submit,
    Tick,
    Watch,
)
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.names import Claim, JobName
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.observe.outages import OutageLog
from sluice.jobs.own_success import OwnSuccess
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.driver import PreparedConnection
from sluice.ledger.fixtures import empty
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.reads import submission_progress
from sluice.ledger.recovery import leases
from sluice.ledger.recovery.invariants import breaches

LEASE_S = 15.0


def catalogue_of(apps: Mapping[str, Any]) -> Catalogue:
    """Return the catalogue of a declarative source with these apps."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "apps.json"
        source.write_text(json.dumps(apps))
        return load([str(source)])


def taken_in(ledger: Ledger, catalogue: Catalogue, message: Submit) -> list[Message]:
    """Admit and plan a submission, as a process does that receives its message. Return the messages that follow."""
    return [sent for plan in handle(ledger, catalogue, message) for sent in handle(ledger, catalogue, plan)]


class KeptLedger(Ledger):
    """Ledger for many worlds one after another, with the clock of each.

    Connecting, and planning each statement for the first time, takes longer than most scenarios. No procedure is a
    whole transaction, because a test may send the statements of procedures one by one (``tests.stepwise``).
    """

    may_be_alone = False

    def __init__(self, url: str, connections: int) -> None:
        self.time: Callable[[], datetime] = datetime.now
        self._connections = connections
        super().__init__(url, connections=connections, steady=True, clock=self._time)

    def forget_statements(self) -> None:
        """Make the connections as good as new: no prepared statements, and no plans for tables of another size."""
        self._pool.check()
        with ExitStack() as used:
            for connection in [used.enter_context(self._connection()) for _ in range(self._connections)]:
                connection.execute("DEALLOCATE ALL", prepare=False)
                cast(PreparedConnection, connection)._prepared_here.clear()

    def forget_outages(self) -> None:
        """Log the next failure, even if it comes soon after an outage that an earlier world has had."""
        self.share_outages(OutageLog(self.outages.server, monotonic))

    def _time(self) -> datetime:
        return self.time()


class World:
    """World of a scenario.

    Messages wait in ``queue`` until ``deliver``. Notifications of ready jobs wait in ``offered`` until the test claims
    the jobs. Notifications of due polls wait in ``looks``. Its ledger has the settings of a worker's ledger.
    """

    def __init__(self, url: str, ledger: KeptLedger | None = None) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.url = url
        self._is_kept = ledger is not None
        #: Numbers for ids. They are the same in each world, so that two worlds with the same events are equal.
        self._ids = count(1)
        self.ledger = ledger or KeptLedger(url, connections=2)
        self.ledger.time = lambda: self.now
        self.ledger.forget_outages()
        self.ledger.transact(empty)
        self.catalogue = catalogue_of({})
        self.queue: deque[Message] = deque()
        self.offered: list[Execute] = []
        self.looks: list[Watch] = []
        self.worker = self.hire()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            assert self.ledger.transact(breaches) == []
        if not self._is_kept:
            self.ledger.close()

    def apps(self, text: str, **words: Any) -> None:
        """Define apps keyed by ``{x}`` with their dependencies, for example ``"a -> c, b -> c"``.

        ``words`` are options of all apps.
        """
        apps: dict[str, dict[str, Any]] = {}
        for part in text.split(","):
            names = [name.strip() for name in part.split("->")]
            for name in names:
                apps.setdefault(name, {"job_id": "{x}", "bash_cmd": "true"} | words)
            for parent, child in pairwise(names):
                needs = apps[child].setdefault("depends_on", {"app_name": []})
                needs["app_name"].append(parent)
        self.define(apps)

    def define(self, apps: Mapping[str, Any]) -> None:
        self.defined = dict(apps)
        self.catalogue = catalogue_of(apps)

    def submit(self, app: str, key: str | None = "1", *, id: str | None = None, **words: Any) -> str:
        """Submit by message and have it planned. Return the submission's id."""
        id_ = id or str(self._id())
        request = {"app": app, **({"key": key} if key is not None else {}), **words}
        self.queue.append(Submit(id=id_, submission=msgspec.Raw(msgspec.json.encode(request))))
        self.deliver()
        return id_

    def cancel(self, submission: str) -> None:
        self.queue.append(Cancel(submission=submission))
        self.deliver()

    def pause(self, submission: str) -> None:
        self.queue.append(Pause(submission=submission))
        self.deliver()

    def resume(self, submission: str) -> None:
        self.queue.append(Resume(submission=submission))
        self.deliver()

    def retry(self, submission: str) -> None:
        """Retry a submission, and have it planned."""
        retry(self.ledger, submission)
        self.queue.append(Plan(submissions=(submission,)))
        self.deliver()

    def land(self, table: str, *partitions: str, again: bool = False) -> int:
        """Land partitions. Return how many of them did not exist before."""
        landing = landing_of(self.ledger, self.catalogue, table, partitions, again=again)
        self.queue.extend(landing.messages)
        self.deliver()
        return landing.new

    def tick(self, *, after_s: float = 0.0) -> None:
        """Let time pass, then run the groomer once. Nothing happens in between."""
        self.now += timedelta(seconds=after_s)
        self.queue.append(Tick())
        self.deliver()

    def deliver(self) -> None:
        """Handle messages until only notifications of jobs are left."""
        while self.queue:
            message = self.queue.popleft()
            if isinstance(message, Execute):
                self.offered.append(message)
            elif isinstance(message, Watch):
                self.looks.append(message)
            else:
                self.queue.extend(handle(self.ledger, self.catalogue, message))

    def lose_messages(self) -> None:
        self.queue.clear()
        self.offered.clear()
        self.looks.clear()

    def hire(self) -> UUID:
        """Add a worker with a lease of its own. Return its id."""
        worker = self._id()
        self.ledger.transact(
            lambda tx: leases.join(tx, worker, host="test", pid=1, queues=[], threads=1, lease_s=LEASE_S)
        )
        return worker

    def _id(self) -> UUID:
        return UUID(int=next(self._ids))

    def beat(self, worker: UUID, claims: Sequence[Claim] = ()) -> set[Claim]:
        return self.ledger.transact(lambda tx: leases.renew(tx, worker, list(claims), lease_s=LEASE_S))

    def claim(self, job: str, *, worker: UUID | None = None) -> ClaimedJob | None:
        """Claim one job in its present round. None if that is refused."""
        known = self.known(job)
        turn = JobRound(known.id, self.round(job))
        message = Execute(app=known.app, jobs=(turn,))
        claimed, messages = transactions.claim(self.ledger, self.catalogue, message, worker or self.worker)
        self.queue.extend(messages)
        self.deliver()
        return claimed[0] if claimed else None

    def take(self, job: str) -> ClaimedJob:
        """Claim a job that is ready, so that it runs."""
        claimed = self.claim(job)
        assert claimed is not None, f"{job} is {self.state(job)}"
        return claimed

    def right_of(self, claimed: ClaimedJob) -> OwnSuccess:
        """Return the right of a claim of this worker to record the success of its job."""
        return own_success(self.ledger, claimed, str(self.worker))

    def record(self, claimed: ClaimedJob, ending: Ending = Ending.DONE, **words: Any) -> bool:
        """Record an outcome for a claim, and deliver the messages that follow. Return whether it was accepted."""
        outcome = Outcome(ending=ending, **words)
        messages, refused = transactions.record(self.ledger, {claimed.right: outcome})
        self.queue.extend(messages)
        self.deliver()
        return not refused

    def finish(self, job: str, ending: Ending = Ending.DONE) -> None:
        """Run one ready job to this end."""
        self.beat(self.worker)
        claimed = self.claim(job)
        assert claimed is not None, f"{job} cannot be claimed: it is {self.state(job)}"
        assert self.record(claimed, ending, error=None if ending is Ending.DONE else "it broke")

    def known(self, job: str) -> KnownJob:
        app, _, key = job.partition("/")
        name = JobName(app, key or "1")
        return self.ledger.transact(lambda tx: known_jobs.find(tx, [name]))[name]

    def state(self, job: str) -> State:
        return self.known(job).state

    def states(self) -> dict[str, State]:
        """Return every job's state, by ``app/key``, or by app alone for key 1."""
        rows = self.ledger.transact(lambda tx: tx.rows("SELECT app, key, state FROM job"))
        return {app if key == "1" else f"{app}/{key}": State(state) for app, key, state in rows}

    def ready(self) -> set[str]:
        return {name for name, state in self.states().items() if state is State.READY}

    def round(self, job: str) -> int:
        return int(self._column(job, "round"))

    def field(self, job: str, column: str) -> Any:
        return self._column(job, column)

    def history(self, job: str) -> list[str]:
        """Return the states that the job has been in, in order."""
        known = self.known(job)
        return self.ledger.transact(
            lambda tx: tx.column(
                "SELECT target FROM transition WHERE job = %(job)s ORDER BY id", job=known.id
            )
        )

    def submission(self, id: str) -> SubmissionState:
        status = self.ledger.transact(lambda tx: submission_progress.status(tx, id))
        assert status is not None
        return status.state

    def reason(self, id: str) -> str:
        status = self.ledger.transact(lambda tx: submission_progress.status(tx, id))
        assert status is not None
        return status.reason or ""

    def _column(self, job: str, column: str) -> Any:
        known = self.known(job)
        return self.ledger.transact(
            lambda tx: tx.column(f"SELECT {column} FROM job WHERE id = %(job)s", job=known.id)
        )[0]
