"""What a walk decided: which jobs there must be, and what each waits for."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum

from msgspec import Struct

from jobs.gate import Gate
from jobs.policy import Policy
from jobs.ref import JobName
from jobs.states import EXPECT, SKIP, WANT, Verb
from jobs.submission import JSON


class Standing(StrEnum):
    """How a planned job enters the ledger."""

    WANTED = "wanted"
    EXPECTED = "expected"
    SKIPPED = "skipped"

    @property
    def verb(self) -> Verb:
        return _VERBS[self]


_VERBS = {Standing.WANTED: WANT, Standing.EXPECTED: EXPECT, Standing.SKIPPED: SKIP}


class PlannedJob(Struct, frozen=True, kw_only=True, gc=False):
    """A job as the walk wants it. Only a wanted one has gates: nobody waits for the others yet.

    ``digest`` is of the definition that the gates come from; None where nobody has looked what it needs.
    """

    name: JobName
    standing: Standing
    gates: tuple[Gate, ...] = ()
    digest: str | None = None
    policy: Policy = Policy()
    overrides: Mapping[str, JSON] = {}
    kwargs: Mapping[str, JSON] = {}


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
    """A submission that wants these jobs run again though they have ended, and their descendants too."""

    submission: int
    names: tuple[JobName, ...]
    downstream: bool


class Plan(Struct, frozen=True, kw_only=True):
    """What some submissions, given by their numbers, come to.

    ``jobs`` holds each job once, every parent that a gate names among them, in an order that puts
    parents before children and is the same in every process: it keeps two plans from waiting for
    each other's rows. ``wants`` says who wants which, and how that came about.
    """

    jobs: tuple[PlannedJob, ...]
    wants: tuple[tuple[int, JobName, Wish], ...]
    reruns: tuple[Rerun, ...] = ()
