"""Jobs with keys that read tables: relation of jobs and partitions, plans, and faults of definitions."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.tables import table_of
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import read_span, without_version
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import EntryState
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.choose import keyspace_of
from sluice.planner.keyspaces.partitions.daily_jobs import DailyJobs
from sluice.planner.keyspaces.partitions.partition_relation import (
    Relatives,
    children,
    parents,
    parents_of_job,
)
from sluice.planner.preview.table_preview import TablePreview, preview_tables
from tests.planner.no_partitions import NoPartitions
from tests.world import catalogue_of

_NOW = datetime(2024, 5, 1, tzinfo=UTC)
#: Number of 2024-03-20.
_BEGIN = 19_802
_KEYED: dict[str, Any] = {
    "bash_cmd": "true",
    "job_id": "{date}_{shop}",
    "identifiers": {"date": "date"},
    "autofill_values": {"shop": ["g", "o"]},
}
_AROUND = {"hour": (_BEGIN * 24, 24 * 14), "day": (_BEGIN, 14), "week": (2829, 3), "month": (649, 3)}
_UNITS = st.sampled_from([*_AROUND])
_READINGS = st.fixed_dictionaries(
    {"start_offset": st.integers(0, 3)},
    optional={"end_offset": st.integers(0, 2), "start_cutoff": st.just("2024-03-22")},
)
_FILTERS = st.sampled_from([{}, {"valid_if_or": {"shop": ["o"]}}])


def _keyed(table: str, reading: dict[str, Any], **words: Any) -> dict[str, Any]:
    return {**_KEYED, "table_dependencies": [{"table": table, **reading}], **words}


def _filled(unit: str, table: str, reading: dict[str, Any], size: int = 1) -> dict[str, Any]:
    read = [{"table": table, **reading}]
    return {"bash_cmd": "true", "partition": unit, "step_size": size, "table_dependencies": read}


@given(_UNITS, _READINGS, _FILTERS)
def test_parents_and_children_are_one_relation(
    unit: str, reading: dict[str, Any], filter_: dict[str, Any]
) -> None:
    apps = {"make": {"bash_cmd": "true", "partition": unit}, "read": _keyed("make", reading, **filter_)}
    catalogue = catalogue_of(apps)
    first, length = _AROUND[unit]
    calendar = Calendar(unit)  # type: ignore[arg-type] # the unit is drawn
    inner = range(first + length // 3, first + length)
    jobs = [
        name for day in range(_BEGIN, _BEGIN + 60) for name in DailyJobs(catalogue, catalogue["read"]).on(day)
    ]
    upwards = {
        (parent.key, name)
        for name in jobs
        for each in parents_of_job(catalogue, name)
        for parent in each.names
    }
    table = table_of(catalogue, "make")
    downwards = {
        (calendar.write(made), name)
        for made in inner
        for each in children(catalogue, table, Span(made, made))
        for name in each.names
    }
    texts = {*map(calendar.write, inner)}
    assert {each for each in upwards if each[0] in texts} == {each for each in downwards if each[1] in jobs}


class _Closure:
    """All jobs with keys and partitions that a job or a partition is made from, by the definitions alone."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.keyed: set[JobName] = set()
        self.partitions: set[tuple[str, int]] = set()

    def add(self, name: JobName) -> None:
        if name in self.keyed:
            return
        self.keyed.add(name)
        app = self._catalogue[name.app]
        for gate in keyspace_of(app, self._catalogue).gates(app, name.key):
            for need in gate.needs:
                self.add(need.parent)
        for each in parents_of_job(self._catalogue, name):
            self._add_all(each)

    def add_partition(self, app: str, partition: int) -> None:
        if (app, partition) not in self.partitions:
            self.partitions.add((app, partition))
            for each in parents(self._catalogue, self._catalogue[app], Span(partition, partition)):
                self._add_all(each)

    def _add_all(self, each: Relatives) -> None:
        assert each.span is not None
        for partition in range(each.span.first, each.span.last + 1):
            if each.daily_jobs is None:
                self.add_partition(each.maker, partition)
                continue
            for name in each.daily_jobs.of_day(partition):
                self.add(name)


