"""Tables with a second dimension: their slices, which slices depend on each other, and their versions."""

from typing import Any

import pytest
from msgspec.structs import replace

from sluice.actors.executor.assignments import catalogue_of as stored
from sluice.actors.executor.assignments import kept
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.stored_options import with_connected_values
from sluice.jobs.catalogue.resolve.tables import slices_by, table_of, tables_of
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.partitions import ends_of, with_slice, without_dimension, without_slice
from tests.jobs.catalogue.tables import partitioning_of
from tests.planner.definitions import catalogue_of

STORES = {"store": ["graz", "oslo"]}
EVERY = {"table": "sales", "by": "all"}


def apps(*reads: dict[str, Any], by: Any = STORES, of: Any = STORES) -> dict[str, Any]:
    """Define ``sales``, which reads the external table ``events``, and ``report``, which reads these tables."""
    events = {"table": "events", **({"partition": {"by": of}} if of else {})}
    return {
        "sales": {"bash_cmd": "true", "partition": {"by": by}, "table_dependencies": [events]},
        "report": {"bash_cmd": "true", "table_dependencies": [*reads]},
    }


def read_by(catalogue: Catalogue, table: str) -> list[str]:
    """Return the tables that the app of a table, or of a slice, reads."""
    app = catalogue.fills(table)
    assert app is not None
    return [each.table for each in partitioning_of(app).dependencies]


def test_each_value_is_a_table_of_its_own() -> None:
    catalogue = catalogue_of(apps({"table": "sales"}))
    assert [table.name for table in tables_of(catalogue)] == [
        *("events[store=graz]", "events[store=oslo]", "sales[store=graz]", "sales[store=oslo]", "report"),
    ]
    assert catalogue.slices_of("sales") == ("sales[store=graz]", "sales[store=oslo]")
    assert catalogue.children_of("sales") == ("report",)
    assert table_of(catalogue, "sales[store=oslo]").filled_by == "sales"
    with pytest.raises(BadRequest, match="no slice of it is named"):
        table_of(catalogue, "sales")


def test_slices_of_one_value_belong_together_unless_every_slice_is_read() -> None:
    catalogue = catalogue_of(apps({"table": "sales"}))
    assert read_by(catalogue, "sales[store=oslo]") == ["events[store=oslo]"]
    assert read_by(catalogue, "report") == ["sales[store=graz]", "sales[store=oslo]"]
    every = apps()
    every["sales"]["table_dependencies"][0]["by"] = "all"
    assert read_by(catalogue_of(every), "sales[store=oslo]") == ["events[store=graz]", "events[store=oslo]"]


def test_the_order_of_the_values_and_other_dimensions_do_not_matter() -> None:
    catalogue = catalogue_of(apps(of={"store": ["oslo", "graz"]}))
    assert read_by(catalogue, "sales[store=oslo]") == ["events[store=oslo]"]
    catalogue = catalogue_of(apps(of={"region": ["north", "south"]}))
    assert read_by(catalogue, "sales[store=oslo]") == ["events[region=north]", "events[region=south]"]


def test_each_slice_reads_the_only_slice_of_a_table_without_the_dimension() -> None:
    assert read_by(catalogue_of(apps(of=None)), "sales[store=oslo]") == ["events"]


def test_it_is_enough_that_one_reader_defines_the_dimension_of_an_external_table() -> None:
    catalogue = catalogue_of(apps({"table": "events"}))
    assert read_by(catalogue, "report") == ["events[store=graz]", "events[store=oslo]"]


def test_other_values_do_not_change_versions_but_another_dimension_does() -> None:
    def versions(by: Any, of: Any = STORES) -> list[str]:
        return [app.version for app in catalogue_of(apps({"table": "sales"}, by=by, of=of)).values()]

    more = {"store": ["graz", "oslo", "turku"]}
    assert versions(STORES) == versions(more, more)
    assert not {*versions(STORES)} & {*versions(None, None)}
    assert not {*versions(STORES)} & {*versions({"shop": ["graz", "oslo"]})}


