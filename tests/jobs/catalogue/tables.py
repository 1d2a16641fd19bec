"""Short ways to define apps that read each other's tables."""

from typing import Any

from sluice.jobs.keys.calendar import Calendar, Unit
from sluice.jobs.keys.partitions import Partitioning, TableDependency
from sluice.jobs.model.app import App
from tests.planner.definitions import catalogue_of


def begin_s(text: str, unit: Unit = "day") -> int:
    """Return the start of the partition that this text names, in seconds since 1970."""
    return Calendar(unit).start_s(Calendar(unit).read(text))


def partitioning_of(app: App) -> Partitioning:
    assert app.partitioning
    return app.partitioning


def reading(*tables: Any, **words: Any) -> dict[str, Any]:
    """Define an app that reads these tables, each given as a mapping or by its name alone."""
    mappings = [each if isinstance(each, dict) else {"table": each} for each in tables]
    return {"table_dependencies": mappings, **words}


def read(words: dict[str, Any], *, own: Any = "day", raw: Any = "day") -> TableDependency:
    """Return the dependency that this mapping for one table results in. ``own`` and ``raw`` are the partition units of
    the app and of the table.
    """
    apps = {"raw": {"partition": raw}, "a": reading({"table": "raw", **words}, partition=own)}
    (dependency,) = partitioning_of(catalogue_of(apps).app("a")).dependencies
    return dependency
