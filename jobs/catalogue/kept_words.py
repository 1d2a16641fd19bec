"""A definition as any process can read it again: in JSON, with its function by the path of a module.

Only apps that are keyed by partition are kept so, for only their jobs belong to a version.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any

from sluice.jobs.catalogue.draft import Draft
from sluice.jobs.json_value import as_json
from sluice.jobs.partitioning import Partitioning
from sluice.jobs.submission import JSON


def kept_words(draft: Draft) -> dict[str, JSON] | None:
    """None where it cannot be said so: a function that lies in a file by itself is found on this machine alone."""
    path = draft.work.function_path
    if draft.partitioning is None or (path and _is_of_file(path)) or _is_of_file(draft.work.job_type):
        return None
    words = {**draft.words, **_work(draft), "output_table": draft.partitioning.table}
    # What undoes it is no part of it, and no app of a branch.
    words.pop("compensate", None)
    if "table_dependencies" in words:
        words["table_dependencies"] = _dependencies(words["table_dependencies"], draft.partitioning)
    try:
        return dict(as_json(_timeless(words)))
    except ValueError:
        return None


def _work(draft: Draft) -> dict[str, object]:
    if draft.work.manager is not None:
        return {"job_type": draft.work.job_type}
    return {"function": draft.work.function_path} if draft.work.function_path else {}


def _dependencies(written: Any, partitioning: Partitioning) -> list[dict[str, object]]:
    """With the calendar of each table, which is known here even where another app fills it."""
    return [
        {**mapping, "partition": {"unit": each.calendar.unit, **_format(each.calendar.format)}}
        for mapping, each in zip(written, partitioning.dependencies, strict=True)
    ]


def _format(text: str) -> dict[str, str]:
    return {"format": text} if text else {}


def _timeless(value: object) -> object:
    """YAML and TOML have days and moments, JSON has not."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _timeless(inner) for name, inner in value.items()}
    return [_timeless(inner) for inner in value] if isinstance(value, list | tuple) else value


def _is_of_file(path: str) -> bool:
    return ".py:" in path
