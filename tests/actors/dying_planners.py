"""Planners that are killed while they plan a submission, for tests."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from sluice.actors.planner.plan_attempts import PlanAttempts
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Message, Plan
from sluice.jobs.keys.identifiers import Value
from sluice.jobs.model.submission import Submission
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import submissions
from tests.world import LEASE_S, World

#: Functions that are called while a submission for ``long`` or ``chunks`` is planned.
DURING: list[Callable[[], object]] = []
_APP = {"job_id": "{x}", "bash_cmd": "true"}
APPS = {
    "short": _APP,
    "long": {**_APP, "depends_on": {"_func": f"{__name__}:Long", "app_name": ["short"]}},
    "chunks": {"chunk_size": 2, "bash_cmd": "true", "select_work": f"{__name__}:choose"},
}


class Long:
    """Two-way function that takes as long as the test needs."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[tuple[str, object]]:
        _reach()
        return []

    def children(self, app: str, ids: Mapping[str, Value]) -> list[tuple[str, object]]:
        return []


def choose(**_: object) -> list[int]:
    _reach()
    return [1, 2]


def _reach() -> None:
    for act in [*DURING]:
        act()


class Killed(BaseException):
    """Raised when a planner's process is killed."""


class Planner:
    """Planner process. After ``die_of`` its attempts stay in the ledger until it records again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.worker = world.hire()
        self.attempts = PlanAttempts(world.ledger, self.worker)

    def plan(self, *ids: str, ledger: Ledger | None = None) -> list[Message]:
        message = Plan(submissions=ids)
        return [*handle(ledger or self.world.ledger, self.world.catalogue, message, self.attempts)]

    def plan_all(self, *ids: str) -> None:
        """Plan these submissions, and the submissions of the messages that result."""
        for message in self.plan(*ids):
            if isinstance(message, Plan):
                self.plan_all(*message.submissions)

    def look_twice(self) -> None:
        """Record the attempts twice, as the process does within one second."""
        self.attempts.record()
        self.attempts.record()

    def die_of(self, *ids: str) -> None:
        """Kill the planner after it has planned for a second."""
        DURING[:] = [self.look_twice, kill]
        with pytest.raises(Killed):
            self.plan_all(*ids)
        DURING.clear()


def kill() -> None:
    raise Killed


def receive(world: World, id: str, app: str, **words: Any) -> None:
    wanted = Submission(app=app, id=id, **({"key": "1"} if app != "chunks" else {}), **words)
    world.ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
    world.now += timedelta(milliseconds=1)


def let_leases_end(world: World) -> None:
    world.now += timedelta(seconds=LEASE_S + 1)


def kill_planners(world: World, *ids: str, times: int) -> None:
    for _ in range(times):
        Planner(world).die_of(*ids)
        let_leases_end(world)


def attempts(world: World) -> list[tuple[str, str]]:
    """Return the recorded attempts: the id of each submission, and its worker."""
    sql = "SELECT id, worker FROM plan_attempt JOIN submission ON number = plan_attempt.submission ORDER BY 1, since"
    return [(id, str(worker)) for id, worker in world.ledger.transact(lambda tx: tx.rows(sql))]
