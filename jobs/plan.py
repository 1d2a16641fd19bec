"""What a walk decided: which jobs there must be, and what each waits for."""

from collections.abc import Mapping
from enum import StrEnum

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


class PlannedJob(Struct, frozen=True, kw_only=True):
    """A job as the walk wants it. Only a wanted one has gates: nobody waits for the others yet."""

    name: JobName
    standing: Standing
    gates: tuple[Gate, ...] = ()
    policy: Policy = Policy()
    overrides: Mapping[str, JSON] = {}
    kwargs: Mapping[str, JSON] = {}


class Rerun(Struct, frozen=True):
    """A submission that wants these jobs run again though they have ended, and their descendants too."""

    submission: int
    names: tuple[JobName, ...]
    downstream: bool


class Plan(Struct, frozen=True, kw_only=True):
    """What some submissions, given by their numbers, come to.

    ``jobs`` holds each job once, every parent that a gate names among them, in an order that puts
    parents before children and is the same in every process: it keeps two plans from waiting for
    each other's rows. ``wants`` says who wants which; ``pushed`` that nobody asked for them by name.
    """

    jobs: tuple[PlannedJob, ...]
    wants: tuple[tuple[int, JobName], ...]
    reruns: tuple[Rerun, ...] = ()
    pushed: bool = False
