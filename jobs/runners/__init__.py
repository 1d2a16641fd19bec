"""Runners: how one claim of a job is run on this machine, to its end, and what came of it.

Owns the way a function is called and a process is started, watched and ended. A runner blocks until
the end and answers with an outcome.

What holds:

- Nothing that user code does leaves a runner as an exception: it becomes ``Ending.ERROR`` with words for
  people. What raises is our own fault or the callback's that was handed in.
- When ``stop`` is set (cancelled, claim lost, worker leaving) the work is ended as fast as it can be, and
  handed back. A process group gets SIGTERM, and SIGKILL after a short grace; a thread can only be told.
- ``timeout_s`` is enforced here for processes and for work elsewhere, and by the ledger's groomer for all.
- A process is started within the worker's fence, or not at all (``sandbox``).
- Nothing that was started here outlives the run, nor the worker; memory does not grow with what is printed.
  Work elsewhere does outlive the worker, and its handle leads the next claim to it.

Knows nothing of ledger, broker and rounds to come: what follows from an outcome is judged elsewhere.

    python.py   functions in this thread            isolate.py, child.py   functions in a process
    bash.py     commands                            process.py             process groups
    program.py  programs                            kept.py, keeper.py     groups that nobody can leave
    sandbox.py, view.py, privileges.py   what a process cannot do, or see
    managed.py  work elsewhere                      spark.py, session.py   what a function gets of Spark
    saga.py     runs of a saga's flight (see ``jobs.sagas``)
"""

import threading
from typing import Protocol

from sluice.jobs.app import App
from sluice.jobs.job import Acknowledge, Assignment, Report, Transaction
from sluice.jobs.managed import Attachment
from sluice.jobs.outcome import Outcome
from sluice.jobs.runners.bash import BashRunner
from sluice.jobs.runners.ending import failed
from sluice.jobs.runners.isolate import IsolateRunner
from sluice.jobs.runners.managed import ManagedRunner
from sluice.jobs.runners.program import ProgramRunner
from sluice.jobs.runners.python import PythonRunner
from sluice.jobs.runners.saga import SagaRunner
from sluice.jobs.runners.stores import Stores
from sluice.jobs.sagas.journal import Journal


class Runner(Protocol):
    """One is made for each app and run by many threads at once."""

    def run(
        self,
        assignment: Assignment,
        *,
        stop: threading.Event,
        report: Report,
        transaction: Transaction | None = None,
        acknowledge: Acknowledge | None = None,
        attachment: Attachment | None = None,
        journal: Journal | None = None,
    ) -> Outcome:
        """Run the claim to its end. Callbacks are called in this thread or the job's; they must not raise."""
        ...


def runner_for(app: App, stores: Stores) -> Runner:
    """The runner of this app's job type."""
    return _of_a_noun(app, stores) or _of_a_type(app, stores) or _Unrunnable(_why_not(app))


def _of_a_noun(app: App, stores: Stores) -> Runner | None:
    """Of what the app is, where that is more than a function or a command."""
    if app.program is not None:
        return ProgramRunner(app.program, stores)
    if app.saga is not None:
        return SagaRunner(app.saga)
    return None if app.manager is None else ManagedRunner(app.manager)


def _of_a_type(app: App, stores: Stores) -> Runner | None:
    if app.job_type == "bash":
        return BashRunner(stores)
    if app.job_type == "pyspark" or (app.job_type == "python" and app.isolate):
        return IsolateRunner(stores)
    return PythonRunner(app.function) if app.job_type == "python" and app.function else None


def _why_not(app: App) -> str:
    if app.job_type == "python":
        return f"{app.name} has no function, so there is nothing to run."
    return f"{app.name} has the job type {app.job_type}, which no runner here knows."


class _Unrunnable:
    """Answers for an app that cannot be run, so that its jobs fail with a reason instead of their worker."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def run(self, assignment: Assignment, **_: object) -> Outcome:  # noqa: ARG002  # The same for every job.
        return failed(self._reason)
