"""Conversion of Python values to JSON values, equal to those read from a message or the ledger."""

import math
from collections.abc import Mapping

from sluice.jobs.model.submission import JSON

_WHOLE_MAX = 2**63 - 1


def as_json(value: object) -> JSON:
    """Return a copy made of null, booleans, numbers, texts, lists and mappings with text keys.

    Raises ValueError for any other value, and for values that a ledger cannot store.
    """
    try:
        return _plain(value)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def _plain(value: object) -> JSON:
    match value:
        case None | bool():
            return value
        case int() if abs(value) <= _WHOLE_MAX:
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case str():
            return _text(value)
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case Mapping() if all(isinstance(name, str) for name in value):
            return {_text(name): _plain(inner) for name, inner in value.items()}
        case int():
            raise ValueError(f"{value!r} does not fit into 64 bits")
    raise ValueError(f"{value!r} is no JSON value")


def _text(text: str) -> str:
    if "\0" in text or not _is_unicode(text):
        raise ValueError(f"{text!r} has characters that the ledger cannot store")
    return str(text)


def _is_unicode(text: str) -> bool:
    """Return whether the text has no lone surrogates, which are not characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
