"""What a walk decided: which jobs there must be, and what each waits for."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType

from msgspec import Struct

from sluice.jobs.gate import Gate, Need
from sluice.jobs.policy import Policy
from sluice.jobs.ref import JobName
from sluice.jobs.states import EXPECT, SKIP, WANT, Verb
from sluice.jobs.submission import JSON
from sluice.jobs.work_ids import WorkId


class Standing(StrEnum):
    """How a planned job enters the ledger."""

    WANTED = "wanted"
    EXPECTED = "expected"
    SKIPPED = "skipped"

    @property
    def verb(self) -> Verb:
        return _VERBS[self]


_VERBS = {Standing.WANTED: WANT, Standing.EXPECTED: EXPECT, Standing.SKIPPED: SKIP}


#: One for all that have none: a default that is written as a dictionary is made for each.
_NONE: Mapping[JobName, int] = MappingProxyType({})


class PlannedJob(Struct, frozen=True, kw_only=True, gc=False):
    """A job as the walk wants it. Only one that is to run has gates: nobody waits for the others yet.

    ``digest`` is of the definition that the gates come from; None where nobody has looked what it needs. A chunk
    has its ``work_ids``, and a ``mark``, under which its freshness is kept (``jobs.freshness``); a step the name of
    the table that it makes partitions of, its ``place``. ``stale`` are the
    parents whose last success is too old for it, each by the claim that it was made under. ``offset_s`` is how long
    its start is put off after its policy's ``start_after``, or after now; ``pool`` is what it is counted in
    (``jobs.pooling``), by the limit of its policy.
    """

    name: JobName
    standing: Standing
    gates: tuple[Gate, ...] = ()
    digest: str | None = None
    policy: Policy = Policy()
    overrides: Mapping[str, JSON] = {}
    kwargs: Mapping[str, JSON] = {}
    work_ids: tuple[WorkId, ...] | None = None
    mark: str | None = None
    place: str | None = None
    pool: str | None = None
    stale: Mapping[JobName, int] = _NONE
    offset_s: float | None = None

    def discounts(self, need: Need) -> bool:
        """Whether the parent's success, where it has succeeded, does not meet the need."""
        return need.when == "succeeded" and need.parent in self.stale


class Wish(IntEnum):
    """How a submission came to want a job; where there are several ways, the least counts.

    ASKED by name: its end is the submission's. PULLED as a parent: its failure matters only if it strands
    what was asked for, for there may be another way. PUSHED as a child: its failure matters, but it
    keeps nobody waiting while it waits for parents that nobody asked for.
    """

    ASKED = 0
    PULLED = 1
    PUSHED = 2


class Rerun(Struct, frozen=True):
    """A submission that wants these jobs run again though they have ended, and their descendants too.

    ``stale`` ones are run again for the age of the success they had under this claim: where another run has
    followed by now, they are left alone. ``alone``: only these jobs run again, as far as they have not succeeded;
    their dead ancestors and descendants do not.
    """

    submission: int
    names: tuple[JobName, ...]
    downstream: bool = False
    stale: Mapping[JobName, int] = {}
    alone: bool = False


class Plan(Struct, frozen=True, kw_only=True):
    """What some submissions, given by their numbers, come to.

    ``jobs`` holds each job once, every parent that a gate names among them, in an order that puts
    parents before children and is the same in every process: it keeps two plans from waiting for
    each other's rows. ``wants`` says who wants which, and how that came about.
    """

    jobs: tuple[PlannedJob, ...]
    wants: tuple[tuple[int, JobName, Wish], ...]
    reruns: tuple[Rerun, ...] = ()
