"""Bench that runs one claim at a time and records the progress that its runner reports."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

from sluice.jobs.blobs import BlobStore
from sluice.jobs.keys.template import Template
from sluice.jobs.model.app import App
from sluice.jobs.model.external_work import Attachment
from sluice.jobs.model.job import Acknowledge, Assignment, Ending, Outcome, Transaction, idempotency_token
from sluice.jobs.model.names import JobName
from sluice.jobs.model.program import Program
from sluice.jobs.own_success import OwnSuccess
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.sandbox_settings import Fence
from sluice.jobs.policy.tenants import UNLIMITED, Tenant
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.runners import runner_for
from sluice.jobs.runners.process.sandbox import Sandbox
from sluice.jobs.runners.resources import Stores

USUAL = Fence()
FUNCTIONS = Path(__file__).with_name("user_functions.py")


def eventually(condition: Callable[[], object], *, within_s: float = 10.0) -> None:
    """Wait until a condition is true, instead of for a fixed time."""
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until, "it did not come about in time"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def pids_in(file: Path) -> list[int]:
    """Return the process IDs that a command has written to a file, one per complete line."""
    text = file.read_text() if file.exists() else ""
    return [int(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def error_of(outcome: Outcome) -> str:
    assert outcome.ending is Ending.ERROR
    assert outcome.error is not None
    return outcome.error


class Clock:
    """Clock that a test can set ahead. So a test can wait for a condition and then let a timeout expire at once."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s


class Bench:
    """Bench that makes assignments and runs them. A test sets ``stop``, as a worker does. ``folder`` has the stores."""

    def __init__(self, pool: ThreadPoolExecutor, folder: Path = Path(), fence: Fence = USUAL) -> None:
        self.folder = folder
        self.stores = stores_in(folder, fence)
        self.stop = threading.Event()
        self.progress: list[tuple[int, int | None]] = []
        self._pool = pool

    def assign(
        self,
        app: App,
        *,
        key: str = "20140101_7",
        ids: dict[str, str | int] | None = None,
        kwargs: dict[str, Any] | None = None,
        round_: int = 0,
        claim: int = 1,
        work_ids: tuple[int | str, ...] | None = None,
        span: tuple[str, str] | None = None,
        partitions: tuple[str, ...] = (),
        success: OwnSuccess | None = None,
        quota: Tenant = UNLIMITED,
    ) -> Assignment:
        return Assignment(
            app=app,
            policy=app.policy,
            name=JobName(app.name, key),
            ids={"date": 20140101, "client_id": 7} if ids is None else ids,
            kwargs=kwargs or {},
            work_ids=work_ids,
            span=span,
            partitions=partitions,
            round=round_,
            claim=claim,
            token=idempotency_token(app.name, app.digest, key),
            success=success,
            quota=quota,
        )

    def run(
        self,
        assignment: Assignment,
        *,
        transaction: Transaction | None = None,
        acknowledge: Acknowledge | None = None,
        attachment: Attachment | None = None,
    ) -> Outcome:
        return runner_for(assignment.app, self.stores).run(
            assignment,
            stop=self.stop,
            report=lambda done, total: self.progress.append((done, total)),
            transaction=transaction,
            acknowledge=acknowledge,
            attachment=attachment,
        )

    def bash(self, command: str | None, *, policy: Policy | None = None, **words: Any) -> Outcome:
        return self.run(self.assign(bash_app(command, policy), **words))

    def call(self, function: Callable[..., Any], *, policy: Policy | None = None, **words: Any) -> Outcome:
        """Run a function in this thread."""
        return self.run(self.assign(python_app(function, policy), **words))

    def isolate(self, name: str, *, policy: Policy | None = None, **words: Any) -> Outcome:
        """Run a function of ``user_functions`` in a process of its own."""
        return self.run(self.assign(isolated_app(name, policy), **words))

    def meanwhile(self, run: Callable[[], Outcome]) -> Future[Outcome]:
        return self._pool.submit(run)


def stores_in(folder: Path, fence: Fence = USUAL) -> Stores:
    return Stores(ProgramStore(folder / "programs"), BlobStore(str(folder / "blobs")), Sandbox(fence))


def program_app(program: Program, policy: Policy | None = None) -> App:
    return _app(job_type="program", program=program, policy=policy or Policy(fail_on="either"))


def bash_app(command: str | None, policy: Policy | None = None) -> App:
    return _app(job_type="bash", bash_cmd=command, policy=policy or Policy())


def python_app(function: Callable[..., Any] | None, policy: Policy | None = None) -> App:
    return _app(job_type="python", function=function, policy=policy or Policy())


def isolated_app(name: str, policy: Policy | None = None) -> App:
    path = f"{FUNCTIONS}:{name}"
    return _app(job_type="python", isolate=True, function_path=path, policy=policy or Policy())


def managed_app(manager: type, policy: Policy | None = None) -> App:
    return _app(job_type="elsewhere:Grid", manager=manager, policy=policy or Policy())


def _app(**words: Any) -> App:
    return App(name="etl", origin="a test", template=Template.parse("{date}_{client_id}"), **words)
