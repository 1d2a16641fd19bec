"""What somebody asks for. The same words come by message, command line, Python, HTTP and SQL."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec import Struct, json
from msgspec.structs import replace

from sluice.jobs.errors import BadRequest, Conflict
from sluice.jobs.ref import JobName
from sluice.jobs.request_limits import BYTES_MAX, ID_LENGTH_MAX

#: What msgspec decodes JSON to; it is checked where it is used.
JSON = Any

#: What is run again though it has ended: the jobs asked for, or all that come after them too.
Rerun = Literal["job", "downstream"]

#: The mode in which what has succeeded is undone where the submission fails or is cancelled.
SAGA = "saga"
#: How the id of a submission ends that undoes another: before it stands the id of that.
COMPENSATION = "/compensation"

#: Seconds for which a submission may name an app that no definition has yet: a minute, in which a rollout reaches all
#: planners.
UNKNOWN_APP_GRACE_S = 60.0
#: Prefix of the ids of schedules' own submissions. They can be predicted, so no other submission may have one.
SCHEDULED = "schedule:"

#: A submission names at most this many keys; more belong into several, or into a range.
KEYS_MAX = 100_000

#: Bytes of keys in one submission, where a list is divided: all but 64 KiB of what it may have.
_KEYS_BYTES_MAX = BYTES_MAX - 64 * 1024
#: Bytes of the longest key that is a number, in quotes and with its comma.
_NUMBER_BYTES = 22
K = TypeVar("K", bound=str | None)


class SubmissionState(StrEnum):
    """Where a submission stands; all but the first two are its end."""

    RECEIVED = "received"
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"


#: How one ends that did not come to what was asked for.
UNFORTUNATE = (SubmissionState.FAILED, SubmissionState.CANCELLED, SubmissionState.REFUSED)


class Submission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request to have jobs done. It is complete: whoever holds it can plan it.

    Without ``key``, ``keys``, ``work_ids`` or ``start``/``end`` it asks for every job that the
    app's definition enumerates by itself. ``policy`` overrides the app's policy, in the words of
    the definitions. ``after``, for submissions about work IDs, names the very jobs that those of the app wait for, in
    place of what its definition says. In the ``mode`` "saga" what it has done is undone where it ends otherwise
    than well; any other is one of partitions. A submission that ``compensates`` another undoes what that has done: the
    ledger makes it, and takes it from nobody else. ``traceparent`` is where it belongs in the trace of whoever submits,
    as W3C writes it.
    """

    app: str
    key: str | None = None
    keys: tuple[str, ...] | None = None
    work_ids: JSON = None
    start: str | None = None
    end: str | None = None
    id: str | None = None
    kwargs: Mapping[str, JSON] = {}
    mode: str | None = None
    branch: str | None = None
    user: str | None = None
    rerun: Rerun | None = None
    push: Literal["all", "wanted"] = "all"
    policy: Mapping[str, JSON] = {}
    after: tuple[JobName, ...] | None = None
    compensates: str | None = None
    traceparent: str | None = None

    def __post_init__(self) -> None:
        ways = [self.key is not None, self.keys is not None, self.work_ids is not None, self.has_span]
        if sum(ways) > 1:
            raise ValueError("give one of key, keys, work_ids or start and end")
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end go together")
        if self.keys is not None and len(self.keys) > KEYS_MAX:
            raise ValueError(f"{len(self.keys)} keys are more than one submission may name ({KEYS_MAX})")
        if self.id is not None and not 0 < len(self.id) <= ID_LENGTH_MAX:
            raise ValueError(f"id has 1 to {ID_LENGTH_MAX} characters")
        if self.compensates is None and self.id is not None and self.id.endswith(COMPENSATION):
            raise ValueError(f"an id that ends in {COMPENSATION} is of what undoes another submission")

    @property
    def has_span(self) -> bool:
        return self.start is not None or self.end is not None

    @property
    def is_saga(self) -> bool:
        """Whether what it has done is undone where it ends otherwise than well."""
        return self.mode == SAGA

    @property
    def layout_mode(self) -> str | None:
        """The mode that says which partitions make one job, and of which app."""
        return None if self.is_saga else self.mode

    def words_of(self, words: Sequence[str]) -> list[str]:
        """Those of these words by which it says which jobs it asks for."""
        said = [word for word in words if getattr(self, word) is not None]
        return [word for word in said if not (word == "mode" and self.is_saga)]

    @property
    def named_keys(self) -> tuple[str, ...] | None:
        """The keys it names, or None where the app's definition says which."""
        if self.key is not None:
            return (self.key,)
        return self.keys

    def require_id(self) -> str:
        """Its identity. Whoever takes a submission in gives it one if the sender did not."""
        if self.id is None:
            raise BadRequest("A submission without an id cannot be admitted.", where=self.app)
        return self.id


class Refusal(NamedTuple):
    """A submission that was refused, and why."""

    id: str
    app: str
    reason: str


def conflict(submission: Submission) -> Conflict:
    """The error of a submission whose id belongs to one that asks for something else."""
    return Conflict(
        f"Submission {submission.id} exists and asks for something else.",
        where=submission.app,
        advice="Use a new id, or none; the same id is for repeating the same submission.",
    )


def divided(keys: Sequence[K]) -> Iterator[Sequence[K]]:
    """Yield the keys in their order, in runs that each fit into one submission beside its other words. None is a key
    that is yet to get a number."""
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
    """Return whether only the ledger or the scheduler gives such an id."""
    return id_.endswith(COMPENSATION) or id_.startswith(SCHEDULED)


def narrowed(submission: Submission, name: JobName) -> Submission:
    """The same submission as if it had asked for this one job, and had not asked to run anything again."""
    return replace(
        submission,
        app=name.app,
        key=name.key,
        keys=None,
        work_ids=None,
        start=None,
        end=None,
        rerun=None,
        after=None,
    )
