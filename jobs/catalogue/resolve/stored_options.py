"""Definitions in a form that any process can read again: JSON, with the function as a module path.

Only apps that are keyed by partition are kept so, because only their jobs belong to a version.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from sluice.jobs.catalogue.fields.draft import Draft
from sluice.jobs.keys.partitions import Partitioning, TableDependency
from sluice.jobs.model.submission import JSON
from sluice.jobs.text.json_value import as_json


def kept_words(draft: Draft) -> dict[str, JSON] | None:
    """Return the options, or None if they cannot be kept.

    A function in a single file, for example, can only be found on this machine.
    """
    path = draft.work.function_path
    if draft.partitioning is None or (path and _is_of_file(path)) or _is_of_file(draft.work.job_type):
        return None
    words = {**draft.words, **_work(draft), "output_table": draft.partitioning.table}
    # The app that undoes it is not part of it, nor an app of its branch.
    words.pop("compensate", None)
    if "table_dependencies" in words:
        words["table_dependencies"] = _dependencies(words["table_dependencies"], draft.partitioning)
    try:
        return dict(as_json(_timeless(words)))
    except ValueError:
        return None


def with_connected_values(definitions: Sequence[Mapping[str, JSON]]) -> list[Mapping[str, JSON]]:
    """Return the stored options of apps, so that tables whose slices belong together have the same values.

    Values are not part of a version. So the definitions of a branch may have been stored at different times, with
    different values. Each table gets all values of the tables that are connected with it.
    """
    tables = _ConnectedTables()
    for options in definitions:
        tables.add(options)
    return [tables.applied(options) for options in definitions]


class _ConnectedTables:
    """Values of second dimensions, by groups of tables whose slices belong together."""

    def __init__(self) -> None:
        #: Group of each table: its tables, and all of their values in order.
        self._groups: dict[str, tuple[set[str], dict[str, None]]] = {}

    def add(self, options: Mapping[str, Any]) -> None:
        """Add the tables of an app. A table that it reads slice by slice has the values of its own table."""
        table, own = options["output_table"], _dimension(options)
        self._note(table, own)
        for dependency in options.get("table_dependencies", ()):
            read = _dimension(dependency)
            self._note(dependency["table"], read)
            if own and read and own.keys() == read.keys() and dependency.get("by") != "all":
                self._join(table, dependency["table"])

    def applied(self, options: Mapping[str, Any]) -> Mapping[str, JSON]:
        """Return the options with the values of each table's group."""
        found = {**options, **self._of(options["output_table"], options)}
        if reads := options.get("table_dependencies"):
            found["table_dependencies"] = [{**each, **self._of(each["table"], each)} for each in reads]
        return found

    def _note(self, table: str, dimension: Mapping[str, Sequence[str]]) -> None:
        _, values = self._groups.setdefault(table, ({table}, {}))
        for of in dimension.values():
            values.update(dict.fromkeys(of))

    def _join(self, one: str, other: str) -> None:
        (tables, values), (others, more) = self._groups[one], self._groups[other]
        joined = (tables | others, values | more)
        self._groups.update(dict.fromkeys(joined[0], joined))

    def _of(self, table: str, options: Mapping[str, Any]) -> dict[str, JSON]:
        """Return the option ``partition`` with the values of the table's group, if it has a second dimension."""
        _, values = self._groups[table]
        by: dict[str, JSON] = {name: [*values] for name in _dimension(options)}
        return {"partition": {**options["partition"], "by": by}} if by else {}


def _dimension(options: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """Return the values of the second dimension by its name. Empty for a table without it."""
    partition = options.get("partition")
    return (partition.get("by") or {}) if isinstance(partition, Mapping) else {}


def _work(draft: Draft) -> dict[str, object]:
    if draft.work.manager is not None:
        return {"job_type": draft.work.job_type}
    return {"function": draft.work.function_path} if draft.work.function_path else {}


def _dependencies(written: Any, partitioning: Partitioning) -> list[dict[str, object]]:
    """Return the dependencies with the calendar and the second dimension of each table, and the first partition of
    external tables. They are known here, even if another app defines them.
    """
    return [
        {
            **mapping,
            "partition": {
                "unit": each.calendar.unit,
                **_format(each.calendar.format),
                **_first(each),
                **_by(each),
            },
        }
        for mapping, each in zip(written, partitioning.dependencies, strict=True)
    ]


def _first(dependency: TableDependency) -> dict[str, str]:
    if dependency.producer or dependency.first_s is None:
        return {}
    return {"first": dependency.calendar.write(dependency.calendar.at(dependency.first_s))}


def _by(dependency: TableDependency) -> dict[str, object]:
    """Return the second dimension of the table, even if another app fills it."""
    return {"by": {dependency.by.name: [*dependency.by.values]}} if dependency.by else {}


def _format(text: str) -> dict[str, str]:
    return {"format": text} if text else {}


def _timeless(value: object) -> object:
    """Return the value with dates as texts. YAML and TOML have dates and times, JSON does not."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _timeless(inner) for name, inner in value.items()}
    return [_timeless(inner) for inner in value] if isinstance(value, list | tuple) else value


def _is_of_file(path: str) -> bool:
    return ".py:" in path
