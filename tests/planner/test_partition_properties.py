"""Whatever tables read each other, and whatever is there of them: what is made and what waits for what follows from
single partitions, by definition. Nothing here knows of runs, or of an order in which tables are looked at.
"""

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.calendar import UNITS, Calendar, Span
from sluice.jobs.partitioning import Offset, TableDependency
from sluice.jobs.ref import JobName
from sluice.planner.partition_keys import asked_for, partitioning_of
from sluice.planner.restating import tables_of, touched
from sluice.planner.supply import Supply
from tests.planner.drawn_lineages import WINDOWS, Drawn, Lore, drawn_lineages, loaded
from tests.planner.expected_partitions import Expected, moments, overlapping, partitions_of, restated


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


@given(drawn_lineages())
def test_a_plan_joins_whoever_makes_what_it_needs_already(drawn: Drawn) -> None:
    expected = Expected(drawn)
    for supply in expected.layout.supplies:
        under_way = expected.under_way(supply.table)
        makes = {name for each, name in under_way.items() if each in expected.required[supply.table]}
        joined = {job.name for job in supply.joined}
        # Of those that make more recent ones than a cumulative table needs, whoever is waited for as well.
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
        asked = supply.app is expected.app
        assert all(asked or name in waited_for or supply.table in expected.forced for name in joined)


@given(drawn_lineages())
def test_tables_come_after_those_that_they_are_made_from_and_each_is_waited_for(drawn: Drawn) -> None:
    expected = Expected(drawn)
    order = [supply.table for supply in expected.layout.supplies]
    for place, supply in enumerate(expected.layout.supplies):
        reads = partitioning_of(supply.app).dependencies if supply.app else ()
        assert not {each.table for each in reads}.intersection(order[place:])
    assert {*order} <= tables_of(expected.catalogue, drawn.submission)


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
