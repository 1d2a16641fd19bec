"""Cached picture of the apps. It is drawn once per version of the definitions, because the layout of 300 apps takes a
while.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

import msgspec

from sluice.jobs.catalogue import Catalogue


class Pictures:
    def __init__(self) -> None:
        self._lock = Lock()
        self._of: Catalogue | None = None
        self._content = b""

    def of(self, catalogue: Catalogue, drawn: Callable[[Catalogue], Any]) -> bytes:
        """Return the picture as JSON. Concurrent callers wait while it is drawn."""
        with self._lock:
            if self._of is not catalogue:
                self._content = msgspec.json.encode(drawn(catalogue)) + b"\n"
                self._of = catalogue
            return self._content
