"""Submissions of other tenants, which a planner plans before the backlog of one tenant."""

from datetime import timedelta

from msgspec import Raw, json

from sluice.actors.planner.admission import admit
from sluice.actors.planner.handlers import BATCH
from sluice.actors.worker.handlers import handle
from sluice.actors.worker.tenant_turns import EVERY_S, MOST, TenantTurns
from sluice.broker.messages import Plan
from sluice.ledger.lifecycle import submissions
from sluice.ledger.lifecycle.tenant_order import COUNTED_MAX
from tests.world import World, catalogue_of

WORDS = {"job_id": "{x}", "bash_cmd": "true"}
CATALOGUE = catalogue_of(
    {"a": WORDS | {"tenant": "risk"}, "b": WORDS | {"tenant": "growth"}, "c": WORDS, "d": WORDS}
)


class Turns(TenantTurns):
    """Turns of a planner, with a clock that the test moves."""

    def __init__(self, world: World) -> None:
        self.now = 0.0
        super().__init__(world.ledger, lambda: self.now)


def leave(world: World, app: str, keys: range) -> list[str]:
    """Admit submissions, and leave them unplanned."""
    rows = [(f"{app}{key}", Raw(json.encode({"app": app, "key": str(key)}))) for key in keys]
    return [submission.require_id() for submission in admit(world.ledger, rows)]


def test_each_tenant_but_the_one_with_the_most_has_its_oldest_submissions_planned(world: World) -> None:
    leave(world, "a", range(3 * MOST))
    leave(world, "b", range(2 * MOST))
    leave(world, "c", range(1))
    leave(world, "d", range(1))
    due = Turns(world).due(CATALOGUE)
    assert [id for id in due if id.startswith("b")] == [f"b{key}" for key in range(MOST)]
    assert due[:4] == ["b0", "c0", "b1", "d0"]
    assert len(due) == MOST + 2


def test_of_two_tenants_with_many_submissions_the_first_is_planned_in_its_order(world: World) -> None:
    for app, count in (("a", COUNTED_MAX), ("b", COUNTED_MAX + 1), ("c", COUNTED_MAX - 1), ("d", 2)):
        leave(world, app, range(count))
        world.now += timedelta(seconds=1)
    assert Turns(world).due(CATALOGUE)[:4] == ["b0", "c0", "b1", "c1"]


def test_submissions_that_are_planned_later_have_no_turn(world: World) -> None:
    leave(world, "a", range(3))
    leave(world, "b", range(3))
    later = world.ledger.transact(
        lambda tx: tx.column("SELECT number FROM submission WHERE id IN ('b0', 'a0')")
    )
    world.ledger.transact(lambda tx: submissions.set_aside(tx, later, for_s=60))
    leave(world, "a", range(3, 4))
    assert Turns(world).due(CATALOGUE) == ["b1", "b2"]


def test_the_order_is_left_alone_while_one_tenant_waits(world: World) -> None:
    leave(world, "a", range(3))
    assert Turns(world).due(CATALOGUE) == []


def test_a_turn_is_due_after_a_pause(world: World) -> None:
    leave(world, "a", range(2))
    leave(world, "b", range(1))
    turns = Turns(world)
    assert turns.due(CATALOGUE) == ["b0"]
    assert turns.due(CATALOGUE) == []
    turns.now += EVERY_S
    assert turns.due(CATALOGUE) == ["b0"]


def test_a_turn_may_be_due_between_two_parts_of_a_long_message(world: World) -> None:
    long = Plan(submissions=tuple(leave(world, "a", range(BATCH + 1))))
    leave(world, "b", range(1))
    turns = Turns(world)
    planned: list[int | str] = []
    for part in turns.in_order(CATALOGUE, long):
        planned.append(part.submissions[0] if len(part.submissions) == 1 else len(part.submissions))
        handle(world.ledger, CATALOGUE, part)
        if planned == ["b0", BATCH]:
            turns.now += EVERY_S
            leave(world, "b", range(1, 2))
            leave(world, "a", range(BATCH + 1, BATCH + 3))
    assert planned == ["b0", BATCH, "b1", f"a{BATCH}"]


def test_a_short_message_is_planned_as_it_is(world: World) -> None:
    short = Plan(submissions=tuple(leave(world, "a", range(2))))
    assert [part is short for part in Turns(world).in_order(CATALOGUE, short)] == [True]


def test_without_tenants_no_statement_is_sent(world: World) -> None:
    leave(world, "c", range(1))
    leave(world, "d", range(1))
    before = world.ledger.round_trips()
    assert Turns(world).due(catalogue_of({"c": WORDS, "d": WORDS})) == []
    assert world.ledger.round_trips() == before
