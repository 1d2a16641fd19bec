"""What the flights of a process share: made once, by whoever flies first."""

from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

_MADE: WeakKeyDictionary[Callable[[], Any], Any] = WeakKeyDictionary()
_LOCK = Lock()


def context_of(make: Callable[[], Any] | None) -> Any:
    """What this function has made in this process; None for a saga that has no such function."""
    if make is None:
        return None
    with _LOCK:
        if make not in _MADE:
            _MADE[make] = make()
        return _MADE[make]
