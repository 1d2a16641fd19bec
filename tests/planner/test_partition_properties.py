"""Whatever tables read each other, and whatever is there of them: what is made and what waits for what follows from
single partitions, by definition. Nothing here knows of runs, or of an order in which tables are looked at.
"""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.app import App
from jobs.calendar import UNITS, Calendar, Span
from jobs.catalogue import Catalogue
from jobs.partitioning import Offset, Partitioning, TableDependency
from jobs.ref import JobName
from planner.partition_keys import asked_for, partitioning_of
from planner.partitions import Layout
from planner.restating import tables_of, touched
from planner.supply import Supply
from tests.planner.drawn_lineages import WINDOWS, Drawn, Lore, drawn_lineages, loaded, maker


def partitions_of(span: Span) -> set[int]:
    return {*range(span.first, span.last + 1)}


def moments(dependency: TableDependency, own: Calendar, output: Span) -> tuple[int | None, int]:
    """From when to when the output reads; without a beginning: from the earliest there is."""
    back = dependency.end_offset
    until = own.start_s(output.last + 1 - back.partitions) - back.seconds
    if dependency.end_cutoff_s is not None:
        until = min(until, dependency.end_cutoff_s)
    since = dependency.start_cutoff_s
    if (back_to := dependency.start_offset) is not None:
        start = own.start_s(output.first - back_to.partitions) - back_to.seconds
        since = start if since is None else max(start, since)
    return since, until


def overlapping(calendar: Calendar, since: int, until: int) -> set[int]:
    """The partitions that have a moment in common with this time."""
    near = range(calendar.at(since) - 2, calendar.at(until) + 3)
    return {
        each
        for each in near
        if since < until and max(since, calendar.start_s(each)) < min(until, calendar.start_s(each + 1))
    }


class Expected:
    """What a layout has to come to, from its own steps upwards."""

    def __init__(self, drawn: Drawn) -> None:
        self.catalogue = loaded(drawn)
        self.fates = drawn.fates
        self.layout = Layout(self.catalogue, drawn.submission, Lore(drawn.fates))
        self.supplies = {supply.table: supply for supply in self.layout.supplies}
        self.app = self.catalogue.app(drawn.submission.app)
        self.asked = {each for run in asked_for(self.app, drawn.submission) for each in partitions_of(run)}
        self.forced = {self._table(self.app): self.asked} if drawn.submission.rerun else {}
        if drawn.submission.rerun == "downstream":
            self.forced = restated(self.catalogue, drawn, self.asked)
        self.required = {table: {*self.forced.get(table, ())} for table in drawn.fates}
        self.required[self._table(self.app)] |= self.asked
        self.or_later: dict[str, set[int]] = {table: set() for table in drawn.fates}
        for supply in self.layout.supplies:
            for step in supply.steps if supply.app else ():
                for dependency, needed in self.reads(supply.app, step):
                    of = self.or_later if dependency.cumulative else self.required
                    of[dependency.table] |= needed

    def reads(self, app: App | None, step: Span) -> Iterator[tuple[TableDependency, set[int]]]:
        """Of each table that it reads what the step needs; of a cumulative one the last of it."""
        assert app is not None
        own = partitioning_of(app)
        for dependency in own.dependencies:
            since, until = moments(dependency, own.calendar, step)
            calendar = dependency.calendar
            if since is None:
                output = calendar.at(own.calendar.start_s(step.first))
                since = calendar.start_s(min([output, *self.fates[dependency.table]]))
                if dependency.cumulative:
                    since = until - 1
                elif (declared := self._declared(dependency)) is not None:
                    since = calendar.start_s(declared)
            needed = overlapping(calendar, since, until)
            if dependency.cumulative and needed:
                yield dependency, {max(needed)}
                continue
            declared = self._declared(dependency)
            needed = {each for each in needed if declared is None or each >= declared}
            if needed:
                yield dependency, needed

    def there(self, table: str) -> set[int]:
        """What is there and need not be made anew."""
        there = {each for each, fate in self.fates[table].items() if fate == "there"}
        return there - self.forced.get(table, set())

    def under_way(self, table: str) -> dict[int, JobName]:
        jobs = {each: maker(table, fate) for each, fate in self.fates[table].items()}
        return {each: job.name for each, job in jobs.items() if job}

    def made(self, table: str) -> dict[int, JobName]:
        supply = self.supplies.get(table)
        return (
            {each: supply.name_of(step) for step in supply.steps for each in partitions_of(step)}
            if supply
            else {}
        )

    def lacking(self, table: str) -> set[int]:
        """Of what any later partition would do for, what none does for that is there, be it made anew or not."""
        there = {each for each, fate in self.fates[table].items() if fate == "there"}
        return {each for each in self.or_later[table] if all(other < each for other in there)}

    def _declared(self, dependency: TableDependency) -> int | None:
        producer = self.catalogue.fills(dependency.table)
        return partitioning_of(producer).first if producer else None

    def _table(self, app: App) -> str:
        return partitioning_of(app).table


