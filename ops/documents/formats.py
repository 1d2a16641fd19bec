"""Formats in which a command writes its document: JSON, YAML, or only the names of its rows."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

#: Fields that name a row, in the order in which they are tried. A job is named by its app and key, like ``report/7``.
_NAMES = (("id",), ("app", "key"), ("submission",), ("table",), ("name",), ("branch",), ("app",))


def as_json(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def as_yaml(document: object) -> str:
    from sluice.jobs.catalogue.sources.yaml_format import write_yaml  # noqa: PLC0415 - PyYAML, only where it is used

    return write_yaml(msgspec.json.decode(msgspec.json.encode(document)))


def as_names(document: object) -> str:
    """Return the names of the rows of a document, one per line. A document without rows is one row."""
    rows = _rows(msgspec.json.decode(msgspec.json.encode(document)))
    return "".join(f"{name}\n" for row in rows if (name := _name(row)) is not None)


#: Formats for programs, by their names.
FORMATS: Mapping[str, Callable[[object], str]] = {"json": as_json, "yaml": as_yaml, "name": as_names}
#: Format for people, without shortened lines and lists.
WIDE = "wide"


def _rows(document: Any) -> Iterator[Any]:
    """Yield the rows: the entries of the document, or of its first field that is a list of objects."""
    if isinstance(document, Mapping):
        lists = (each for each in document.values() if isinstance(each, list))
        found = next((each for each in lists if any(isinstance(row, Mapping) for row in each)), None)
        document = [document] if found is None or _name(document) is not None else found
    yield from document if isinstance(document, list) else ()


def _name(row: Any) -> str | None:
    if isinstance(row, str):
        return row
    for fields in _NAMES:
        if isinstance(row, Mapping) and all(isinstance(row.get(each), str) for each in fields):
            return "/".join(row[each] for each in fields)
    return None
