"""Context that the flights of a process share, created by the first flight."""

from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary


class _Made:
    """Result of one function, created once. Concurrent callers wait for it; callers of other functions do not."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made: tuple[Any] | None = None

    def value(self, make: Callable[[], Any]) -> Any:
        with self._lock:
            if self._made is None:
                self._made = (make(),)
            return self._made[0]


_MADE: WeakKeyDictionary[Callable[[], Any], _Made] = WeakKeyDictionary()
_LOCK = Lock()


def context_of(make: Callable[[], Any] | None) -> Any:
    """Return the result of this function in this process. None for a saga without such a function."""
    if make is None:
        return None
    with _LOCK:
        made = _MADE.setdefault(make, _Made())
    return made.value(make)
