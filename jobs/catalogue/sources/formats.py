"""Definitions as text: JSON, TOML and YAML are read into one mapping, or add a fault with the line."""

import json
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sluice.jobs.catalogue.errors import At
from sluice.jobs.catalogue.sources.remote import Stored


def read_document(path: Path, at: At) -> dict[str, object]:
    """Return the top-level mapping of a file. If it cannot be read, add a fault and return an empty mapping."""
    try:
        document = _parse(_PARSERS[path.suffix.lower()], path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        at.add(f"the file cannot be read: {error.strerror or error}")
    except UnicodeDecodeError as error:
        at.add(f"the file is not UTF-8 at byte {error.start}")
    except ValueError as error:
        at.add(str(error))
    else:
        return _mapping(document, "file", at)
    return {}


def read_stored(stored: Stored, at: At) -> dict[str, object]:
    """Return the top-level mapping of definitions from a server.

    If there are several texts, each unreadable one is left out and adds a fault.
    """
    if isinstance(stored, str):
        try:
            return _mapping(_parse(_json, stored), "text", at)
        except ValueError as error:
            at.add(str(error))
            return {}
    document: dict[str, object] = {}
    for word, text in stored.items():
        try:
            document[word] = _parse(_json, text)
        except ValueError as error:
            at.inside(word).add(str(error))
    return document


def _mapping(document: object, noun: str, at: At) -> dict[str, object]:
    if isinstance(document, dict):
        return {str(word): value for word, value in document.items()}
    kind = "nothing" if document is None else f"a {type(document).__name__}"
    at.add(f"the {noun} holds {kind}; it has to be a mapping of app names to mappings")
    return {}


def _parse(parse: Callable[[str], object], text: str) -> object:
    """Return the content of the text. Raises ValueError with the position of the error."""
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def _json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None


def _distinct(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the pairs as a mapping. The standard reader would silently drop the first of two equal names."""
    mapping: dict[Any, Any] = {}
    for word, value in pairs:
        if word in mapping:
            raise ValueError(f"{word!r} is written twice in one mapping")
        mapping[word] = value
    return mapping


def _toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML: {error}") from None


def _yaml(text: str) -> object:
    from sluice.jobs.catalogue.sources.yaml_format import read_yaml  # noqa: PLC0415 - PyYAML, for those who write it

    return read_yaml(text)


_PARSERS = {".json": _json, ".toml": _toml, ".yaml": _yaml, ".yml": _yaml}
SUFFIXES = frozenset(_PARSERS)
