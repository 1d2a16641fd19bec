"""Annotations of users' functions, evaluated one by one."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def evaluated(function: Callable[..., Any], annotation: object) -> object:
    """Return an annotation of a function. A text is evaluated. If that fails, the text itself is returned.

    Each annotation is evaluated by itself, because others may name types that are imported for type checkers only.
    """
    if not isinstance(annotation, str):
        return annotation
    names = getattr(inspect.unwrap(function), "__globals__", {})
    holder = type("Holder", (), {"__annotations__": {"it": annotation}})
    try:
        return get_type_hints(holder, globalns=names, include_extras=True)["it"]
    except Exception:  # An annotation is user code, and no error in it prevents a call of the function.
        return annotation
