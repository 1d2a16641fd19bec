"""Result of a run: the value that a function returned, as JSON.

A value that cannot be encoded fails the job at once, because another round would return such a value again.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.request_limits import DEPTH_MAX, is_deeper
from sluice.jobs.model.results import RESULT_BYTES_MAX
from sluice.jobs.runners.run_outcome import failed
from sluice.jobs.text.units import size_text

#: Errors of the encoder: an unknown type, a lone surrogate in a text, and a value that contains itself.
_UNENCODABLE = (TypeError, ValueError, RecursionError, OverflowError)
#: Depth to which the position of a value that cannot be encoded is searched.
_DEPTH_MAX = 50


def returned(value: object) -> Outcome:
    """Return the outcome of a function that has returned this value. None is no result."""
    if value is None:
        return Outcome(ending=Ending.DONE)
    try:
        text = msgspec.json.encode(value)
    except _UNENCODABLE as error:
        return replace(failed(f"Its result cannot be stored: {_fault(value, error)}"), final=True)
    if reason := _excess(text):
        return replace(failed(f"Its result cannot be stored: {reason}"), final=True)
    return Outcome(ending=Ending.DONE, result_json=None if text == b"null" else text.decode())


def _excess(text: bytes) -> str:
    """Return the limit that an encoded value exceeds, or ""."""
    if len(text) > RESULT_BYTES_MAX:
        size, limit = size_text(len(text)), size_text(RESULT_BYTES_MAX)
        return f"it has {size} as JSON, and the limit is {limit}. Store the data elsewhere, and return where it is."
    if is_deeper(text, DEPTH_MAX):
        return f"it nests objects and lists deeper than {DEPTH_MAX} levels, and readers could not decode it."
    return ""


def _fault(value: object, error: Exception) -> str:
    """Return which part of the value cannot be encoded, and why."""
    path, part, error = _located(value, error)
    if isinstance(error, RecursionError):
        return f"it contains itself, or is nested too deeply, at {path}."
    if isinstance(error, TypeError) and not isinstance(part, Mapping):
        kind = type(part)
        return f"the value at {path} has the type {kind.__module__}.{kind.__qualname__}, which JSON cannot express."
    return f"the value at {path}: {error}."


def _located(value: object, error: Exception) -> tuple[str, object, Exception]:
    """Return the position of the innermost part that cannot be encoded, the part, and its error."""
    path = "$"
    for _ in range(_DEPTH_MAX):
        for step, part in _parts(value):
            if (inner := _error_of(part)) is not None:
                path, value, error = path + step, part, inner
                break
        else:
            break
    return path, value, error


def _error_of(value: object) -> Exception | None:
    try:
        msgspec.json.encode(value)
    except _UNENCODABLE as error:
        return error
    return None


def _parts(value: Any) -> Iterable[tuple[str, object]]:
    """Yield the parts of a value that msgspec encodes as an object or an array, each with its position."""
    if isinstance(value, Mapping):
        yield from ((f"[{name!r:.80}]", part) for name, part in value.items())
    elif isinstance(value, list | tuple | Set):
        yield from ((f"[{place}]", part) for place, part in enumerate(value))
    elif isinstance(value, msgspec.Struct):
        yield from _attributes(value, value.__struct_fields__)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _attributes(value, [each.name for each in fields(value)])


def _attributes(value: object, names: Iterable[str]) -> Iterable[tuple[str, object]]:
    return ((f".{name}", getattr(value, name)) for name in names if hasattr(value, name))
