"""The app that fills each table that other apps read, and the dependencies that result."""

import pytest

from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import Offset
from tests.jobs.catalogue.sources import faults, write
from tests.jobs.catalogue.tables import begin_s, partitioning_of, read, reading
from tests.planner.definitions import catalogue_of

pytestmark = pytest.mark.usefixtures("here")


def _pipeline() -> Catalogue:
    return catalogue_of(
        {
            "join": reading("group_by", "raw"),
            "group_by": reading({"table": "lake.staging", "start_offset": 90}, step_size=7),
            "staging": reading({"table": "raw", "end_offset": 1}, output_table="lake.staging"),
        }
    )


def test_the_producer_and_the_readers_of_a_table_are_known() -> None:
    catalogue = _pipeline()
    filler = catalogue.fills("lake.staging")
    assert filler is catalogue.app("staging")
    assert (catalogue.fills("staging"), catalogue.fills("raw")) == (None, None)
    assert [(app.name, each.start_offset) for app, each in catalogue.readers_of("lake.staging")] == [
        ("group_by", Offset(90))
    ]
    assert [(app.name, each.end_offset) for app, each in catalogue.readers_of("raw")] == [
        ("join", Offset()),
        ("staging", Offset(1)),
    ]
    assert catalogue.readers_of("nobody's") == ()
    assert dict(catalogue.externals) == {"raw": Calendar()}


def test_tables_determine_the_parents_and_children_of_apps() -> None:
    catalogue = _pipeline()
    assert list(catalogue.app("join").parent_apps) == ["group_by"]
    assert catalogue.children_of("staging") == ("group_by",)
    assert catalogue.children_of("group_by") == ("join",)
    assert catalogue.children_of("join") == ()
    assert catalogue.rank("staging") < catalogue.rank("group_by") < catalogue.rank("join")
    assert catalogue.dependents_of("staging") == ()
    assert [catalogue.alternatives(name) for name in catalogue] == [(), (), ()]


def test_the_calendar_of_a_table_is_that_of_its_producer() -> None:
    dependency = read({}, own="month", raw={"unit": "hour", "format": "%Y%m%d%H"})
    assert (dependency.calendar, dependency.producer) == (Calendar("hour", "%Y%m%d%H"), "raw")
    assert read({"partition": "hour"}, raw={"unit": "hour", "format": "%Y%m%d%H"}) == read(
        {}, raw={"unit": "hour", "format": "%Y%m%d%H"}
    )


def test_the_calendar_of_an_external_table_is_set_by_its_readers() -> None:
    apps = {
        "a": reading({"table": "raw", "partition": {"format": "%Y%m%d"}}),
        "b": reading("raw", "hours", partition={"format": "%Y%m%d"}),
        "c": reading({"table": "hours", "partition": {"format": "%Y%m%d"}, "offset": 1}, partition="hour"),
    }
    catalogue = catalogue_of(apps)
    assert dict(catalogue.externals) == {"raw": Calendar("day", "%Y%m%d"), "hours": Calendar("day", "%Y%m%d")}
    assert [each.producer for app in catalogue.values() for each in partitioning_of(app).dependencies] == [
        None
    ] * 4


def test_the_first_partition_of_an_external_table_may_be_set_by_any_reader() -> None:
    apps = {
        "a": reading({"table": "raw", "offset": 1}, partition="week"),
        "b": reading({"table": "raw", "partition": {"unit": "week", "first": "2024-W14"}}),
        "c": reading({"table": "hours", "partition": {"first": "2024-04-01-06"}}, partition="hour"),
    }
    catalogue = catalogue_of(apps)
    dependencies = [each for app in catalogue.values() for each in partitioning_of(app).dependencies]
    assert [each.first_s for each in dependencies] == [
        begin_s("2024-W14", "week"),
        begin_s("2024-W14", "week"),
        begin_s("2024-04-01-06", "hour"),
    ]
    assert dict(catalogue.externals) == {"raw": Calendar("week"), "hours": Calendar("hour")}


def test_the_first_partition_of_a_table_changes_no_version() -> None:
    early, late = (
        catalogue_of({"a": reading({"table": "raw", "partition": {"first": first}})}).app("a").version
        for first in ("2024-04-01", "2024-05-01")
    )
    assert early == late


def test_the_first_partition_of_an_app_limits_its_readers() -> None:
    dependency = read({"start_offset": 6}, raw={"unit": "day", "first": "2024-04-01"})
    assert dependency.first_s == begin_s("2024-04-01")


def test_an_app_may_read_one_table_in_several_ways() -> None:
    ways = [{"table": "raw", "offset": 90}, {"table": "raw"}, {"table": "raw", "end_cutoff": "2024-04-01"}]
    catalogue = catalogue_of({"raw": {"step_size": 1}, "a": reading(*ways)})
    assert [each.start_offset for each in partitioning_of(catalogue.app("a")).dependencies] == [
        Offset(90),
        Offset(),
        Offset(),
    ]
    assert catalogue.children_of("raw") == ("a",)
    assert len(catalogue.readers_of("raw")) == 3


def test_an_app_keyed_by_partition_is_no_possible_parent_of_a_function() -> None:
    two_way = {"job_id": "{day}", "depends_on": {"_func": "tests.planner.two_ways:Weeks"}}
    catalogue = catalogue_of({"a": two_way, "b": {"step_size": 1}})
    (alternative,) = catalogue.alternatives("a")
    assert [*alternative.bridges[0].parents] == ["a"]


def test_tables_from_several_sources_are_linked() -> None:
    one = write("one.yaml", "a: {table_dependencies: [{table: t}]}")
    other = write("other.yaml", "b: {output_table: t}")
    assert list(load([one, other]).app("a").parent_apps) == ["b"]
    third = write("third.yaml", "c: {output_table: t}")
    assert faults(one, other, third) == [
        ("third.yaml", "c", "output_table: both b and c fill t; only one app may fill a table")
    ]
