"""Plans, and the known states of jobs that they build on.

A ``JobPlan`` has the jobs that must exist, and the needs of each. ``KnownJob`` is the known state of an existing job.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum, StrEnum
from types import MappingProxyType

from msgspec import Struct

from sluice.jobs.keys.work_ids import WorkId
from sluice.jobs.model.dependency import Gate, Need
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.rate_limit import JobRate
from sluice.jobs.states import EXPECT, REQUEST, SKIP, State, Verb


class EntryState(StrEnum):
    """State in which a planned job enters the ledger."""

    WANTED = "wanted"
    EXPECTED = "expected"
    SKIPPED = "skipped"

    @property
    def verb(self) -> Verb:
        return _VERBS[self]


_VERBS = {EntryState.WANTED: REQUEST, EntryState.EXPECTED: EXPECT, EntryState.SKIPPED: SKIP}


#: Shared by all jobs without stale parents. A default written as a dictionary would be created for each job.
_NONE: Mapping[JobName, int] = MappingProxyType({})


class PlannedJob(Struct, frozen=True, kw_only=True, gc=False):
    """A job as a plan requests it. Only a job that is going to run has gates, because the others do not wait yet.

    ``digest`` identifies the definition that the gates come from. It is None if the needs were not determined. A chunk
    has its ``work_ids`` and its freshness scope, ``freshness_scope`` (``jobs.model.freshness``). A step has the name of
    its output table, ``output_table``. ``stale`` are the parents with a last success that is too old for this job, each
    with the claim of that success. ``offset_s`` delays the start by this many seconds after the policy's
    ``start_after``, or after now. ``pool`` is the pool that counts the job (``jobs.model.pool``); the policy sets its
    limit. ``rate`` limits its starts.
    """

    name: JobName
    standing: EntryState
    gates: tuple[Gate, ...] = ()
    digest: str | None = None
    policy: Policy = Policy()
    overrides: Mapping[str, JSON] = {}
    kwargs: Mapping[str, JSON] = {}
    work_ids: tuple[WorkId, ...] | None = None
    freshness_scope: str | None = None
    output_table: str | None = None
    pool: str | None = None
    rate: JobRate | None = None
    stale: Mapping[JobName, int] = _NONE
    offset_s: float | None = None

    def discounts(self, need: Need) -> bool:
        """Return whether a past success of the parent does not meet the need."""
        return need.when == "succeeded" and need.parent in self.stale

    def meets(self, need: Need) -> bool:
        """Return whether the need is met already, so that no state of its parent must be read."""
        return need.is_met and not self.discounts(need)

    @property
    def has_open_gate(self) -> bool:
        """Return whether the job has no gates, or a gate with needs that are all met: no parent can keep it
        waiting."""
        return not self.gates or any(
            # The first need answers for nearly all gates.
            not gate.needs or (gate.needs[0].is_met and all(map(self.meets, gate.needs)))
            for gate in self.gates
        )


class RequestReason(IntEnum):
    """Reason why a submission requests a job. If it has several reasons, the lowest value applies.

    ASKED by name: its outcome counts for the submission. PULLED as a parent: its failure only matters if it prevents
    a job that was asked for, because there may be another alternative. PUSHED as a child: its failure matters, but it
    does not keep the submission open while it waits for parents that were not requested.
    """

    ASKED = 0
    PULLED = 1
    PUSHED = 2


class RerunRequest(Struct, frozen=True):
    """Request of a submission to run finished jobs again. With ``downstream`` their descendants run again, too.

    ``stale`` jobs run again because their success under the given claim is too old. If another run has followed
    since, they stay as they are. With ``alone``, only these jobs run again, unless they succeeded. Their dead
    ancestors and descendants do not.
    """

    submission: int
    names: tuple[JobName, ...]
    downstream: bool = False
    stale: Mapping[JobName, int] = {}
    alone: bool = False


class JobPlan(Struct, frozen=True, kw_only=True):
    """Result of planning some submissions, which are given by their numbers.

    ``jobs`` contains each job once, including every parent that a gate names. Their order puts parents before
    children and is the same in every process, so that two plans do not wait for each other's rows. ``wants`` lists
    which submission requests which job, and why. ``rewired`` jobs get the needs of this plan if they wait or run again,
    even under the same definition. ``held`` jobs are locked for writing.
    """

    jobs: tuple[PlannedJob, ...]
    requests: tuple[tuple[int, JobName, RequestReason], ...]
    reruns: tuple[RerunRequest, ...] = ()
    rewired: frozenset[JobName] = frozenset()
    held: frozenset[JobName] = frozenset()


# A plan reads hundreds of thousands. None can be part of a cycle, so the garbage collector need not track them.
class KnownJob(Struct, frozen=True, gc=False):
    """A job, its state when it was read, and whether it was paused. ``id`` is 0 if it was not read from the ledger.

    The other fields are read only if inputs may be too old (``max_lag``). ``since`` is the time of its last change of
    state, ``claim`` the claim of its last run. ``lacks`` are the stale parents of a waiting job: their success under
    this claim was too old when the job was planned, and they have not run since. ``added`` are its needs that do not
    come from its definition. ``is_outdated``: it has succeeded, and a partition that it reads has changed since then.
    """

    id: int
    app: str
    key: str
    state: State
    since: datetime | None = None
    claim: int = 0
    lacks: Sequence[tuple[JobName, int]] = ()
    added: tuple[Need, ...] = ()
    is_outdated: bool = False
    is_paused: bool = False

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)
