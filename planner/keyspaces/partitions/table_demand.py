"""Supply of one table in a plan: the wanted partitions, and the job that makes each."""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import cached_property
from typing import Protocol

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import landing_key
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.jobs.model.partition_state import HeldRange, KnownExtent
from sluice.jobs.model.plan import KnownJob
from sluice.planner.keyspaces.partitions.daily_jobs import DailyJobs
from sluice.planner.keyspaces.partitions.partition_keys import key_of
from sluice.planner.keyspaces.partitions.ranges import in_both, meeting, places, steps, united, without

#: Maximum number of partitions that one submission may have made: a million, more than the hours of a century. Each is
#: a row, and while they are written no other plan for the same tables can proceed.
PARTITIONS_MAX = 1_000_000


class TableKnowledge(Protocol):
    """Tables, as far as a plan needs them. The version of an external table is the unit of its partitions."""

    def held(self, table: str, version: str, within: Span) -> Sequence[HeldRange]:
        """Return the parts of this span that exist and are not stale, or are under way, in order."""
        ...

    def existing(self, table: str, version: str, within: Span) -> Sequence[HeldRange]:
        """Return the parts of this span that exist, stale or not, or are under way, in order."""
        ...

    def extent(self, table: str, version: str) -> KnownExtent: ...


class SuppliedTable(Struct, frozen=True, kw_only=True):
    """Table in a plan.

    ``app`` fills it, by jobs of at most ``step_size`` partitions. If jobs with keys make its days, they are in
    ``daily_jobs``. For an external table both are None, and the landing of each missing partition is entered as
    a job.
    """

    name: str
    app: App | None
    calendar: Calendar
    step_size: int
    daily_jobs: DailyJobs | None = None


class Supply:
    """Supply of one table.

    ``held`` are the partitions in ``wanted`` that exist or are under way. ``missing`` is the part of ``wanted`` that
    does not exist and that no job is making. ``forced`` partitions are made again although they exist. ``later`` are
    needs that accept this or any later partition, and for which none exists. The steps in ``or_later`` may be replaced
    by any later partition.
    """

    def __init__(
        self,
        table: SuppliedTable,
        *,
        held: Sequence[HeldRange],
        wanted: list[Span],
        forced: Sequence[Span] = (),
        later: Sequence[int] = (),
        or_later: Set[Span] = frozenset(),
    ) -> None:
        self.table = table.name
        self.app = table.app
        self.daily_jobs = table.daily_jobs
        self.calendar = table.calendar
        self.wanted = wanted
        self.or_later = or_later
        self.there = without([each.span for each in held if each.by is None], forced)
        self._held = [each for each in held if each.by is not None]
        self._held_spans = [each.span for each in self._held]
        self._later = later
        self._size = table.step_size
        self.missing = without(wanted, sorted([*self.there, *self._held_spans]))

    @cached_property
    def steps(self) -> list[Span]:
        """Spans of the jobs that make the missing partitions. Check ``jobs`` first, because there may be too many to
        make."""
        return steps(self.missing, self._size)

    @property
    def jobs(self) -> int:
        """Number of steps, determined without making them."""
        return jobs_in(self.missing, self._size)

    @property
    def satisfied(self) -> list[Span]:
        """Wanted partitions that exist."""
        return united(in_both(self.wanted, self.there))

    @property
    def joined(self) -> list[KnownJob]:
        """Jobs under way that make wanted partitions, each once."""
        ends = (self.first_made(each) for each in self._later)
        runs = [*self.wanted, *(Span(each, each) for each in ends if each is not None)]
        met = (place for run in runs for place in places(self._held_spans, run))
        return list({job.name: job for place in met if (job := self._held[place].by)}.values())

    @cached_property
    def names(self) -> list[JobName]:
        """Names of the steps' jobs, in order. They are made once, because many other jobs may name one."""
        return [self.name_of(step) for step in self.steps]

    def name_of(self, step: Span) -> JobName:
        if self.app:
            return JobName(self.app.name, key_of(self.app, step))
        return JobName(self.table, landing_key(self.calendar, step.first, or_later=step in self.or_later))

    @property
    def stale(self) -> list[Span]:
        """Partitions under way that will be stale."""
        return [each.span for each in self._held if each.stale]

    def makers(self, span: Span) -> Iterator[JobName]:
        """Yield the jobs that make the missing partitions of this span."""
        for place in places(self.steps, span):
            if self.daily_jobs:
                yield from self.daily_jobs.of_day(self.steps[place].first)
            else:
                yield self.names[place]
        for place in places(self._held_spans, span):
            if job := self._held[place].by:
                yield job.name

    def first_makers(self, partition: int) -> Iterator[JobName]:
        """Yield the jobs that make the earliest partition from this one on. There are none if such a partition exists,
        or if none is made."""
        earliest = self.first_made(partition)
        return iter(()) if earliest is None else self.makers(Span(earliest, earliest))

    @property
    def keyed_jobs(self) -> Iterator[JobName]:
        """Yield the jobs with keys that make the missing partitions."""
        if self.daily_jobs:
            for step in self.steps:
                yield from self.daily_jobs.of_day(step.first)

    def first_made(self, partition: int) -> int | None:
        """Return the earliest partition from this one on that a job makes. None if such a partition exists, or if none
        is made."""
        if self.there and self.there[-1].last >= partition:
            return None
        ahead = Span(partition, _AFTER_ALL)
        spans = [*meeting(self.steps, ahead), *meeting(self._held_spans, ahead)]
        return min((max(span.first, partition) for span in spans), default=None)


def refuse_excess(supplies: Collection[Supply], *, jobs_max: int, where: str) -> None:
    """Refuse too many jobs or partitions before they take memory."""
    if sum(supply.jobs for supply in supplies) > jobs_max:
        raise BadRequest(f"The submission results in more than {jobs_max:,} jobs.", where=where)
    if sum(len(span) for supply in supplies for span in supply.missing) > PARTITIONS_MAX:
        raise BadRequest(
            f"The submission results in more than {PARTITIONS_MAX:,} partitions.",
            where=where,
            advice="Request a shorter range.",
        )


#: Number greater than that of any partition.
_AFTER_ALL = 2**31 - 1
ALL = Span(-(2**31), _AFTER_ALL)


def jobs_in(spans: Iterable[Span], size: int) -> int:
    """Return the least number of jobs of this size that can make the spans."""
    return sum(-(-len(span) // size) for span in spans)
