"""Hooks of a worker: code that runs when a worker process starts and stops, and around every run of a function."""

from contextlib import AbstractContextManager, nullcontext

from sluice.jobs.model.job import Job


class Hooks:
    """Base class of hooks. Each method does nothing by default.

    An instance at the top of a source applies to the functions of that source. An instance that ``SLUICE_HOOKS`` names
    applies to all functions of a worker. When a definition file is edited, the worker starts its new instance. It stops
    both when it exits.
    """

    def worker_started(self) -> None:
        """Called once in each worker process, before its first run. An error ends the worker."""

    def worker_stopping(self) -> None:
        """Called once in each worker process, after its last run."""

    def around(self, job: Job) -> AbstractContextManager[object]:  # noqa: ARG002  # Only subclasses use the job.
        """Return a context manager that is entered before each run of a function, and left after it. ``job`` is the job
        of the run.

        An error in it fails the round, like an error of the function. For a coroutine it is entered on the event loop.
        """
        return nullcontext()
