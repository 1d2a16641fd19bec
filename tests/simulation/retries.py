"""A user that retries ended submissions and selected jobs at random times."""

import random
from collections.abc import Callable, Iterator, Sequence

from sluice.actors.client import Client
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import UNSUCCESSFUL, sql_list
from sluice.ledger.database.connection import Ledger

_DEAD = f"SELECT app, key FROM job WHERE state IN ({sql_list(*sorted(UNSUCCESSFUL))}) ORDER BY id"


def drawn_times(rng: random.Random, within_s: float) -> Iterator[float]:
    """Draw the times of the retries, in seconds. In half of the worlds there are none."""
    for _ in range(rng.choice((0, 0, 2, 5))):
        yield rng.random() * within_s


class Retrier:
    """User that retries a random submission, or some of the unsuccessful jobs of an app."""

    def __init__(
        self, rng: Callable[[], random.Random], plain: Ledger, client: Client, submitted: Sequence[str]
    ) -> None:
        self._rng = rng
        self._plain = plain
        self._client = client
        self._submitted = submitted
        self._acts = 0

    def act(self) -> None:
        self._acts += 1
        rng = self._rng()
        if rng.random() < 0.5:
            self._retry_jobs(rng)
        elif self._submitted:
            self._retry_submission(rng.choice(self._submitted))

    def _retry_submission(self, submission: str) -> None:
        try:
            self._client.retry(submission)
        except BadRequest:
            # It is open, was refused, has succeeded, or is being undone.
            return

    def _retry_jobs(self, rng: random.Random) -> None:
        dead = self._plain.transact(lambda tx: tx.rows(_DEAD))
        if not dead:
            return
        app = rng.choice(dead)[0]
        keys = [key for each, key in dead if each == app and rng.random() < 0.7]
        again = Submission(id=f"again {self._acts}", app=app, keys=tuple(keys), rerun="alone", push="wanted")
        self._client.submit(again)
