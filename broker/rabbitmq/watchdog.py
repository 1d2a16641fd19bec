"""Detection of lanes that RabbitMQ does not feed any more. Pure.

RabbitMQ 3.10 does not notify the consumers of a quorum queue that was deleted and immediately made again, and does not
feed them either. There are two signs of this: the queue has no consumer, or a message waits during two checks in which
nothing arrived although a lane was idle.
"""


class Vigil:
    """Checks of one queue: ``begin`` a check, then judge by RabbitMQ's answer. Checks are a few seconds apart."""

    def __init__(self) -> None:
        self._has_arrived = False
        self._was_quiet = False
        self._was_overlooked = False

    def note_arrival(self) -> None:
        self._has_arrived = True

    def begin(self) -> None:
        self._was_quiet, self._has_arrived = not self._has_arrived, False

    def is_forgotten(self, *, waiting: int, consumers: int) -> bool:
        """Return whether RabbitMQ does not feed the queue any more. Called only while a lane is idle."""
        is_overlooked = waiting > 0 and self._was_quiet and not self._has_arrived
        was_overlooked, self._was_overlooked = self._was_overlooked, is_overlooked
        return consumers == 0 or (is_overlooked and was_overlooked)
