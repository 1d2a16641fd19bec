"""Whether RabbitMQ still feeds a queue's lanes. Pure.

RabbitMQ 3.10 does not tell the consumers of a quorum queue that was deleted and made again at once, and
does not feed them either. They show by there being no consumer, or by a message that waits for two
looks in which nothing arrived although a lane was idle.
"""


class Vigil:
    """``begin`` a look, then judge by what RabbitMQ answers; a few seconds between looks."""

    def __init__(self) -> None:
        self._has_arrived = False
        self._was_quiet = False
        self._was_overlooked = False

    def note_arrival(self) -> None:
        self._has_arrived = True

    def begin(self) -> None:
        self._was_quiet, self._has_arrived = not self._has_arrived, False

    def is_forgotten(self, *, waiting: int, consumers: int) -> bool:
        """To be asked while a lane is idle."""
        is_overlooked = waiting > 0 and self._was_quiet and not self._has_arrived
        was_overlooked, self._was_overlooked = self._was_overlooked, is_overlooked
        return consumers == 0 or (is_overlooked and was_overlooked)
