"""Submission: a request for jobs. Its options are the same by message, command line, Python, HTTP and SQL."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct, json
from msgspec.structs import force_setattr, replace

from sluice.jobs.errors import BadRequest, Conflict
from sluice.jobs.model.names import JobName
from sluice.jobs.model.request_limits import BYTES_MAX, ID_LENGTH_MAX

#: Result of JSON decoding by msgspec. It is checked where it is used.
JSON = Any

#: Finished jobs to run again: the requested jobs, or also all their descendants.
Rerun = Literal["job", "downstream"]

#: Mode in which the effects of a submission are undone if it fails or is cancelled.
SAGA = "saga"
#: Suffix of the id of a submission that undoes another one. Before it is the other one's id.
COMPENSATION = "/compensation"

#: Seconds for which a submission may name an app that no definition has yet: a minute, in which a rollout reaches all
#: planners.
UNKNOWN_APP_GRACE_S = 60.0
#: Prefix of the ids of schedules' own submissions. They can be predicted, so no other submission may have one.
SCHEDULED = "schedule:"

#: Keys of one submission, at most. Larger requests must use several submissions or a range.
KEYS_MAX = 100_000

#: Bytes of keys in one submission, when a list is divided: the limit of a submission minus 64 KiB.
_KEYS_BYTES_MAX = BYTES_MAX - 64 * 1024
#: Bytes of the longest key that is a number, with quotes and comma.
_NUMBER_BYTES = 22
K = TypeVar("K", bound=str | None)


class SubmissionState(StrEnum):
    """State of a submission. All except the first two are final."""

    RECEIVED = "received"
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"


#: Final states of a submission without success.
UNFORTUNATE = (SubmissionState.FAILED, SubmissionState.CANCELLED, SubmissionState.REFUSED)


class NamedApp(Protocol):
    """Decorated function of an app."""

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> Mapping[str, object]: ...


if TYPE_CHECKING:

    class AppName:
        """Field that is set to a name or a decorated function, and has the name."""

        def __get__(self, instance: object, owner: object) -> str: ...

        def __set__(self, instance: object, value: str | NamedApp) -> None: ...
else:
    AppName = str


class Submission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Request for jobs. It is complete: any planner can plan it without other data.

    Without ``key``, ``keys``, ``work_ids`` or ``start`` and ``end`` it requests every job that the app's definition
    enumerates.
    """

    #: Name of the app, or its decorated function.
    app: AppName
    #: Key of one job.
    key: str | None = None
    #: Keys of several jobs.
    keys: tuple[str, ...] | None = None
    #: Work IDs of an app that is keyed by chunk: a list, or a text such as ``"1-300"``.
    work_ids: JSON = None
    #: First partition, for an app that is keyed by partition. First day, for an app whose keys have one date.
    start: str | None = None
    #: Last partition, or last day.
    end: str | None = None
    #: Slices of a range of partitions, if the table has a second dimension: ``{"store": ["graz"]}``. Default: all.
    by: Mapping[str, str | tuple[str, ...]] | None = None
    #: Id of the submission. The same content under the same id is one submission. Default: a new id.
    id: str | None = None
    #: Kwargs of the jobs.
    kwargs: Mapping[str, JSON] = {}
    #: ``"saga"``: the effects of the submission are undone if it ends without success. Other modes are for partitions.
    mode: str | None = None
    #: Branch of an app that is keyed by partition.
    branch: str | None = None
    #: User that is recorded with the submission.
    user: str | None = None
    #: Finished jobs to run again: ``"job"`` the requested jobs, ``"downstream"`` also all their descendants.
    #: ``"alone"``: of the jobs with these keys, only those that ended without success, and the jobs that could not run
    #: because of them. No parents or children are requested, and failed submissions that requested the jobs are active
    #: again.
    rerun: Rerun | Literal["alone"] | None = None
    #: Jobs that successes trigger: ``"all"`` children, or only jobs that are ``"wanted"`` by a submission.
    push: Literal["all", "wanted"] = "all"
    #: Options that override the app's policy, with the names and values of definitions.
    policy: Mapping[str, JSON] = {}
    #: For work IDs: the exact jobs that the app's jobs wait for. They replace the dependencies of the definition.
    after: tuple[JobName, ...] | None = None
    #: Apps that get the events of its jobs: ``[{"on": ["failed"], "app": "alert"}]``.
    notify: tuple[Mapping[str, JSON], ...] = ()
    #: Submission that this one undoes. Only the ledger makes such submissions; one from a client is refused.
    compensates: str | None = None
    #: Span of the submitter, in W3C's format.
    traceparent: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.app, str):
            force_setattr(self, "app", _app_name(self.app))
        ways = [self.key is not None, self.keys is not None, self.work_ids is not None, self.has_span]
        if sum(ways) > 1:
            raise ValueError("set only one of key, keys, work_ids, or start and end")
        self._check_range()
        if self.rerun == "alone" and self.named_keys is None:
            raise ValueError('rerun "alone" needs key or keys')
        if self.keys is not None and len(self.keys) > KEYS_MAX:
            raise ValueError(f"{len(self.keys)} keys are more than one submission may name ({KEYS_MAX})")
        if self.id is not None and not 0 < len(self.id) <= ID_LENGTH_MAX:
            raise ValueError(f"id has 1 to {ID_LENGTH_MAX} characters")
        if self.compensates is None and self.id is not None and self.id.endswith(COMPENSATION):
            raise ValueError(
                f"an id that ends in {COMPENSATION} is reserved for the undo of another submission"
            )

    def _check_range(self) -> None:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end must be set together")
        if self.by is not None and not self.has_span:
            raise ValueError("by selects slices of a range; set start and end, too")

    @property
    def has_span(self) -> bool:
        return self.start is not None or self.end is not None

    @property
    def is_saga(self) -> bool:
        """True if the effects of the submission are undone when it ends without success."""
        return self.mode == SAGA

    @property
    def layout_mode(self) -> str | None:
        """Mode that determines which partitions make one job, and of which app."""
        return None if self.is_saga else self.mode

    def words_of(self, words: Sequence[str]) -> list[str]:
        """Return the options, of those given, with which this submission selects its jobs."""
        said = [word for word in words if getattr(self, word) is not None]
        return [word for word in said if not (word == "mode" and self.is_saga)]

    @property
    def named_keys(self) -> tuple[str, ...] | None:
        """The keys that the submission names, or None if the app's definition enumerates them."""
        if self.key is not None:
            return (self.key,)
        return self.keys

    def require_id(self) -> str:
        """Return the id. The component that accepts a submission assigns one if it is missing."""
        if self.id is None:
            raise BadRequest("A submission without an id cannot be admitted.", where=self.app)
        return self.id


