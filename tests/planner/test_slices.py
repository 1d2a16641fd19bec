"""Plans for tables with a second dimension: each slice has partitions, steps and dependencies of its own."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import table_of, tables_of
from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.keys.calendar import Span
from sluice.jobs.model.partition_state import HeldRange
from sluice.jobs.model.submission import Submission
from sluice.ops.documents.plan_facts import GivenTables
from sluice.planner.keyspaces.partitions.partition_keys import app_of_key, canonical_key, read_key
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from sluice.planner.keyspaces.partitions.partition_relation import Relatives, children, parents
from tests.planner.definitions import catalogue_of

BY = {"store": ["graz", "oslo"]}
#: ``sales`` has a slice for each store and reads two days of ``events``; ``total`` reads every slice of it.
APPS: dict[str, Any] = {
    "sales": {
        "bash_cmd": "true",
        "partition": {"by": BY},
        "step_size": 2,
        "table_dependencies": [{"table": "events", "start_offset": 1, "partition": {"by": BY}}],
    },
    "total": {"bash_cmd": "true", "table_dependencies": [{"table": "sales"}]},
}


def planned(app: str, held: dict[str, Span] | None = None, **words: Any) -> dict[str, list[str]]:
    """Return the keys of the planned jobs without their versions, with their parents."""
    given_tables = GivenTables({table: [HeldRange(span)] for table, span in (held or {}).items()})
    layout = Layout(catalogue_of(APPS), Submission(app=app, id="x", **words), given_tables)
    return {
        str(job.name).split("@")[0]: [
            str(need.parent).split("@")[0] for gate in job.gates for need in gate.needs
        ]
        for supply in layout.supplies
        for job in layout.jobs(supply)
    }


DAYS: dict[str, Any] = {"start": "2024-04-01", "end": "2024-04-03"}


def test_a_step_has_partitions_of_one_slice_and_needs_this_slice_of_its_inputs() -> None:
    jobs = planned("sales", **DAYS)
    steps = {name: needs for name, needs in jobs.items() if name.startswith("sales")}
    assert [*steps] == [
        *("sales/graz/2024-04-01..2024-04-02", "sales/graz/2024-04-03"),
        *("sales/oslo/2024-04-01..2024-04-02", "sales/oslo/2024-04-03"),
    ]
    assert steps["sales/oslo/2024-04-03"] == [
        "events[store=oslo]/2024-04-02",
        "events[store=oslo]/2024-04-03",
    ]


def test_only_the_missing_partitions_of_each_slice_are_made() -> None:
    events = Span(19_700, 19_900)
    held = {"sales[store=graz]": Span(19_814, 19_816), "events[store=oslo]": events}
    assert [*planned("sales", held, **DAYS)] == ["sales/oslo/2024-04-01..2024-04-02", "sales/oslo/2024-04-03"]


@pytest.mark.parametrize("by", [{"store": "oslo"}, {"store": ["oslo"]}])
def test_a_submission_can_request_some_slices(by: Any) -> None:
    assert all("oslo" in name for name in planned("sales", by=by, **DAYS))


def test_keys_name_their_slices() -> None:
    jobs = planned("sales", keys=("oslo/2024-04-01", "graz/2024-04-02", "oslo/2024-04-02"))
    assert [name for name in jobs if name.startswith("sales")] == [
        *("sales/graz/2024-04-02", "sales/oslo/2024-04-01..2024-04-02"),
    ]


def test_an_app_without_the_dimension_needs_every_slice() -> None:
    jobs = planned("total", start="2024-04-01", end="2024-04-01")
    assert jobs["total/2024-04-01"] == ["sales/graz/2024-04-01", "sales/oslo/2024-04-01"]


@pytest.mark.parametrize("rerun", ["job", "downstream"])
def test_a_rerun_of_one_slice_leaves_the_others(rerun: str) -> None:
    days = Span(19_700, 19_900)
    held = dict.fromkeys(["sales[store=graz]", "sales[store=oslo]", "total"], days)
    held |= dict.fromkeys(["events[store=graz]", "events[store=oslo]"], days)
    day = {"start": "2024-04-01", "end": "2024-04-01"}
    jobs = planned("sales", held, rerun=rerun, by={"store": "oslo"}, **day)
    downstream = ["total/2024-04-01"] if rerun == "downstream" else []
    assert [*jobs] == ["sales/oslo/2024-04-01", *downstream]


@pytest.mark.parametrize(
    ("app", "words", "what"),
    [
        ("sales", {"by": {"store": "osol"}, **DAYS}, "there is no store 'osol'; its values: graz, oslo"),
        ("sales", {"by": {"shop": "oslo"}, **DAYS}, "its second dimension is store, not shop"),
        ("total", {"by": {"store": "oslo"}, **DAYS}, "total has no second dimension"),
        ("sales", {"key": "2024-04-01"}, "it names no store"),
        ("sales", {"key": "osol/2024-04-01"}, "it has no store 'osol'"),
        ("total", {"key": "oslo/2024-04-01"}, "is not a key of total"),
    ],
)
def test_what_names_no_slice_is_refused(app: str, words: dict[str, Any], what: str) -> None:
    with pytest.raises(BadRequest, match=what):
        planned(app, **words)


def test_a_submission_of_slices_needs_a_range() -> None:
    with pytest.raises(ValueError, match="by selects slices of a range"):
        Submission(app="sales", key="oslo/2024-04-01", by={"store": "oslo"})


def test_a_key_of_a_removed_value_can_be_read_but_not_requested() -> None:
    app = catalogue_of(APPS)["sales"]
    found = app_of_key(app, "turku/2024-04-01")
    assert read_key(found, "turku/2024-04-01") == Span(19_814, 19_814)
    with pytest.raises(BadKey, match="no store 'turku'"):
        canonical_key(app, "turku/2024-04-01")


@st.composite
def _lineages(draw: st.DrawFn) -> Catalogue:
    """Draw two tables, each with or without a dimension, and an app between them."""
    by, of = draw(st.sampled_from([None, BY])), draw(st.sampled_from([None, BY, {"region": ["n", "s"]}]))
    reading: dict[str, Any] = {"table": "read", "start_offset": draw(st.integers(0, 2))}
    if of and draw(st.booleans()):
        reading["by"] = "all"
    return catalogue_of(
        {
            "read": {"bash_cmd": "true", "partition": {"by": of}},
            "reader": {"bash_cmd": "true", "partition": {"by": by}, "table_dependencies": [reading]},
        }
    )


@given(_lineages(), st.integers(19_700, 19_703))
def test_parents_and_children_are_one_relation_of_slices(catalogue: Catalogue, day: int) -> None:
    readers, read = (
        [table_of(catalogue, each) for each in _names(catalogue, app)] for app in ("reader", "read")
    )
    upwards = {
        (reader.name, output, each.table)
        for reader in readers
        for output in range(day, day + 4)
        for each in parents(catalogue, reader.app, Span(output, output))
        if reader.app and _has(each, day)
    }
    downwards = {
        (each.table, output, table.name)
        for table in read
        for each in children(catalogue, table, Span(day, day))
        for output in range(day, day + 4)
        if _has(each, output)
    }
    assert upwards == downwards
    assert upwards


def _names(catalogue: Catalogue, app: str) -> list[str]:
    return [table.name for table in tables_of(catalogue) if table.filled_by == app]


def _has(relatives: Relatives, partition: int) -> bool:
    return relatives.span is not None and relatives.span.first <= partition <= relatives.span.last
