"""Apps that read each other's tables, written short."""

from typing import Any

from sluice.jobs.app import App
from sluice.jobs.calendar import Calendar, Unit
from sluice.jobs.partitioning import Partitioning, TableDependency
from tests.planner.definitions import catalogue_of


def begin_s(text: str, unit: Unit = "day") -> int:
    """When the partition of this text begins."""
    return Calendar(unit).start_s(Calendar(unit).read(text))


def partitioning_of(app: App) -> Partitioning:
    assert app.partitioning
    return app.partitioning


def reading(*tables: Any, **words: Any) -> dict[str, Any]:
    """An app that reads these, each a mapping or a name alone."""
    mappings = [each if isinstance(each, dict) else {"table": each} for each in tables]
    return {"table_dependencies": mappings, **words}


def read(words: dict[str, Any], *, own: Any = "day", raw: Any = "day") -> TableDependency:
    """What the mapping for one table comes to, of an app and a table that are counted so."""
    apps = {"raw": {"partition": raw}, "a": reading({"table": "raw", **words}, partition=own)}
    (dependency,) = partitioning_of(catalogue_of(apps).app("a")).dependencies
    return dependency
