"""Properties of plans for any lineage: the partitions to make, and the parents of each step.

Both follow from single partitions. ``Expected`` determines them without runs of partitions, and without an order of
the tables.
"""

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.keys.calendar import UNITS, Calendar, Span
from sluice.jobs.keys.partitions import Offset, TableDependency
from sluice.jobs.model.names import JobName
from sluice.planner.keyspaces.partitions.partition_keys import asked_for, partitioning_of
from sluice.planner.keyspaces.partitions.refill import tables_of, touched
from sluice.planner.keyspaces.partitions.table_demand import Supply
from tests.planner.drawn_lineages import WINDOWS, Drawn, Lore, drawn_lineages, loaded
from tests.planner.expected_partitions import (
    Expected,
    asked_partitions,
    moments,
    overlapping,
    partitions_of,
    restated,
)


@given(drawn_lineages())
def test_each_needed_and_missing_partition_is_made_once_and_no_other(drawn: Drawn) -> None:
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
    """Check that additional partitions are made only for cumulative dependencies."""
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


@given(drawn_lineages())
def test_steps_pack_each_run_of_missing_partitions_from_its_first(drawn: Drawn) -> None:
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


@given(drawn_lineages())
def test_each_step_waits_for_exactly_the_jobs_that_make_its_missing_inputs(drawn: Drawn) -> None:
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
            assert later, "no partition exists, and no job makes one"
            either.append({makers[min(later)]})
    assert awaited == exactly.union(*either)


@given(drawn_lineages())
def test_a_plan_joins_the_jobs_that_already_make_needed_partitions(drawn: Drawn) -> None:
    expected = Expected(drawn)
    for supply in expected.layout.supplies:
        under_way = expected.under_way(supply.table)
        makes = {name for each, name in under_way.items() if each in expected.required[supply.table]}
        joined = {job.name for job in supply.joined}
        # A job that makes later partitions than a cumulative dependency needs is also joined if a step waits for it.
        assert joined == makes or expected.lacking(supply.table)
        assert makes <= joined
        waited_for = {
            need.parent
            for other in expected.layout.supplies
            for job in expected.layout.jobs(other)
            for gate in job.gates
            for need in gate.needs
        }
        assert waited_for.intersection(under_way.values()) <= joined
        asked = supply.table in expected.asked
        assert all(asked or name in waited_for or supply.table in expected.forced for name in joined)


@given(drawn_lineages())
def test_each_table_comes_after_its_inputs_and_is_among_the_tables_of_the_plan(drawn: Drawn) -> None:
    expected = Expected(drawn)
    order = [supply.table for supply in expected.layout.supplies]
    for place, supply in enumerate(expected.layout.supplies):
        reads = partitioning_of(supply.app).dependencies if supply.app else ()
        assert not {each.table for each in reads}.intersection(order[place:])
    assert {*order} <= tables_of(expected.catalogue, drawn.submission)


@given(drawn_lineages())
def test_the_partitions_to_make_again_are_those_made_from_changed_ones(drawn: Drawn) -> None:
    catalogue = loaded(drawn)
    app = catalogue.app(drawn.submission.app)
    runs = {partitioning_of(each).table: of for each, of in asked_for(app, drawn.submission)}
    found = touched(catalogue, runs, Lore(drawn.fates).held)
    changed = asked_partitions(app, drawn)
    assert {
        table: {each for run in runs for each in partitions_of(run)} for table, runs in found.items()
    } == restated(catalogue, drawn, changed)


@st.composite
def _dependencies(draw: st.DrawFn) -> tuple[TableDependency, Calendar]:
    """Draw a dependency on a table, and the calendar of its reader."""
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
        first_s=draw(cuts),
        calendar=calendar,
    ), own


@given(_dependencies(), st.data())
def test_exactly_the_partitions_that_overlap_the_time_that_is_read_are_needed(
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
def test_more_output_never_needs_less_input(
    drawn: tuple[TableDependency, Calendar], data: st.DataObject
) -> None:
    dependency, own = drawn
    first, one, other, last = sorted(data.draw(st.sampled_from(WINDOWS[own.unit])) for _ in range(4))
    part, whole = (dependency.needed_for(span, own) for span in (Span(one, other), Span(first, last)))
    if part is None:
        return
    assert whole is not None
    assert part.last <= whole.last
    assert whole.first is None or (part.first is not None and whole.first <= part.first)