def _app_name(app: object) -> str:
    name = getattr(app, "name", None)
    if not isinstance(name, str) or not hasattr(app, "options"):
        raise ValueError(f"{app!r} is no app; write its name or its decorated function")
    return name


class Refusal(NamedTuple):
    """A submission that was refused, and the reason."""

    id: str
    app: str
    reason: str


def conflict(submission: Submission) -> Conflict:
    """Return the error for a submission with an id that belongs to different content."""
    return Conflict(
        f"Submission {submission.id} exists already, with other content.",
        where=submission.app,
        advice="Use a new id, or none. Use the same id only to repeat the same submission.",
    )


def divided(keys: Sequence[K]) -> Iterator[Sequence[K]]:
    """Yield the keys in their order, in groups that each fit into one submission beside its other options.

    None is a key that has no number yet.
    """
    start = size = 0
    for place, key in enumerate(keys):
        more = _NUMBER_BYTES if key is None else len(json.encode(key)) + 1
        if place > start and (size + more > _KEYS_BYTES_MAX or place - start == KEYS_MAX):
            yield keys[start:place]
            start, size = place, 0
        size += more
    if start < len(keys):
        yield keys[start:]


def is_reserved(id_: str) -> bool:
    """Return whether only the ledger or the scheduler assigns such an id."""
    return id_.endswith(COMPENSATION) or id_.startswith(SCHEDULED)


def narrowed(submission: Submission, name: JobName) -> Submission:
    """Return the same submission as a request for this one job with a key, without a rerun."""
    return replace(
        submission,
        mode=SAGA if submission.is_saga else None,
        branch=None,
        by=None,
        app=name.app,
        key=name.key,
        keys=None,
        work_ids=None,
        start=None,
        end=None,
        rerun=None,
        after=None,
    )
