"""A thread that looks every couple of seconds whether the definitions have changed."""

import logging
from collections.abc import Callable
from threading import Event, Thread

from sluice.actors.definitions import Definitions
from sluice.jobs.errors import BadSetting, Unreachable

_LOG = logging.getLogger("sluice.definitions")

LOOK_EVERY_S = 2.0
#: A look that hangs in a user's module or on a server does not keep the process from ending.
END_S_MAX = 5.0


class Lookout:
    """Has changes taken up, and the queues of apps served that are new.

    ``also_serve`` is None in a process that was told which queues are its own.
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
        """Also where nothing has changed: a queue that could not be served the last time is tried again."""
        self._definitions.look()
        if self._also_serve is not None:
            for queue in self._definitions.current.queues:
                self._serve(queue, self._also_serve)

    def _live(self) -> None:
        while not self._ended.wait(LOOK_EVERY_S):
            try:
                self.look()
            except Exception:
                # What is looked at is users' code, and jobs go on by the old definitions whatever it does.
                _LOG.exception("the definitions could not be looked at; they stay as they were")

    def _serve(self, queue: str, also_serve: Callable[[str], None]) -> None:
        """Why that cannot be is said once."""
        try:
            also_serve(queue)
        except (Unreachable, BadSetting) as error:
            if self._complaints.get(queue) != error.what:
                _LOG.error("queue %s is not served yet: %s %s", queue, error.what, error.advice)
            self._complaints[queue] = error.what
        else:
            self._complaints.pop(queue, None)