def _planned(catalogue: Catalogue, submission: Submission) -> TablePreview:
    return preview_tables(catalogue, submission, NoPartitions(), lambda names: {}, _NOW)


@given(
    st.sampled_from(["price", "mail", "roll"]), st.sampled_from(["day", "week"]), _READINGS, st.integers(1, 3)
)
def test_a_plan_has_exactly_the_jobs_that_the_definitions_demand(
    app: str, unit: str, reading: dict[str, Any], size: int
) -> None:
    catalogue = catalogue_of(
        {
            "load": {**_KEYED, "output_table": "sales"},
            "rates": _filled(unit, "sales", reading, size),
            "price": _keyed("rates", reading),
            "mail": {**_KEYED, "depends_on": {"app_name": ["price"]}},
            "roll": _filled("day", "price", reading),
        }
    )
    asked = Submission(app=app, start="2024-04-01", end="2024-04-03")
    found = _planned(catalogue, asked)
    closure = _Closure(catalogue)
    for day in range(_BEGIN + 12, _BEGIN + 15):
        if app == "roll":
            closure.add_partition("roll", day)
        else:
            for name in DailyJobs(catalogue, catalogue["price"]).on(day):
                closure.add(JobName(app, name.key))
    keyed = found.keyed.jobs if found.keyed else ()
    pushed = found.keyed.pushed if found.keyed else ()
    wanted = {job.name for job in keyed if job.standing is EntryState.WANTED and job.name not in pushed}
    assert wanted == closure.keyed
    steps = [job for supply in found.layout.supplies for job in found.layout.jobs(supply)]
    made = {(job.name.app, partition) for job in steps for partition in _span_of(catalogue, job.name)}
    assert made == closure.partitions
    entered = {job.name for job in (*keyed, *steps)}
    assert {need.parent for job in (*keyed, *steps) for gate in job.gates for need in gate.needs} <= entered


def test_a_job_needs_the_last_partition_of_a_cumulative_table() -> None:
    apps = {"rates": _filled("day", "sales", {}), "price": _keyed("rates", {"cumulative": True})}
    catalogue = catalogue_of(apps)
    found = _planned(catalogue, Submission(app="price", key="20240402_g"))
    step = JobName("rates", f"2024-04-02@{catalogue['rates'].version}")
    assert step in {job.name for supply in found.layout.supplies for job in found.layout.jobs(supply)}
    assert found.keyed
    (job,) = found.keyed.jobs
    assert [need.parent for gate in job.gates for need in gate.needs] == [step]


def _span_of(catalogue: Catalogue, name: JobName) -> range:
    filling = catalogue[name.app].filling
    assert filling
    span = read_span(filling.calendar, without_version(name.key)[0])
    return range(span.first, span.last + 1)


@pytest.mark.parametrize(
    ("apps", "fault"),
    [
        ({"read": _keyed("t", {}, job_id="{shop}", identifiers={})}, "has none"),
        ({"read": _keyed("t", {}, autofill_values={})}, "it is undefined which shop they have"),
        (
            {"read": _keyed("t", {}), "t": {**_KEYED}},
            "no app fills a table of this name; the app t fills none",
        ),
        (
            {"read": _keyed("t", {}), "t": _filled("day", "read", {})},
            "the apps depend on each other in a circle: read -> t -> read",
        ),
        ({"read": _keyed("t", {}, step_size=2)}, "is keyed by partition and has no keys of its own"),
    ],
)
def test_faults(apps: dict[str, Any], fault: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        catalogue_of(apps)
    assert fault in str(raised.value)


def test_the_definition_of_a_reader_changes_with_its_readings() -> None:
    digests = {
        catalogue_of({"read": _keyed("t", {"start_offset": days})})["read"].digest for days in (1, 2, 2)
    }
    assert len(digests) == 2


def test_a_step_needs_jobs_of_which_the_filter_rejects_none_of_a_day() -> None:
    apps = {
        "load": {**_KEYED, "output_table": "sales", "valid_if_or": {"date": ["2024-04-01"]}},
        "rates": _filled("day", "sales", {}),
        "price": _keyed("rates", {}),
    }
    with pytest.raises(BadRequest, match="No job of load on 2024-04-02 passes the app's filter"):
        _planned(catalogue_of(apps), Submission(app="price", key="20240402_g"))
