"""Functions in the worker's own thread, and coroutines on its event loop: no process to start, no data to pass, and no
way to kill them.

A thread cannot be ended from outside. After ``timeout_s``, or when the worker requests a stop, the runner can only make
``job.cancelled`` true. The ledger's groomer times the job out, and refuses later results of the function. What the
function prints and logs is the job's output (``jobs.runners.run_output``), except for processes that it starts.
``isolate: true`` lifts all three limits.

A coroutine holds no thread while it waits. When it must stop, the loop cancels it, which raises ``CancelledError`` in
it.
"""

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from sluice.jobs.api.hooks import Hooks
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Acknowledge, Assignment, Ending, Job, Outcome, OwnEnd, Report, Transaction
from sluice.jobs.runners.function.call import FunctionCall, perform, perform_async
from sluice.jobs.runners.output import job_log, worker_log
from sluice.jobs.runners.run_outcome import failed, of_halt
from sluice.jobs.runners.run_output import RunOutput
from sluice.jobs.runners.stop_signal import Halt, Limits


def is_coroutine(app: App) -> bool:
    """Return whether the jobs of an app are coroutines on the event loop of a worker."""
    return app.job_type == "python" and not app.isolate and inspect.iscoroutinefunction(app.function)


class PythonRunner:
    """Runner of one function. The constructor reads its signature.

    ``run`` runs a coroutine function in a loop of its own, for callers without one.
    """

    def __init__(self, function: Callable[..., Any], hooks: Sequence[Hooks] = ()) -> None:
        self._call = FunctionCall(function)
        self._hooks = hooks

    def run(
        self,
        assignment: Assignment,
        *,
        stop: threading.Event,
        report: Report,
        transaction: Transaction | None = None,
        acknowledge: Acknowledge | None = None,
        **_: object,
    ) -> Outcome:
        if refusal := _refusal(assignment, stop):
            return refusal
        limits, output = Limits(stop, assignment.timeout_s), RunOutput(assignment.echo)
        job = _job(
            assignment, limits, output, report=report, transaction=transaction, acknowledge=acknowledge
        )
        with output:
            retried = assignment.policy.retried_errors
            outcome = perform(self._call, job, retried=retried, hooks=self._hooks)
        return output.of(_judged(outcome, job, limits))

    async def run_async(
        self,
        assignment: Assignment,
        *,
        stop: threading.Event,
        limits: Limits,
        report: Report,
        transaction: Transaction | None = None,
        acknowledge: Acknowledge | None = None,
    ) -> Outcome:
        """Run a coroutine function on the loop of the caller, who cancels it once a limit is reached."""
        if refusal := _refusal(assignment, stop):
            return refusal
        output = RunOutput(assignment.echo)
        job = _job(
            assignment, limits, output, report=report, transaction=transaction, acknowledge=acknowledge
        )
        with output:
            retried = assignment.policy.retried_errors
            outcome = await perform_async(self._call, job, retried=retried, hooks=self._hooks)
        return output.of(_judged(outcome, job, limits))


def _job(
    assignment: Assignment,
    limits: Limits,
    output: RunOutput,
    *,
    report: Report,
    transaction: Transaction | None,
    acknowledge: Acknowledge | None,
) -> Job:
    return Job(
        assignment,
        report=report,
        log=job_log(assignment.name, write=output.log, tell=worker_log(assignment.name)),
        cancelled=lambda: limits.reached() is not None,
        own_end=OwnEnd(_recording(assignment, output), transaction),
        acknowledge=acknowledge,
        answers=assignment.answers,
    )


def _recording(assignment: Assignment, output: RunOutput) -> Callable[[Any, str | None], int] | None:
    """Return a function that records the success of the job on a connection, with the output so far."""
    success = assignment.success
    if success is None:
        return None
    return lambda connection, expansions: success.record(connection, output.text(), expansions)


def _refusal(assignment: Assignment, stop: threading.Event) -> Outcome | None:
    """Return the outcome of a run that cannot begin, or None."""
    policy = assignment.policy
    if policy.env or policy.cwd or policy.limits or policy.keep_output:
        what = "env, cwd, limits or keep_output"
        return failed(f"{assignment.name.app} has {what}, which a thread cannot have; set isolate: true.")
    if stop.is_set():
        return Outcome(ending=Ending.HANDED_BACK, error="It was stopped before it began.")
    return None


def _judged(outcome: Outcome, job: Job, limits: Limits) -> Outcome:
    """Return the final outcome. A function that did not see ``job.cancelled`` has ended by itself, even if the worker
    requested a stop.

    Past its timeout it always counts as timed out, like a process.
    """
    if job.succeeded_in is not None or job.expansions is not None:
        outcome = replace(outcome, succeeded_in=job.succeeded_in, expansions=job.expansions)
    halt = limits.reached()
    if halt is Halt.TIMED_OUT or (halt is Halt.STOPPED and job.told):
        ending, error = of_halt(halt, limits.timeout_s)
        return Outcome(ending=ending, error=error, succeeded_in=job.succeeded_in)
    return outcome
