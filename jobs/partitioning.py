"""How the jobs of an app that is keyed by partition come about, and which partitions of other tables each needs.

Such an app fills one table, partition by partition. A submission asks for a range of them. Whatever of it is
neither there nor under way is packed into steps, each a job; the tables it reads say which of their partitions each
step needs, and those are asked for in turn (see ``planner.partitions``).
"""

from collections.abc import Mapping

from msgspec import Struct

from sluice.jobs.calendar import BEGINNING_S, Calendar, Span
from sluice.jobs.submission import JSON


class Offset(Struct, frozen=True):
    """How far back: so many of the app's own partitions, or a length of time."""

    partitions: int = 0
    seconds: int = 0

    def before(self, partition: int, calendar: Calendar) -> int:
        """The moment this far before the partition begins."""
        return calendar.start_s(partition - self.partitions) - self.seconds


class Reach(Struct, frozen=True):
    """The partitions of a table that some output needs. Without a ``first``: from the earliest there is."""

    first: int | None
    last: int


class TableDependency(Struct, frozen=True, kw_only=True):
    """A table that the app reads, and how much of it one range of output needs.

    From ``start_offset`` before the output's start to ``end_offset`` before its end, and within the moments
    ``start_cutoff_s`` and ``end_cutoff_s``. Without a ``start_offset`` it reads from the cut-off on, or all there is. A
    ``cumulative`` table has all of the past in each partition, so any one will do that is not older than the last
    that is needed. ``calendar`` is the table's; ``producer`` the app that fills it, None for one that others fill;
    ``version`` that of this app.
    """

    table: str
    start_offset: Offset | None = Offset()
    end_offset: Offset = Offset()
    start_cutoff_s: int | None = None
    end_cutoff_s: int | None = None
    cumulative: bool = False
    calendar: Calendar = Calendar()
    producer: str | None = None
    version: str = ""

    def needed_for(self, output: Span, own: Calendar) -> Reach | None:
        """What of the table this range of output needs; None where that is nothing.

        All is reckoned in half-open time, from the start of the first partition to the end of the last, so the two
        may be counted in different units. What goes back to before any calendar takes all there is.
        """
        end_s = self.end_offset.before(output.last + 1, own)
        if self.end_cutoff_s is not None:
            end_s = min(end_s, self.end_cutoff_s)
        starts = [self.start_cutoff_s] if self.start_cutoff_s is not None else []
        if self.start_offset is not None:
            starts.append(self.start_offset.before(output.first, own))
        start_s = max(starts, default=BEGINNING_S)
        if max(start_s, BEGINNING_S) >= end_s:
            return None
        first = self.calendar.at(start_s) if start_s > BEGINNING_S else None
        return Reach(first, self.calendar.at(end_s - 1))


class Partitioning(Struct, frozen=True, kw_only=True):
    """``step_size``: so many partitions in a row make one job. ``first`` is the earliest partition there can be, where
    the definition says so. ``modes`` has, for each mode that the app can be run in, the words that it overrides."""

    table: str
    calendar: Calendar
    step_size: int = 1
    dependencies: tuple[TableDependency, ...] = ()
    first: int | None = None
    modes: Mapping[str, Mapping[str, JSON]] = {}


def inputs_of(partitioning: Partitioning, output: Span) -> dict[str, tuple[str | None, str | None]]:
    """What this output needs of each table, as texts: its first and last partition. There is no first where all of
    the past is read, and no last where any partition from the first on will do. A table that is read in two ways
    stands here with all that either needs."""
    found: dict[str, tuple[str | None, str | None]] = {}
    reaches: dict[str, Reach] = {}
    for dependency in partitioning.dependencies:
        reach = dependency.needed_for(output, partitioning.calendar)
        if reach is None:
            continue
        write = dependency.calendar.write
        if dependency.cumulative:
            found.setdefault(dependency.table, (write(reach.last), None))
            continue
        known = reaches.get(dependency.table, reach)
        firsts = [each.first for each in (known, reach) if each.first is not None]
        whole = Reach(min(firsts) if len(firsts) == 2 else None, max(known.last, reach.last))
        reaches[dependency.table] = whole
        found[dependency.table] = (None if whole.first is None else write(whole.first), write(whole.last))
    return found
