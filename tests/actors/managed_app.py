"""A manager of an app, and its tasks."""

from typing import Any

from sluice.actors.tasks import Tasks
from sluice.broker.messages import Plan
from sluice.jobs.model.job import Ending
from tests.world import World

NUMBERED = {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true", "archive": "manual"}


class Crew:
    """World with an app ``a``, which has numbered tasks, and the manager of that app."""

    def __init__(self, world: World, **words: Any) -> None:
        self.world = world
        world.define({"a": NUMBERED | words, "b": NUMBERED | {"job_id": "{x}", "identifiers": {}}})
        self.tasks = self.hires()

    def hires(self, app: str = "a", ledger: Any = None) -> Tasks:
        return Tasks(ledger or self.world.ledger, self.plan, app, self.world.catalogue)

    def plan(self, ids: Any) -> None:
        self.world.queue.append(Plan(submissions=tuple(ids)))
        self.world.deliver()

    def ends(self, key: str, ending: Ending = Ending.DONE, **words: Any) -> None:
        self.world.beat(self.world.worker)
        claimed = self.world.claim(f"a/{key}")
        assert claimed is not None
        self.world.record(claimed, ending, **words)

    def uncollected(self) -> list[str]:
        return [task.key for task in self.tasks.finished()]


def once(_: int) -> bool:
    return True
