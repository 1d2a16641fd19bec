"""A user that retries ended submissions at random times."""

import random
from collections.abc import Callable, Iterator, Sequence

from sluice.actors.client import Client
from sluice.jobs.errors import BadRequest


def drawn_times(rng: random.Random, within_s: float) -> Iterator[float]:
    """Draw the times of the retries, in seconds. In half of the worlds there are none."""
    for _ in range(rng.choice((0, 0, 2, 5))):
        yield rng.random() * within_s


class Retrier:
    """User that retries a random submission."""

    def __init__(self, rng: Callable[[], random.Random], client: Client, submitted: Sequence[str]) -> None:
        self._rng = rng
        self._client = client
        self._submitted = submitted

    def act(self) -> None:
        if not self._submitted:
            return
        try:
            self._client.retry(self._rng().choice(self._submitted))
        except BadRequest:
            # It is open, was refused, has succeeded, or is being undone.
            return
