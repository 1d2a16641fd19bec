"""Every message there is. A message names jobs and rounds; it never carries state.

``Submit``, ``SubmitMany``, ``Cancel``, ``Pause``, ``Resume`` and ``Landed`` are the exceptions: they bring news, and
exist nowhere else until the ledger has admitted or refused it. The former two keep each submission as it came, so that
one that cannot be read is refused alone.
"""

from typing import Annotated, ClassVar, NamedTuple

from msgspec import Meta, Raw, Struct

from sluice.jobs import queues
from sluice.jobs.submission import JSON

PLANNER, GROOMER, SCHEDULER = queues.CONTROL
#: The queues that carry the system's own work; every other queue is an app's.
CONTROL = queues.CONTROL

#: A job's number and a round's, as large as the ledger has them: no query is asked about what it cannot hold.
JobNumber = Annotated[int, Meta(ge=0, le=2**63 - 1)]
RoundNumber = Annotated[int, Meta(ge=0, le=2**31 - 1)]
#: What a saga may wait for.
EventName = Annotated[str, Meta(min_length=1, max_length=200)]
#: The id of an event: a second event with the same id is a repetition.
EventId = Annotated[str, Meta(min_length=1, max_length=200)]


class Turn(NamedTuple):
    """A job at a certain round; one of an earlier round names nobody any more."""

    job: JobNumber
    round: RoundNumber


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``actor`` is the envelope's actor name. The queue is the actor's own, or the message's for an app.

    ``news`` says that the message exists nowhere else: when its handler fails it is given back and
    tried again. Every other message is a hint, dropped when its handler fails: the groomer repairs.
    """

    actor: ClassVar[str]
    news: ClassVar[bool] = False
    home: ClassVar[str] = PLANNER

    @property
    def queue(self) -> str:
        return self.home


class Submit(Message, frozen=True):
    """The envelope's keyword arguments as they came: the words of ``jobs.submission.Submission``."""

    actor: ClassVar[str] = "submit"
    news: ClassVar[bool] = True
    submission: Raw
    id: str


class SubmitMany(Message, frozen=True):
    actor: ClassVar[str] = "submit_many"
    news: ClassVar[bool] = True
    submissions: tuple[Raw, ...]
    id: str


class Cancel(Message, frozen=True):
    """A submission by its id, or one job by name."""

    actor: ClassVar[str] = "cancel"
    news: ClassVar[bool] = True
    submission: str | None = None
    app: str | None = None
    key: str | None = None


class Pause(Message, frozen=True):
    """What this submission alone wants is not begun until it is resumed."""

    actor: ClassVar[str] = "pause"
    news: ClassVar[bool] = True
    submission: str


class Resume(Message, frozen=True):
    """A submission that is paused goes on, by its id; or one job that waits, by name. What that waits for may be an
    ``event``; what came along with this is its ``payload``. Of two with the same ``id`` a job hears one. Default: the
    id of the envelope, so that a redelivery is no second event."""

    actor: ClassVar[str] = "resume"
    news: ClassVar[bool] = True
    submission: str | None = None
    app: str | None = None
    key: str | None = None
    event: EventName | None = None
    payload: JSON = None
    id: EventId | None = None


class Landed(Message, frozen=True):
    """These partitions of a table are there: written like ``2024-04-01``, or ``2024-04-01..2024-04-07`` for several."""

    actor: ClassVar[str] = "landed"
    news: ClassVar[bool] = True
    table: str
    partitions: tuple[str, ...]


class Plan(Message, frozen=True):
    """Submissions that stand in the ledger and are not planned yet."""

    actor: ClassVar[str] = "plan"
    submissions: tuple[str, ...]


class Executed(Message, frozen=True):
    """Jobs whose outcome is recorded and not judged yet."""

    actor: ClassVar[str] = "executed"
    jobs: tuple[JobNumber, ...]


class Ended(Message, frozen=True):
    """Jobs that are terminal and whose children have not been told yet."""

    actor: ClassVar[str] = "ended"
    jobs: tuple[JobNumber, ...]


class Tick(Message, frozen=True):
    """It is time to look for what was lost or has become due."""

    actor: ClassVar[str] = "tick"
    home: ClassVar[str] = GROOMER


class Look(Message, frozen=True):
    """It is time to look which schedules are due."""

    actor: ClassVar[str] = "look"
    home: ClassVar[str] = SCHEDULER


class Execute(Message, frozen=True):
    """Jobs of one app that may run. Whoever takes it runs as many, those that are the most urgent by then."""

    actor: ClassVar[str] = "execute"
    app: str
    jobs: tuple[Turn, ...]

    @property
    def queue(self) -> str:
        return self.app


class Watch(Message, frozen=True):
    """Jobs of one app whose work elsewhere is to be looked at, or ended where they are over. Nobody else looks."""

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
