"""All message types. A message names jobs and rounds; it never carries state.

``Submit``, ``SubmitMany``, ``Cancel``, ``Pause``, ``Resume`` and ``Landed`` are the exceptions: they carry news, which
exists nowhere else until the ledger has admitted or refused it. The first two keep each submission as received, so that
an unreadable one is refused alone.
"""

from typing import Annotated, ClassVar, NamedTuple

from msgspec import Meta, Raw, Struct

from sluice.jobs.model import queues
from sluice.jobs.model.submission import JSON

PLANNER, GROOMER, SCHEDULER = queues.CONTROL
#: Queues of the system's own work. Every other queue is an app's.
CONTROL = queues.CONTROL

#: Numbers of a job and of a round, limited as in the ledger, so that no query gets a number that it cannot hold.
JobNumber = Annotated[int, Meta(ge=0, le=2**63 - 1)]
RoundNumber = Annotated[int, Meta(ge=0, le=2**31 - 1)]
#: Name of an event that a saga may wait for.
EventName = Annotated[str, Meta(min_length=1, max_length=200)]
#: The id of an event: a second event with the same id is a repetition.
EventId = Annotated[str, Meta(min_length=1, max_length=200)]


class JobRound(NamedTuple):
    """A job at a certain round. It matches nothing if the job is at a later round."""

    job: JobNumber
    round: RoundNumber


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all messages. ``actor`` is the envelope's actor name. The queue is the actor's own, or an app's queue if
    the message is for an app.

    ``news`` marks a message that exists nowhere else: if its handler fails, it is given back and tried again. Every
    other message is a notification. If its handler fails it is dropped, because the groomer repairs that.
    """

    actor: ClassVar[str]
    news: ClassVar[bool] = False
    home: ClassVar[str] = PLANNER

    @property
    def queue(self) -> str:
        return self.home


class ExternalRequest(Message, frozen=True, kw_only=True):
    """Message of a program outside of Sluice. ``signed_by`` is the id of the key that has signed the received message.
    It is not sent."""

    news: ClassVar[bool] = True
    signed_by: str | None = None


class Submit(ExternalRequest, frozen=True):
    """A submission. The envelope's keyword arguments are kept as received: the fields of
    ``jobs.model.submission.Submission``."""

    actor: ClassVar[str] = "submit"
    submission: Raw
    id: str


class SubmitMany(ExternalRequest, frozen=True):
    actor: ClassVar[str] = "submit_many"
    submissions: tuple[Raw, ...]
    id: str


class Cancel(ExternalRequest, frozen=True):
    """Cancellation of a submission by its id, or of one job by name."""

    actor: ClassVar[str] = "cancel"
    submission: str | None = None
    app: str | None = None
    key: str | None = None


class Pause(ExternalRequest, frozen=True):
    """Pause of a submission: jobs that only this submission requests are not started until it is resumed."""

    actor: ClassVar[str] = "pause"
    submission: str


class Resume(ExternalRequest, frozen=True):
    """Order to continue a paused submission, by its id, or a waiting job, by name.

    The job may wait for an ``event``, and ``payload`` is the event's data. Of two messages with the same ``id``, a job
    gets only one. Default: the id of the envelope, so that a redelivery is not a second event.
    """

    actor: ClassVar[str] = "resume"
    submission: str | None = None
    app: str | None = None
    key: str | None = None
    event: EventName | None = None
    payload: JSON = None
    id: EventId | None = None


class Landed(ExternalRequest, frozen=True):
    """Partitions of a table that exist now: written like ``2024-04-01``, or ``2024-04-01..2024-04-07`` for several.

    With ``again`` existing ones have new contents, and the partitions that were made from them become stale.
    """

    actor: ClassVar[str] = "landed"
    table: str
    partitions: tuple[str, ...]
    again: bool = False


class Plan(Message, frozen=True):
    """Submissions in the ledger that are not planned yet."""

    actor: ClassVar[str] = "plan"
    submissions: tuple[str, ...]


class Executed(Message, frozen=True):
    """Jobs with a recorded outcome that is not judged yet."""

    actor: ClassVar[str] = "executed"
    jobs: tuple[JobNumber, ...]


class Ended(Message, frozen=True):
    """Jobs that have ended, and that have children which have not been notified yet."""

    actor: ClassVar[str] = "ended"
    jobs: tuple[JobNumber, ...]


class Tick(Message, frozen=True):
    """Order to find lost notifications and work that has become due. ``backlogs`` includes what takes longer to find:
    notifications that were lost although their queue has messages, and any submission that missed the end of its last
    job."""

    backlogs: bool = False

    actor: ClassVar[str] = "tick"
    home: ClassVar[str] = GROOMER


class Look(Message, frozen=True):
    """Order to find schedules that are due."""

    actor: ClassVar[str] = "look"
    home: ClassVar[str] = SCHEDULER


class Execute(Message, frozen=True):
    """Jobs of one app that may run. The receiver runs as many jobs, namely the most urgent of the app at that time."""

    actor: ClassVar[str] = "execute"
    app: str
    jobs: tuple[JobRound, ...]

    @property
    def queue(self) -> str:
        return self.app


class Watch(Message, frozen=True):
    """Jobs of one app with external work to poll, or to end if the job is over. No other process polls them."""

    actor: ClassVar[str] = "watch"
    app: str
    jobs: tuple[JobNumber, ...]

    @property
    def queue(self) -> str:
        return self.app


MESSAGES: tuple[type[Message], ...] = (
    *(Submit, SubmitMany, Cancel, Pause, Resume, Landed, Plan, Executed, Ended),
    *(Tick, Look, Execute, Watch),
)
