"""Functions that do nothing when they are called, but when the returned object is awaited or iterated."""

import inspect

_KINDS = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)


def is_awaited(function: object) -> bool:
    """Return whether this is such a function, or an object with such a function as its ``__call__``."""
    called = getattr(type(function), "__call__", None)  # noqa: B004  # Existence of the method is not enough.
    return any(is_kind(each) for each in (function, called) for is_kind in _KINDS)