def restated(catalogue: Catalogue, drawn: Drawn, changed: set[int]) -> dict[str, set[int]]:
    """By table, what is to be made anew where these of the asked app's change: one partition after the other."""
    found = {partitioning_of(catalogue.app(drawn.submission.app)).table: {*changed}}
    for name in sorted(drawn.apps, key=catalogue.rank):
        own = partitioning_of(catalogue[name])
        if own.table in found:
            continue
        if stale := {each for each in drawn.fates[own.table] if _is_made_from(own, each, found)}:
            found[own.table] = stale
    return found


def _is_made_from(own: Partitioning, partition: int, changed: dict[str, set[int]]) -> bool:
    for dependency in own.dependencies:
        since, until = moments(dependency, own.calendar, Span(partition, partition))
        starts = {each: dependency.calendar.start_s(each) for each in changed.get(dependency.table, ())}
        if since is not None and since >= until:
            continue
        if dependency.cumulative and any(dependency.calendar.start_s(each + 1) >= until for each in starts):
            return True
        if not dependency.cumulative and any(
            start < until and (since is None or dependency.calendar.start_s(each + 1) > since)
            for each, start in starts.items()
        ):
            return True
    return False


@settings(max_examples=250, deadline=None)
@given(drawn_lineages())
def test_each_partition_that_is_needed_and_missing_is_made_once_and_no_other(drawn: Drawn) -> None:
    expected = Expected(drawn)
    for table, required in expected.required.items():
        made = expected.made(table)
        supply = expected.supplies.get(table)
        assert sum(len(step) for step in supply.steps) == len(made) if supply else not made
        exactly = required - expected.there(table) - expected.under_way(table).keys()
        more = made.keys() - exactly
        assert exactly <= made.keys(), table
        _check_more(expected, table, more)


def _check_more(expected: Expected, table: str, more: set[int]) -> None:
    """Beyond what is needed exactly, as much as cumulative tables need."""
    lacking = expected.lacking(table)
    if table in expected.catalogue.externals:
        assert more == lacking - expected.required[table]
        supply = expected.supplies.get(table)
        assert {step.first for step in supply.or_later} == more if supply else not more
        return
    if not lacking:
        assert not more
        return
    ahead = {*expected.required[table], *expected.under_way(table)}
    assert more == (set() if max(ahead, default=-1) >= max(lacking) else {max(lacking)})


@settings(max_examples=100, deadline=None)
@given(drawn_lineages())
def test_steps_pack_each_run_of_what_is_missing_from_its_first(drawn: Drawn) -> None:
    expected = Expected(drawn)
    for supply in expected.layout.supplies:
        size = partitioning_of(supply.app).step_size if supply.app else 1
        ahead = sorted(expected.made(supply.table))
        packed: list[list[int]] = []
        for each in ahead:
            if packed and packed[-1][-1] == each - 1 and len(packed[-1]) < size:
                packed[-1].append(each)
            else:
                packed.append([each])
        assert supply.steps == [Span(step[0], step[-1]) for step in packed]


@settings(max_examples=250, deadline=None)
@given(drawn_lineages())
def test_each_step_waits_for_whoever_makes_what_it_lacks_and_for_nobody_else(drawn: Drawn) -> None:
    expected = Expected(drawn)
    for supply in expected.layout.supplies:
        for job, step in zip(expected.layout.jobs(supply), supply.steps, strict=True) if supply.app else ():
            assert job.name == supply.name_of(step)
            awaited = [need.parent for gate in job.gates for need in gate.needs]
            assert len(awaited) == len({*awaited})
            _check_awaited(expected, supply, step, {*awaited})


def _check_awaited(expected: Expected, supply: Supply, step: Span, awaited: set[JobName]) -> None:
    exactly: set[JobName] = set()
    either: list[set[JobName]] = []
    for dependency, needed in expected.reads(supply.app, step):
        table = dependency.table
        makers = {**expected.under_way(table), **expected.made(table)}
        there = expected.there(table)
        if not dependency.cumulative:
            assert all((each in makers) != (each in there) for each in needed)
            exactly |= {makers[each] for each in needed if each in makers}
        elif max(there, default=-1) < max(needed):
            later = [each for each in makers if each >= max(needed)]
            assert later, "there is none, and nobody makes one"
            either.append({makers[min(later)]})
    assert awaited == exactly.union(*either)


