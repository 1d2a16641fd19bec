"""Work that runs elsewhere: on a cluster, in a batch system, behind somebody's API.

An app whose ``job_type`` is ``module:Class`` names a *job manager*, a class of the user's::

    class Grid:
        poll_s = 5                                # how often to ask; 1 s where it says nothing

        def run(self, job): ...                   # start the work → a handle by which it is found again
        def check(self, handle): ...              # how it stands → a Status, or one of its words
        def cancel(self, handle): ...             # end it; what has ended already is no error

What holds: the handle, any JSON value but null, is in the ledger before anything else is done with it. Whoever
gets the job next, after a crash or a hand-back, checks it instead of calling ``run`` again. It is forgotten
when its round is over, so a retry starts anew. Work that goes on until it is stopped (``is_long_running``) is left
once it is started; from then on each look has a manager of its own (``jobs.runners.looking``).

There is one gap: a worker may die when ``run`` has started something and has not yet returned. So ``run`` marks
what it starts with ``job.token``, which is the same in every round, and first looks whether something with
that mark is alive.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal, Protocol

from msgspec import Struct

from sluice.jobs.job import Job
from sluice.jobs.submission import JSON

#: How often ``check`` is asked where the manager has no ``poll_s``.
POLL_S = 1.0
#: What a class has to have.
METHODS = ("run", "check", "cancel")


class Stage(StrEnum):
    """How work elsewhere stands; all but the first is its end."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Status(Struct, frozen=True):
    """``Status("failed", "out of memory")``; ValueError where it says nothing that we know.

    ``text`` is the error of work that failed; of other work it is a line of the job's output whenever it changes.
    ``progress`` is how much is done, and of how much where that is known. ``done`` are the partitions of a step that
    are made by now, whatever becomes of the rest; those that were told before may be among them.
    """

    state: Literal["running", "succeeded", "failed"]
    text: str = ""
    progress: tuple[int, int | None] | None = None
    done: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.state not in tuple(Stage):
            raise ValueError(f"{self.state!r} is no status; it is one of {', '.join(Stage)}")
        if not isinstance(self.text, str):
            raise ValueError(f"the text of a status is a text, and not {self.text!r}")
        if self.progress is not None and not _is_progress(self.progress):
            raise ValueError(f"the progress of a status is (done, total), and not {self.progress!r}")
        if isinstance(self.done, str) or not all(isinstance(each, str) for each in self.done):
            raise ValueError(f"what a status says is done are partitions, and not {self.done!r}")

    @property
    def stage(self) -> Stage:
        return Stage(self.state)


class ManagesJobs(Protocol):
    """What users write. One is made for each run, without arguments; any of the three may be ``async``."""

    def run(self, job: Job) -> JSON: ...

    def check(self, handle: Any) -> object: ...

    def cancel(self, handle: Any) -> object: ...


class Keeper(StrEnum):
    """Who looks after work that a claim has started, as the ledger has it."""

    #: The claim stands; whatever the worker does, the work is the job's.
    OURS = "ours"
    #: A later claim does or will: the handle is kept for it, or it is just finding the work by its token.
    ANOTHER = "another"
    #: The job is over, or has begun anew without it: nobody else will end it.
    NOBODY = "nobody"


class Attachment(Protocol):
    """What ties one claim to its work elsewhere, over the death of its worker. It does not raise."""

    @property
    def handle(self) -> JSON:
        """What an earlier claim of the round has started; None: nothing."""
        ...

    def keep(self, handle: JSON, *, look_every_s: float | None = None, said: str = "") -> bool:
        """Store the handle; False where the claim is lost, and nothing was stored. With ``look_every_s`` the work is
        left to whoever is sent to look at it so often, and what the run has ``said`` so far is written down."""
        ...

    def keeper(self, handle: JSON) -> Keeper:
        """Who looks after this work now."""
        ...

    def ended(self, handle: JSON) -> None:
        """The work of a job that is over has been ended too: its handle leads nowhere any more."""
        ...

    def not_ended(self, handle: JSON) -> None:
        """The work of a job that is over could not be ended: others are to go on trying."""
        ...


def read_status(answer: object) -> Status:
    """What ``check`` answered; ValueError where it is no status."""
    if isinstance(answer, Status):
        return answer
    if isinstance(answer, str):
        return Status(answer)  # type: ignore[arg-type] # whether it is one of the words is checked there
    raise ValueError(f"{answer!r} is no status; it is a Status, or one of {', '.join(Stage)}")


def _is_progress(progress: object) -> bool:
    match progress:
        case (int(), int() | None):
            return True
    return False
