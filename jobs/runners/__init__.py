"""Runners: run one claim of a job on this machine to its end and return the outcome.

This package defines how functions are called and how processes are started, watched and ended. A runner blocks until
the end of the run.

Invariants:

- No exception of user code leaves a runner. It becomes ``Ending.ERROR`` with a text for people. An exception that does
  leave is a bug here or in a callback that the caller passed.
- When ``stop`` is set (job cancelled, claim lost, worker leaving), the work is ended as fast as possible and handed
  back. A process group gets SIGTERM, and SIGKILL after a short grace period; a thread can only be notified.
- ``timeout_s`` is enforced here for processes and external work, and by the ledger's groomer for every job.
- A process is started inside the worker's sandbox or not at all (``process.sandbox``).
- No process that is started here outlives the run or the worker. Memory does not grow with the amount of output.
  External work does outlive the worker, and its handle leads the next claim to it.

Runners know nothing of the ledger, the broker or later rounds. The planner judges the outcome.

    function/    functions in this thread or in a process, and Spark sessions
    command/     commands and programs, their placeholders and environment
    process/     process groups, groups that no process can leave, and the sandbox
    external     external work
    saga_run     runs of a saga's flight (see ``jobs.sagas``)
    run_output    output of code in the worker's threads
    output, output_blobs, run_outcome    the output and the outcome of a run
"""

import threading
from typing import Protocol

from sluice.jobs.model.app import App
from sluice.jobs.model.external_work import Attachment
from sluice.jobs.model.job import Acknowledge, Assignment, Outcome, Report, Transaction
from sluice.jobs.runners.command.bash import BashRunner
from sluice.jobs.runners.command.program import ProgramRunner
from sluice.jobs.runners.external import ManagedRunner
from sluice.jobs.runners.function.isolated import IsolateRunner
from sluice.jobs.runners.function.thread import PythonRunner
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.run_outcome import failed
from sluice.jobs.runners.saga_run import SagaRunner
from sluice.jobs.sagas.journal import Journal


class Runner(Protocol):
    """Interface of all runners. One instance is created per app, and many threads run it at the same time."""

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
        """Run the claim to its end. Callbacks are called in this thread or in the job's; they must not raise."""
        ...


def runner_for(app: App, stores: Stores) -> Runner:
    """Return the runner for this app's job type."""
    return _of_a_noun(app, stores) or _of_a_type(app, stores) or _Unrunnable(_why_not(app))


def _of_a_noun(app: App, stores: Stores) -> Runner | None:
    """Return the runner of a program, a saga or a job manager, or None for other apps."""
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
    if app.job_type != "python" or app.function is None:
        return None
    return PythonRunner(app.function, stores.hooks.of(app.hooks) if stores.hooks else ())


def _why_not(app: App) -> str:
    if app.job_type == "python":
        return f"{app.name} has no function to run."
    return f"{app.name} has the job type {app.job_type}, which this worker has no runner for."


class _Unrunnable:
    """Runner of an app that cannot be run. Its jobs fail with the reason instead of taking down their worker."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def run(self, assignment: Assignment, **_: object) -> Outcome:  # noqa: ARG002  # Fails every job alike.
        return failed(self._reason)
