"""Letters on their way to RabbitMQ, and the result of each."""

from collections.abc import Sequence
from threading import Event

from sluice.broker.codec import Letter


class Batch:
    """Letters that are sent together. ``done`` is set when each letter has been confirmed, returned or lost."""

    def __init__(self, letters: Sequence[Letter]) -> None:
        self.done = Event()
        self.open = dict(enumerate(letters))
        self.returned: list[Letter] = []
        self.lost: list[Letter] = []
        self.why = ""
        self.is_blocked = False

    def confirm(self, number: int) -> None:
        del self.open[number]
        self._look()

    def turn_back(self, number: int) -> None:
        """Note a letter that was returned because its queue does not exist."""
        self.returned.append(self.open.pop(number))
        self._look()

    def lose(self, number: int, why: str) -> None:
        """Note a letter that RabbitMQ refused."""
        self.why = why
        self.lost.append(self.open.pop(number))
        self._look()

    def lose_all(self, why: str, *, is_blocked: bool = False) -> None:
        """Note that the result of all open letters is unknown; they may have arrived."""
        self.why, self.is_blocked = why, is_blocked
        self.lost.extend(self.open.values())
        self.open.clear()
        self.done.set()

    def _look(self) -> None:
        if not self.open:
            self.done.set()
