"""The picture of the apps, drawn once for as long as they are what they are: to lay out three hundred takes a while."""

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
        """Who comes while it is drawn waits for it."""
        with self._lock:
            if self._of is not catalogue:
                self._content = msgspec.json.encode(drawn(catalogue)) + b"\n"
                self._of = catalogue
            return self._content
