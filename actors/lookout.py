"""Thread that checks every two seconds whether the definitions have changed."""

import logging
from collections.abc import Callable
from threading import Event, Thread

from sluice.actors.definitions import Definitions
from sluice.jobs.errors import BadSetting, Unreachable

_LOG = logging.getLogger("sluice.definitions")

LOOK_EVERY_S = 2.0
#: Seconds that the end of the process waits for a check that hangs in a user's module or on a server.
END_S_MAX = 5.0


class Lookout:
    """Periodic check that loads changed definitions and serves the queues of new apps.

    ``also_serve`` is None in a process with a fixed list of queues.
    """

    def __init__(self, definitions: Definitions, also_serve: Callable[[str], None] | None) -> None:
        self._definitions = definitions
        self._also_serve = also_serve
        self._complaints: dict[str, str] = {}
        self._ended = Event()
        self._thread = Thread(target=self._live, name="lookout", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(END_S_MAX)

    def look(self) -> None:
        """Load changed definitions. Then serve each queue that is not served yet, including queues that failed the last
        time."""
        self._definitions.look()
        if self._also_serve is not None:
            for queue in self._definitions.current.queues:
                self._serve(queue, self._also_serve)

    def _live(self) -> None:
        while not self._ended.wait(LOOK_EVERY_S):
            try:
                self.look()
            except Exception:
                # The check may run users' code. Its errors must not affect jobs, which go on by the old definitions.
                _LOG.exception("the definitions could not be checked; they stay as they were")

    def _serve(self, queue: str, also_serve: Callable[[str], None]) -> None:
        """Serve a queue, and log once why that is not possible."""
        try:
            also_serve(queue)
        except (Unreachable, BadSetting) as error:
            if self._complaints.get(queue) != error.what:
                _LOG.error("queue %s is not served yet: %s %s", queue, error.what, error.advice)
            self._complaints[queue] = error.what
        else:
            self._complaints.pop(queue, None)
