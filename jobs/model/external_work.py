"""External work: work that runs on a cluster, in a batch system or behind an API.

An app with a ``job_type`` like ``module:Class`` names a *job manager*, a class that the user writes::

    class Grid:
        poll_s = 5                                # seconds between two polls; default: 1

        def run(self, job): ...                   # start the work → a handle that identifies it
        def check(self, handle): ...              # its state → a Status, or the name of one
        def cancel(self, handle): ...             # end it; work that has already ended is no error

The handle is any JSON value except null. It is stored in the ledger before anything else is done with it. A later
claim of the job, after a crash or a hand-back, calls ``check`` with the handle and does not call ``run`` again. The
handle is deleted when its round is over, so a retry starts new work. A worker leaves long-running work
(``is_long_running``) once it is started. Each later poll makes a manager of its own (``jobs.runners.external``).

One gap remains: a worker may die when ``run`` has started work and has not yet returned. Therefore ``run`` must mark
the work with ``job.token``, which is the same in every round, and first check whether work with that mark is alive.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal, Protocol

from msgspec import Struct

from sluice.jobs.model.job import Job
from sluice.jobs.model.submission import JSON

#: Seconds between two polls. Default of a manager's ``poll_s``.
POLL_S = 1.0
#: Methods that a job manager must have.
METHODS = ("run", "check", "cancel")


class Stage(StrEnum):
    """State of external work. All except the first are final."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Status(Struct, frozen=True):
    """Status of external work, for example ``Status("failed", "out of memory")``. Raises ValueError for an unknown
    state.
    """

    #: State of the work. All except ``running`` are final.
    state: Literal["running", "succeeded", "failed"]
    #: Error of failed work. For other work it becomes a line of the job's output each time it changes.
    text: str = ""
    #: Amount done, and the total if it is known.
    progress: tuple[int, int | None] | None = None
    #: Finished partitions of a step, which stay finished if the rest fails. Partitions may be reported again.
    done: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.state not in tuple(Stage):
            raise ValueError(f"{self.state!r} is no status; it is one of {', '.join(Stage)}")
        if not isinstance(self.text, str):
            raise ValueError(f"the text of a status is a text, and not {self.text!r}")
        if self.progress is not None and not _is_progress(self.progress):
            raise ValueError(f"the progress of a status is (done, total), and not {self.progress!r}")
        if isinstance(self.done, str) or not all(isinstance(each, str) for each in self.done):
            raise ValueError(f"done of a status is a list of partitions, and not {self.done!r}")

    @property
    def stage(self) -> Stage:
        return Stage(self.state)


class ManagesJobs(Protocol):
    """Interface of a job manager: a class that users write for work that runs outside of Sluice.

    Decorate the class with ``@app``, or name it as the ``job_type`` of an app. One object is made for each run, without
    arguments. Any of the three methods may be ``async``.
    """

    def run(self, job: Job) -> JSON:
        """Start the work of ``job``, and return a handle that identifies it: any JSON value except null.

        The worker may die before the handle is stored. Then this method is called again. So mark the work with
        ``job.token``, and first check whether work with that mark exists.
        """

    def check(self, handle: Any) -> object:
        """Return the state of the work with this ``handle``: a ``Status``, or the name of its state."""

    def cancel(self, handle: Any) -> object:
        """End the work with this ``handle``. Work that has already ended is no error."""


class WorkOwner(StrEnum):
    """Owner of the work that a claim has started, according to the ledger."""

    #: The claim is current. The work belongs to the job, even if the worker stops.
    OURS = "ours"
    #: A later claim owns the work or will own it: the handle is kept for it, or it is finding the work by its token.
    ANOTHER = "another"
    #: The job is over, or has started again without this work. Nothing else will end it.
    NONE = "none"


class Attachment(Protocol):
    """Connection of one claim to its external work, which survives the death of the worker. It does not raise."""

    @property
    def handle(self) -> JSON:
        """Handle of the work that an earlier claim of the round started, or None."""
        ...

    def keep(self, handle: JSON, *, look_every_s: float | None = None, external_status: str = "") -> bool:
        """Store the handle. Returns False if the claim is lost; then nothing is stored.

        With ``look_every_s`` the worker leaves the work, which is then polled at this interval. The output so far
        (``external_status``) is stored.
        """
        ...

    def keeper(self, handle: JSON) -> WorkOwner:
        """Return the owner of this work."""
        ...

    def ended(self, handle: JSON) -> None:
        """Delete the handle of a job that is over, because its work has been ended."""
        ...

    def not_ended(self, handle: JSON) -> None:
        """Keep the handle of a job that is over, because its work could not be ended. Other processes retry it."""
        ...


def read_status(answer: object) -> Status:
    """Return the result of ``check`` as a Status. Raises ValueError if it is not one."""
    if isinstance(answer, Status):
        return answer
    if isinstance(answer, str):
        return Status(answer)  # type: ignore[arg-type] # Status checks whether the text is one of the states
    raise ValueError(f"{answer!r} is no status; it is a Status, or one of {', '.join(Stage)}")


def _is_progress(progress: object) -> bool:
    match progress:
        case (int(), int() | None):
            return True
    return False
