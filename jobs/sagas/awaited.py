"""Functions that do nothing when they are called, but later, when somebody awaits or goes through what they return."""

import inspect

_KINDS = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)


def is_awaited(function: object) -> bool:
    """Whether this is one, or an object that is called as one."""
    called = getattr(type(function), "__call__", None)  # noqa: B004  # What it is called as, not whether.
    return any(is_kind(each) for each in (function, called) for is_kind in _KINDS)
