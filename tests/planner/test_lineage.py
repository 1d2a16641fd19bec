"""Lineage of partitions: parents and children are the same relation, read from both ends."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue.resolve.tables import table_of
from sluice.jobs.keys.calendar import UNITS, Span
from sluice.planner.keyspaces.partitions.partition_relation import Relatives, children, parents
from tests.jobs.catalogue import faults_of_work
from tests.world import catalogue_of

_UNITS = st.sampled_from(UNITS)
_OFFSETS = st.one_of(st.integers(0, 40), st.sampled_from(["1h", "12h", "36h", "40d"]))
#: Number of 2024-01-01 in each unit, and how many partitions before and after it are tried.
_AROUND = {"hour": (473_352, 300), "day": (19_723, 90), "week": (2818, 60), "month": (648, 30)}
_WRITTEN = {"hour": "2024-01-{:02}-07", "day": "2024-01-{:02}", "week": "2024-W{:02}", "month": "2024-{:02}"}


def _cutoffs(unit: str) -> st.SearchStrategy[str | None]:
    return st.one_of(st.none(), st.integers(1, 12).map(_WRITTEN[unit].format))


@st.composite
def _apps(draw: st.DrawFn) -> dict[str, Any]:
    reader, read = draw(_UNITS), draw(_UNITS)
    ends = sorted(filter(None, [draw(_cutoffs(read)), draw(_cutoffs(read))]))
    dependency: dict[str, Any] = {
        "table": "read",
        "start_offset": draw(_OFFSETS),
        "end_offset": draw(_OFFSETS),
        **dict(
            zip(
                draw(st.permutations(["start_cutoff", "end_cutoff"]))
                if len(ends) == 1
                else ["start_cutoff", "end_cutoff"],
                ends,
                strict=False,
            )
        ),
        "cumulative": draw(st.booleans()),
    }
    return {
        "read": {"bash_cmd": "true", "partition": {"unit": read}},
        "reader": {"bash_cmd": "true", "partition": {"unit": reader}, "table_dependencies": [dependency]},
    }


@given(_apps(), st.data())
def test_parents_and_children_are_one_relation(apps: dict[str, Any], data: st.DataObject) -> None:
    catalogue = catalogue_of(apps)
    table, app = table_of(catalogue, "read"), catalogue["reader"]
    middle, _ = _AROUND[apps["read"]["partition"]["unit"]]
    made = middle + data.draw(st.integers(-10, 40))
    own_middle, own_reach = _AROUND[apps["reader"]["partition"]["unit"]]
    outputs = range(own_middle - own_reach, own_middle + own_reach)
    forwards = {output for output in outputs if _has(parents(catalogue, app, Span(output, output)), made)}
    found = list(children(catalogue, table, Span(made, made)))
    backwards = {output for output in outputs if _has(found, output)}
    assert forwards == backwards


def _has(relatives: Iterable[Relatives], partition: int) -> bool:
    for each in relatives:
        if each.span and each.span.first <= partition and (each.endless or partition <= each.span.last):
            return True
    return False


def test_all_later_partitions_need_a_partition_that_is_read_from_the_beginning() -> None:
    reads = [{"table": "events", "start_offset": None}]
    catalogue = catalogue_of({"report": {"bash_cmd": "true", "table_dependencies": reads}})
    day = table_of(catalogue, "events").calendar.read("2024-04-03")
    (found,) = children(catalogue, table_of(catalogue, "events"), Span(day, day))
    assert (found.span, found.endless) == (Span(day, day), True)
    (found,) = parents(catalogue, catalogue["report"], Span(day, day + 2))
    assert (found.span, found.endless) == (Span(day, day + 2), True)
    assert [name.key for name in found.names] == ["2024-04-03", "2024-04-04", "2024-04-05"]


def test_a_cumulative_dependency_names_one_partition_or_a_later_one() -> None:
    reads = [{"table": "users", "cumulative": True, "offset": 1}]
    catalogue = catalogue_of({"report": {"bash_cmd": "true", "table_dependencies": reads}})
    day = table_of(catalogue, "users").calendar.read("2024-04-03")
    (found,) = parents(catalogue, catalogue["report"], Span(day, day + 2))
    assert [str(name) for name in found.names] == ["users/2024-04-04+"]
    (found,) = children(catalogue, table_of(catalogue, "users"), Span(day, day))
    assert [str(name) for name in found.names] == ["report/2024-04-04"]


def test_a_long_running_service_is_one_job_and_must_be_running() -> None:
    catalogue = catalogue_of(
        {
            "stream": {
                "job_type": f"{faults_of_work.__name__}:Grid",
                "partition": "day",
                "is_long_running": True,
            },
            "report": {"bash_cmd": "true", "table_dependencies": [{"table": "stream"}]},
        }
    )
    (found,) = parents(catalogue, catalogue["report"], Span(0, 5))
    assert ([str(name) for name in found.names], found.when) == (["stream/running"], "running")
