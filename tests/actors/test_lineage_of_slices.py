"""Lineage events of tables with a second dimension: they name whole tables, and the slice of each partition."""

from collections.abc import Sequence
from typing import Any

from sluice.actors.executor.assignments import assign
from sluice.actors.telemetry.openlineage.events import PARTITIONS_MAX, Dataset, LineageNames
from sluice.jobs.keys.partitions import with_version
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.world import catalogue_of

_BY = {"store": ["graz", "oslo"]}
APPS: dict[str, Any] = {
    "sales": {
        "bash_cmd": "true",
        "partition": {"by": _BY},
        "table_dependencies": [{"table": "events", "partition": {"by": _BY}}, {"table": "rates"}],
    },
    "top": {
        "bash_cmd": "true",
        "partition": {"by": _BY},
        "table_dependencies": [{"table": "sales", "by": "all"}],
    },
    "total": {"bash_cmd": "true", "table_dependencies": [{"table": "sales"}]},
    "mail": {
        "bash_cmd": "true",
        "job_id": "{date}",
        "identifiers": {"date": "date"},
        "table_dependencies": [{"table": "sales"}],
    },
}
NAMES = LineageNames("jobs", "tables")
_DAY = 19814


def _inputs(
    app: str, key: str, *, apps: dict[str, Any] = APPS, partitions: Sequence[int] | None = (_DAY,)
) -> dict[str, Dataset]:
    """Return the inputs of a job by their names."""
    found = catalogue_of(apps).app(app)
    claimed = ClaimedJob(
        id=1,
        app=app,
        key=with_version(key, found.version) if partitions else key,
        round=0,
        claim=1,
        kwargs=None,
        overrides=None,
        timeout_s=None,
        handle=None,
        partitions=[*partitions] if partitions else None,
    )
    return {each.name: each for each in NAMES.inputs(assign(found, claimed))}


def _read(app: str, key: str, **words: Any) -> dict[str, Any]:
    """Return the partitions that a job reads, by table."""
    return {name: _listed(each) for name, each in _inputs(app, key, **words).items()}


def _listed(dataset: Dataset) -> dict[str, Any]:
    """Return the dimensions of each partition that an event lists, by its identifier."""
    facets = dataset.input_facets or dataset.output_facets
    (condition,) = (each for name, each in facets["subset"].items() if name.endswith("Condition"))
    return {each["identifier"]: each["dimensions"] for each in condition["partitions"]}


_OSLO = {"oslo/2024-04-01": {"day": "2024-04-01", "store": "oslo"}}
_BOTH = {"graz/2024-04-01": {"day": "2024-04-01", "store": "graz"}} | _OSLO


def test_a_job_of_a_slice_reads_its_slice_of_a_table_or_every_slice() -> None:
    assert _read("sales", "oslo/2024-04-01") == {
        "events": _OSLO,
        "rates": {"2024-04-01": {"day": "2024-04-01"}},
    }
    assert _read("top", "oslo/2024-04-01") == {"sales": _BOTH}
    assert _read("total", "2024-04-01") == {"sales": _BOTH}
    assert _read("mail", "20240401", partitions=None) == {"sales": _BOTH}


def test_a_job_of_a_slice_makes_partitions_of_its_slice() -> None:
    sales = catalogue_of(APPS).app("sales")
    for table in ("sales", "sales[store=oslo]"):
        (made,) = NAMES.outputs(sales, table, with_version("oslo/2024-04-01", sales.version))
        assert (made.name, _listed(made)) == ("sales", _OSLO)


def test_partitions_of_all_slices_together_are_limited() -> None:
    """A range with too many partitions is reported as its table alone."""
    days = [{"table": "sales", "start_offset": PARTITIONS_MAX // 2}]
    apps = APPS | {"total": APPS["total"] | {"table_dependencies": days}}
    assert _inputs("total", "2024-04-01", apps=apps)["sales"].input_facets == {}