def test_an_app_without_any_dimension_is_its_only_slice() -> None:
    app = catalogue_of(apps(by=None, of=None))["report"]
    assert app.slices[0] is app
    assert len(app.slices) == 1


def test_a_stored_definition_has_the_same_slices() -> None:
    catalogue = catalogue_of(apps({"table": "sales"}))
    for name in ("sales", "report"):
        made = kept(catalogue[name])
        assert made is not None
        alone = stored([made], {})[name]
        assert [partitioning_of(each).table for each in alone.slices] == [
            partitioning_of(each).table for each in catalogue[name].slices
        ]
        assert [each.table for each in partitioning_of(alone.slices[0]).dependencies] == [
            each.table for each in partitioning_of(catalogue[name].slices[0]).dependencies
        ]


def test_stored_definitions_have_the_same_slices_together() -> None:
    catalogue = catalogue_of(apps({"table": "sales"}, {"table": "events"}))
    together = stored([made for app in catalogue.values() if (made := kept(app))], {})
    assert [each.name for each in tables_of(together)] == [each.name for each in tables_of(catalogue)]
    assert read_by(together, "report") == read_by(catalogue, "report")


@pytest.mark.parametrize("newer", ["sales", "report"])
def test_connected_tables_of_stored_definitions_have_all_values_of_one_another(newer: str) -> None:
    """``total`` reads every slice of ``sales``, so its own stores are other ones."""
    more, areas = {"store": ["graz", "oslo", "turku"]}, {"store": ["north", "south"]}

    def kept_with(values: Any) -> dict[str, Any]:
        total = {"bash_cmd": "true", "partition": {"by": areas}, "table_dependencies": [EVERY]}
        defined = apps({"table": "events"}, by=values, of=values) | {"total": total}
        return {name: kept(app) for name, app in catalogue_of(defined).items()}

    mixed = {**kept_with(STORES), newer: kept_with(more)[newer]}
    options = with_connected_values([each.options for each in mixed.values()])
    found = stored([replace(each, options=of) for each, of in zip(mixed.values(), options, strict=True)], {})
    assert found.slices_of("sales") == tuple(f"sales[store={each}]" for each in more["store"])
    assert found.slices_of("events") == tuple(f"events[store={each}]" for each in more["store"])
    assert found.slices_of("total") == tuple(f"total[store={each}]" for each in areas["store"])


def test_slices_are_selected_by_their_values() -> None:
    catalogue = catalogue_of(apps({"table": "sales"}))
    assert slices_by(catalogue, "sales", {"store": "oslo"}) == ("sales[store=oslo]",)
    assert slices_by(catalogue, "sales", {"store": ["oslo", "graz"]}) == catalogue.slices_of("sales")
    assert slices_by(catalogue, "sales", None) == catalogue.slices_of("sales")
    assert slices_by(catalogue, "report", None) == ("report",)


@pytest.mark.parametrize(
    ("table", "by", "what"),
    [
        ("sales", {"store": "oslp"}, "there is no store 'oslp'; its values: graz, oslo"),
        ("sales", {"store": []}, "there is no store without a value"),
        ("sales", {"shop": "oslo"}, "its second dimension is store, not shop"),
        ("sales", {}, "its second dimension is store, not empty"),
        ("report", {"store": "oslo"}, "report has no second dimension"),
        ("nothing", {"store": "oslo"}, "No app fills or reads a table 'nothing'"),
    ],
)
def test_an_unknown_slice_is_refused(table: str, by: Any, what: str) -> None:
    with pytest.raises(BadRequest, match=what):
        slices_by(catalogue_of(apps({"table": "sales"})), table, by)


def test_texts_of_slices_can_be_read_again() -> None:
    assert without_slice(with_slice("2024-04-01..2024-04-07", "graz")) == ("graz", "2024-04-01..2024-04-07")
    assert without_slice("2024-04-01") == (None, "2024-04-01")
    assert ends_of("graz/2024-04-01..2024-04-07@3f9c21ab") == ("2024-04-01", "2024-04-07")
    assert without_dimension("sales[store=graz]") == "sales"
    assert without_dimension("sales") == "sales"