@settings(max_examples=200, deadline=None)
@given(drawn_lineages())
def test_a_plan_joins_whoever_makes_what_it_needs_already(drawn: Drawn) -> None:
    expected = Expected(drawn)
    for supply in expected.layout.supplies:
        under_way = expected.under_way(supply.table)
        makes = {name for each, name in under_way.items() if each in expected.required[supply.table]}
        joined = {job.name for job in supply.joined}
        assert makes <= joined
        # Of those that make more recent ones than a cumulative table needs, at most one.
        assert len(joined - makes) <= (1 if expected.lacking(supply.table) else 0)
        waited_for = {
            need.parent
            for other in expected.layout.supplies
            for job in expected.layout.jobs(other)
            for gate in job.gates
            for need in gate.needs
        }
        asked = supply.app is expected.app
        assert all(asked or name in waited_for or supply.table in expected.forced for name in joined)


@settings(max_examples=100, deadline=None)
@given(drawn_lineages())
def test_tables_come_after_those_that_they_are_made_from_and_each_is_waited_for(drawn: Drawn) -> None:
    expected = Expected(drawn)
    order = [supply.table for supply in expected.layout.supplies]
    for place, supply in enumerate(expected.layout.supplies):
        reads = partitioning_of(supply.app).dependencies if supply.app else ()
        assert not {each.table for each in reads}.intersection(order[place:])
    assert {*order} <= tables_of(expected.catalogue, drawn.submission)


@settings(max_examples=250, deadline=None)
@given(drawn_lineages())
def test_what_has_to_be_made_anew_is_what_was_made_from_what_changes(drawn: Drawn) -> None:
    catalogue = loaded(drawn)
    app = catalogue.app(drawn.submission.app)
    runs = asked_for(app, drawn.submission)
    found = touched(catalogue, partitioning_of(app).table, runs, Lore(drawn.fates).held)
    changed = {each for run in runs for each in partitions_of(run)}
    assert {
        table: {each for run in runs for each in partitions_of(run)} for table, runs in found.items()
    } == restated(catalogue, drawn, changed)


@st.composite
def _dependencies(draw: st.DrawFn) -> tuple[TableDependency, Calendar]:
    """On a table, and the calendar of its reader."""
    own, calendar = Calendar(draw(st.sampled_from(UNITS))), Calendar(draw(st.sampled_from(UNITS)))
    window = WINDOWS[calendar.unit]
    offsets = st.builds(Offset, st.integers(0, 3), st.sampled_from([0, 6 * 3600, 90_000]))
    cuts = st.none() | st.sampled_from(window).map(calendar.start_s)
    return TableDependency(
        table="t",
        start_offset=draw(offsets | st.none()),
        end_offset=draw(offsets),
        start_cutoff_s=draw(cuts),
        end_cutoff_s=draw(cuts),
        calendar=calendar,
    ), own


@given(_dependencies(), st.data())
def test_what_is_needed_is_what_has_a_moment_in_common_with_what_is_read(
    drawn: tuple[TableDependency, Calendar], data: st.DataObject
) -> None:
    dependency, own = drawn
    first, last = sorted(data.draw(st.sampled_from(WINDOWS[own.unit])) for _ in range(2))
    reach = dependency.needed_for(Span(first, last), own)
    since, until = moments(dependency, own, Span(first, last))
    if since is None:
        assert reach is not None
        assert reach.first is None
        assert {reach.last} == overlapping(dependency.calendar, until - 1, until)
    else:
        needed = overlapping(dependency.calendar, since, until)
        assert (reach and (reach.first, reach.last)) == ((min(needed), max(needed)) if needed else None)


@given(_dependencies(), st.data())
def test_more_output_needs_no_less(drawn: tuple[TableDependency, Calendar], data: st.DataObject) -> None:
    dependency, own = drawn
    first, one, other, last = sorted(data.draw(st.sampled_from(WINDOWS[own.unit])) for _ in range(4))
    part, whole = (dependency.needed_for(span, own) for span in (Span(one, other), Span(first, last)))
    if part is None:
        return
    assert whole is not None
    assert part.last <= whole.last
    assert whole.first is None or (part.first is not None and whole.first <= part.first)
