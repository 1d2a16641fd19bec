"""Tables that are made by jobs with keys: relation of jobs and partitions, plans, and faults of definitions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.errors import DefinitionError
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import without_version
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.partitions.daily_jobs import DailyJobs
from sluice.planner.keyspaces.partitions.input_walk import InputWalk
from sluice.planner.keyspaces.partitions.partition_plan import Layout
from sluice.planner.keyspaces.partitions.partition_relation import children_of_job, parents
from tests.planner.no_partitions import NoPartitions
from tests.world import catalogue_of

_DAYS = Calendar("day")
#: Number of 2024-03-20.
_BEGIN = 19_802
_AROUND = {
    "hour": (_BEGIN * 24, 24 * 14),
    "day": (_BEGIN, 14),
    "week": (2829, 4),
    "month": (649, 3),
}


def _maker(**words: Any) -> dict[str, Any]:
    return {
        "bash_cmd": "true",
        "job_id": "{date}_{shop}",
        "identifiers": {"date": "date"},
        "autofill_values": {"shop": ["g", "o"]},
        "output_table": "sales",
        **words,
    }


def _reader(unit: str, **reading: Any) -> dict[str, Any]:
    return {
        "bash_cmd": "true",
        "partition": unit,
        "table_dependencies": [{"table": "sales", **reading}],
    }


_READINGS = st.fixed_dictionaries(
    {"start_offset": st.integers(0, 3)},
    optional={"end_offset": st.integers(0, 2), "start_cutoff": st.sampled_from(["2024-03-22", "2024-04-01"])},
)
_FILTERS = st.sampled_from([{}, {"valid_if_or": {"shop": ["o"]}}])


@given(st.sampled_from([*_AROUND]), _READINGS, _FILTERS)
def test_parents_and_children_are_one_relation(
    unit: str, reading: dict[str, Any], filter_: dict[str, Any]
) -> None:
    catalogue = catalogue_of({"make": _maker(**filter_), "read": _reader(unit, **reading)})
    first, length = _AROUND[unit]
    outputs = range(first, first + length)
    reader = catalogue["read"]
    jobs = DailyJobs(catalogue, catalogue["make"])
    upwards = {
        (name, output)
        for output in outputs
        for each in parents(catalogue, reader, Span(output, output))
        for name in each.names
    }
    calendar = reader.partitioning.calendar if reader.partitioning else _DAYS
    inner = [name for day in range(_BEGIN + 4, _BEGIN + 9) for name in jobs.of_day(day)]
    downwards = {
        (name, calendar.read(child.key)) for name in inner for child in children_of_job(catalogue, name)
    }
    assert {each for each in downwards if each[1] in outputs} == {
        each for each in upwards if each[0] in inner
    }


@given(st.sampled_from(["day", "week"]), _READINGS, st.integers(1, 3), st.booleans())
def test_a_plan_has_every_job_that_its_steps_need(
    unit: str, reading: dict[str, Any], size: int, cumulative: bool
) -> None:
    read = {**_reader(unit, **reading, cumulative=cumulative), "step_size": size}
    catalogue = catalogue_of({"make": _maker(), "read": read})
    calendar = Calendar("week" if unit == "week" else "day")
    first, length = _AROUND[unit]
    submission = Submission(app="read", start=calendar.write(first), end=calendar.write(first + length))
    layout = Layout(catalogue, submission, NoPartitions())
    walk = InputWalk(catalogue, 1, submission, None, inputs=layout.inputs)
    while not walk.arrived:
        walk.step({})
    wanted = {name for _, name, _ in walk.requests()}
    needed = {
        need.parent
        for supply in layout.supplies
        for job in layout.jobs(supply)
        for gate in job.gates
        for need in gate.needs
    }
    assert needed == {*layout.inputs} == wanted
    if cumulative:
        return  # One later day is enough for several steps.
    by_definition = {
        name
        for supply in layout.supplies
        if supply.app
        for step in supply.steps
        for each in parents(catalogue, supply.app, step)
        for name in each.names
    }
    assert needed == by_definition


@pytest.mark.parametrize(
    ("apps", "fault"),
    [
        (
            {"make": _maker(job_id="{shop}", identifiers={})},
            "exactly one identifier that is a date, and has none",
        ),
        (
            {
                "make": _maker(
                    job_id="{date}_{till}", identifiers={"date": "date", "till": "date"}, autofill_values={}
                )
            },
            "has several: date, till",
        ),
        ({"make": _maker(autofill_values={})}, "it is undefined which shop they have; write autofill_values"),
        (
            {"make": _maker(), "read": _reader("week", partition="week")},
            "partition: the jobs of make make it by day, like 2024-04-01; leave it out here",
        ),
        (
            {"make": _maker(), "other": {"bash_cmd": "true", "partition": "day", "output_table": "sales"}},
            "output_table: both make and other fill sales; only one app may fill a table",
        ),
        ({"make": _maker(output_table="")}, "'' is not the name of a table"),
        (
            {"make": _maker(partition="day")},
            "job_id, identifiers, autofill_values: an app with partition, output_table is keyed by partition",
        ),
    ],
)
def test_faults(apps: dict[str, Any], fault: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        catalogue_of(apps)
    assert fault in str(raised.value).replace("output_table, partition", "partition, output_table")


def test_a_table_may_have_the_name_of_the_app() -> None:
    catalogue = catalogue_of({"sales": _maker(), "read": _reader("day")})
    assert catalogue.children_of("sales") == ("read",)
    assert [*catalogue["read"].parent_apps] == ["sales"]


def test_the_version_of_a_reader_does_not_change_with_the_jobs_that_make_the_table() -> None:
    versions = {
        catalogue_of({"make": _maker(bash_cmd=command), "read": _reader("day")})["read"].version
        for command in ("true", "false")
    }
    assert len(versions) == 1


def test_a_plan_names_no_version_of_the_table() -> None:
    catalogue = catalogue_of({"make": _maker(), "read": _reader("day")})
    layout = Layout(catalogue, Submission(app="read", start="2024-04-01", end="2024-04-01"), NoPartitions())
    (job,) = [job for supply in layout.supplies for job in layout.jobs(supply)]
    assert without_version(job.name.key)[0] == "2024-04-01"
    assert [str(need.parent) for gate in job.gates for need in gate.needs] == [
        "make/20240401_g",
        "make/20240401_o",
    ]
