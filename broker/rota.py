"""Whose turn it is among queues that share slots. Pure."""

from collections.abc import Iterable

#: Where asking an empty queue costs a round trip while a slot stands free, so many are asked first, no more.
QUIET_FIRST = 8


class Rota:
    """No queue waits for ever: the quiet ones are asked a few at a time, the one asked longest ago first,
    then those that had messages, the one served longest ago first."""

    def __init__(self, queues: Iterable[str]) -> None:
        self._quiet = dict.fromkeys(queues)
        self._busy: dict[str, None] = {}

    def add(self, queue: str) -> None:
        """One more, which has not been asked yet."""
        self._quiet[queue] = None

    def order(self, *, asking_is_free: bool = False) -> list[str]:
        """Every queue once, in the order in which to ask."""
        quiet = list(self._quiet)
        first = len(quiet) if asking_is_free else QUIET_FIRST
        return quiet[:first] + list(self._busy) + quiet[first:]

    def served(self, queue: str) -> None:
        """It had a message; now it is the others' turn."""
        self._quiet.pop(queue, None)
        self._busy.pop(queue, None)
        self._busy[queue] = None

    def was_empty(self, queue: str) -> None:
        self._busy.pop(queue, None)
        self._quiet.pop(queue, None)
        self._quiet[queue] = None
