"""What the flights of a process share: made once, by whoever flies first."""

from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary


class _Made:
    """What one function makes, once. Whoever comes meanwhile waits for it, and nobody else does."""

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
    """What this function has made in this process; None for a saga that has no such function."""
    if make is None:
        return None
    with _LOCK:
        made = _MADE.setdefault(make, _Made())
    return made.value(make)
