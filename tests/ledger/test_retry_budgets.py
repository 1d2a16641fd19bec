"""Retry budgets: retries of jobs that fail together are spread out, and no job fails because of the budget."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sluice.actors.executor import transactions
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Executed, Message
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from tests.ledger.races import meet, world_for_a_race
from tests.world import World

KEYS = [str(number) for number in range(6)]
WORDS = {"max_fails": 9, "retry": {"rule": "fixed", "seconds": 10}}
BUDGET = {"retries": 3, "per": "6s"}
_DUE = (
    "SELECT key, not_before FROM job WHERE app = %(app)s AND not_before IS NOT NULL ORDER BY not_before, id"
)


def due_s(world: World, app: str, since: datetime) -> list[float]:
    rows = world.ledger.transact(lambda tx: tx.rows(_DUE, app=app))
    return [(not_before - since).total_seconds() for _, not_before in rows]


def fail_all(world: World, app: str, keys: list[str]) -> None:
    for key in keys:
        world.finish(f"{app}/{key}", Ending.ERROR)


def test_retries_above_the_budget_are_spread_over_time(world: World) -> None:
    world.apps("a, b", **WORDS)
    world.define(world.defined | {"a": world.defined["a"] | {"retry_budget": BUDGET}})
    for key in KEYS:
        world.submit("a", key)
        world.submit("b", key)
    began = world.now
    fail_all(world, "a", KEYS)
    fail_all(world, "b", KEYS)
    assert due_s(world, "a", began) == [10.0, 10.0, 10.0, 12.0, 14.0, 16.0]
    assert due_s(world, "b", began) == [10.0] * 6, "it is a matter of one app"
    world.tick(after_s=13)
    assert len(world.ready()) == 4 + len(KEYS)
    world.tick(after_s=10)
    for key in KEYS:
        world.finish(f"a/{key}")
        world.finish(f"b/{key}")
    assert set(world.states().values()) == {State.SUCCEEDED}


def test_only_rounds_that_are_retried_use_the_budget(world: World) -> None:
    world.apps("a", max_fails=1, retry={"rule": "fixed", "seconds": 10}, retry_budget=BUDGET)
    for key in KEYS:
        world.submit("a", key)
    began = world.now
    world.finish("a/0")
    world.finish("a/1", Ending.UNDO_FAILED)
    fail_all(world, "a", KEYS[2:5])
    assert due_s(world, "a", began) == [10.0] * 3
    world.tick(after_s=11)
    began = world.now
    fail_all(world, "a", KEYS[2:5])
    assert [world.state(f"a/{key}") for key in KEYS[2:5]] == [State.FAILED] * 3
    fail_all(world, "a", KEYS[5:])
    assert world.field("a/5", "not_before") == began + timedelta(seconds=10)


class Meeting:
    """World with two failed rounds that are not judged. Their app may retry one round in five seconds."""

    def __init__(self, url: str) -> None:
        self.world = world_for_a_race(url)
        self.world.apps("a", **WORDS, retry_budget={"retries": 1, "per": "5s"})
        self.failed: list[int] = []
        for key in "12":
            self.world.submit("a", key)
            claimed = self.world.claim(f"a/{key}")
            assert claimed is not None
            transactions.record(
                self.world.ledger, {claimed.right: Outcome(ending=Ending.ERROR, error="it broke")}
            )
            self.failed.append(claimed.right.job)

    def judges(self, ledger: Ledger, nth: int) -> Sequence[Message]:
        return handle(ledger, self.world.catalogue, Executed(jobs=(self.failed[nth],)))


def test_of_two_concurrent_judges_the_second_takes_the_next_retry(world: World) -> None:
    def check(meeting: Meeting, *_: object) -> None:
        assert due_s(meeting.world, "a", meeting.world.now) == [10.0, 15.0]

    meet(
        lambda: Meeting(world.url),
        lambda meeting: [lambda ledger, nth=nth: meeting.judges(ledger, nth) for nth in (0, 1)],
        check,
        swapped=False,
        most=30,
    )
