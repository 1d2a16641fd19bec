"""Messages that no process would send now: repeated messages, and messages for finished or future rounds.

Messages are notifications, so none of these may have an effect. They are made from the present state of the ledger, as
real ones are. A repeated submission has the id under which it was accepted.
"""

import random
from collections.abc import Sequence

import msgspec

from sluice.broker.interface import Broker
from sluice.broker.messages import Ended, Execute, Executed, JobRound, Look, Message, Plan, Submit, Tick
from sluice.ledger.database.connection import Ledger

#: Some jobs with adjacent ids, from a random position.
_SOME = """
SELECT id, app, round, state FROM job WHERE id >= (
    SELECT coalesce(max(id), 0) * %(share)s::float8 FROM job) ORDER BY id LIMIT %(limit)s
"""
_REQUESTS = """
SELECT id, request FROM submission WHERE number >= (
    SELECT coalesce(max(number), 0) * %(share)s::float8 FROM submission) ORDER BY number LIMIT 3
"""


class Echoes:
    def __init__(self, ledger: Ledger, broker: Broker, rng: random.Random) -> None:
        self._ledger, self._broker, self._rng = ledger, broker, rng

    def double(self, limit: int) -> int:
        """Send messages that match the present state of the ledger. Return their number."""
        rows = self._jobs(limit)
        jobs = tuple(id_ for id_, *_ in rows)
        messages: list[Message] = [
            *(Execute(app=app, jobs=(JobRound(id_, round_),)) for id_, app, round_, _ in rows),
            *(Executed(jobs=jobs), Ended(jobs=jobs), Tick(), Look(), *self._submissions()),
        ]
        return self._say(messages)

    def stale(self, limit: int) -> int:
        """Send notifications of rounds that have ended or have not begun yet. Return their number."""
        rows = self._jobs(limit)
        turns = [(app, JobRound(id_, round_ + shift)) for id_, app, round_, _ in rows for shift in (-1, 1)]
        return self._say([Execute(app=app, jobs=(turn,)) for app, turn in turns if turn.round >= 0])

    def _jobs(self, limit: int) -> list[tuple[int, str, int, str]]:
        share = self._rng.choice((self._rng.random(), 0.9 + self._rng.random() / 10))
        return self._ledger.transact(lambda tx: tx.rows(_SOME, share=share, limit=limit))

    def _submissions(self) -> Sequence[Message]:
        rows = self._ledger.transact(lambda tx: tx.rows(_REQUESTS, share=self._rng.random()))
        again = [
            Submit(id=id_, submission=msgspec.Raw(msgspec.json.encode(request)))
            for id_, request in rows
            if "compensates" not in request
        ]
        return [Plan(submissions=tuple(id_ for id_, _ in rows)), *again] if rows else again

    def _say(self, messages: list[Message]) -> int:
        self._rng.shuffle(messages)
        self._broker.publish(messages)
        return len(messages)
