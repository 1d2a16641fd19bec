"""Submissions that have piled up are planned together, and no submission is planned by two planners."""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from sluice.actors.planner import handlers
from sluice.broker.messages import Message, Plan
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import submissions
from sluice.ledger.recovery import groomer_steps
from tests.ledger.races import meet, world_for_a_race
from tests.world import World

#: Upper limit of the number of statements of the planners in these races.
STATEMENTS_MAX = 40


class Pile:
    """Submissions of ``a`` that are in the ledger and were not announced."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.apps("a, b -> c")

    def receive(self, id: str, app: str = "a", **words: Any) -> None:
        wanted = Submission(app=app, id=id, **({"key": id} | words))
        self.world.ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
        self.world.now += timedelta(seconds=0.001)

    def plan(self, *ids: str) -> list[Message]:
        return [*handlers.plan(self.world.ledger, self.world.catalogue, Plan(submissions=ids))]

    def unplanned(self, *ids: str) -> list[str]:
        return [id for id in ids if self.world.submission(id) is SubmissionState.RECEIVED]


@pytest.fixture
def pile(world: World) -> Pile:
    return Pile(world)


def test_a_planner_also_plans_the_submissions_behind_the_named_one(pile: Pile) -> None:
    for id in ("x", "y", "z"):
        pile.receive(id)
    assert pile.plan("x")
    assert pile.unplanned("x", "y", "z") == []
    assert pile.world.states() == {"a/x": State.READY, "a/y": State.READY, "a/z": State.READY}
    assert pile.plan("y") == pile.plan("z") == []


def test_a_submission_that_came_before_the_named_one_waits_for_its_own_message(pile: Pile) -> None:
    pile.receive("early")
    pile.receive("named")
    pile.plan("named")
    assert pile.unplanned("early", "named") == ["early"]


def test_a_submission_with_many_keys_waits_for_its_own_message(pile: Pile) -> None:
    few = tuple(f"few{n}" for n in range(submissions.FEW_KEYS))
    many = tuple(f"many{n}" for n in range(submissions.FEW_KEYS + 1))
    pile.receive("named")
    pile.receive("few", key=None, keys=few)
    pile.receive("many", key=None, keys=many)
    pile.plan("named")
    assert pile.unplanned("few", "many") == ["many"]
    pile.plan("many")
    assert pile.unplanned("few", "many") == []


MANY = tuple(f"many{n}" for n in range(submissions.FEW_KEYS + 1))
#: Submissions with plans that may take long.
LARGE: dict[str, dict[str, Any]] = {
    "many keys": {"app": "a", "keys": MANY},
    "all that is enumerated": {"app": "listed"},
    "work IDs": {"app": "chunks", "work_ids": (1, 2, 3)},
    "partitions": {"app": "days", "start": "2024-04-01", "end": "2024-04-02"},
}


@pytest.fixture
def pile_with_large(pile: Pile) -> Pile:
    pile.world.define(
        {
            "a": {"job_id": "{x}", "bash_cmd": "true"},
            "listed": {"job_id": "{x}", "autofill_values": {"x": [*MANY]}, "bash_cmd": "true"},
            "chunks": {"chunk_size": 2, "bash_cmd": "true"},
            "days": {"partition": "day", "bash_cmd": "true"},
        }
    )
    return pile


@pytest.mark.parametrize("what", LARGE)
def test_a_large_submission_in_a_shared_message_gets_its_own_message(
    pile_with_large: Pile, what: str
) -> None:
    """The jobs of the small submissions in the same message may start before the large one is planned."""
    pile = pile_with_large
    pile.receive("large", **{"key": None} | LARGE[what])
    pile.receive("small")
    messages = pile.plan("large", "small")
    assert pile.unplanned("large", "small") == ["large"]
    assert Plan(submissions=("large",)) in messages
    assert pile.world.states() == {"a/small": State.READY}
    pile.plan("large")
    assert pile.unplanned("large") == []


@pytest.mark.parametrize("what", LARGE)
def test_no_other_submission_is_planned_with_a_large_one(pile_with_large: Pile, what: str) -> None:
    pile = pile_with_large
    pile.receive("large", **{"key": None} | LARGE[what])
    pile.receive("small")
    pile.plan("large")
    assert pile.unplanned("large", "small") == ["small"]


@pytest.mark.parametrize("what", LARGE)
def test_a_large_submission_behind_the_named_one_waits_for_its_own_message(
    pile_with_large: Pile, what: str
) -> None:
    pile = pile_with_large
    pile.receive("small")
    pile.receive("large", **{"key": None} | LARGE[what])
    pile.plan("small")
    assert pile.unplanned("large", "small") == ["large"]


def test_at_most_one_batch_of_submissions_is_planned_together(
    pile: Pile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "BATCH", 3)
    for id in ("1", "2", "3", "4"):
        pile.receive(id)
    pile.plan("1")
    assert pile.unplanned("1", "2", "3", "4") == ["4"]


def test_a_paused_or_postponed_submission_is_not_planned_with_others(pile: Pile) -> None:
    for id in ("named", "paused", "put off"):
        pile.receive(id)
    pile.world.ledger.transact(
        lambda tx: tx.write(
            "UPDATE submission SET paused_at = CASE id WHEN 'paused' THEN received_at END,"
            " next_plan_at = CASE id WHEN 'put off' THEN received_at END WHERE id <> 'named'"
        )
    )
    pile.plan("named")
    assert pile.unplanned("named", "paused", "put off") == ["paused", "put off"]


def test_a_submission_with_a_bad_key_is_refused_alone(pile: Pile) -> None:
    pile.world.define({"a": {"job_id": "{n}", "identifiers": {"n": "int"}, "bash_cmd": "true"}})
    pile.receive("7")
    pile.receive("wrong")
    pile.receive("8")
    pile.plan("7")
    assert pile.world.submission("wrong") is SubmissionState.REFUSED
    assert pile.world.states() == {"a/7": State.READY, "a/8": State.READY}


def test_a_submission_for_an_undefined_app_is_left_and_not_refused(pile: Pile) -> None:
    pile.receive("named")
    pile.receive("news", "yet to come")
    pile.plan("named")
    assert pile.unplanned("named", "news") == ["news"]


def test_a_submission_with_work_ids_is_planned_when_its_own_message_arrives(world: World) -> None:
    pile = Pile(world)
    world.define(
        {"a": {"job_id": "{x}", "bash_cmd": "true"}, "chunks": {"chunk_size": 2, "bash_cmd": "true"}}
    )
    pile.receive("named")
    pile.receive("by chunk", "chunks", key=None, work_ids=(1, 2, 3))
    pile.plan("named")
    assert pile.unplanned("named", "by chunk") == ["by chunk"]
    pile.plan("by chunk")
    assert pile.unplanned("by chunk") == []


class Meeting:
    """Three submissions in a pile, two of which request the same job. Each planner gets a message that names one."""

    def __init__(self, url: str) -> None:
        self.world = world_for_a_race(url)
        self.pile = Pile(self.world)
        for id in ("1", "2", "3"):
            self.pile.receive(id, "c", key="same" if id != "2" else "other")

    def told(self, id: str) -> Callable[[Ledger], list[Message]]:
        return lambda ledger: [*handlers.plan(ledger, self.world.catalogue, Plan(submissions=(id,)))]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("pair", [("1", "2"), ("1", "3"), ("2", "3"), ("1", "1")])
def test_two_planners_plan_each_submission_once(
    ledger_url: str, pair: tuple[str, str], swapped: bool
) -> None:
    def arrange(meeting: Meeting) -> Sequence[Callable[[Ledger], Any]]:
        return [meeting.told(id) for id in pair]

    def check(meeting: Meeting, one: list[Message], two: list[Message]) -> None:
        meeting.world.queue.extend([*one, *two, Plan(submissions=("1",))])
        meeting.world.deliver()
        assert meeting.pile.unplanned("1", "2", "3") == []
        assert meeting.world.states() == {
            "b/other": State.READY,
            "b/same": State.READY,
            "c/other": State.WAITING,
            "c/same": State.WAITING,
        }
        offered = [turn.job for message in meeting.world.offered for turn in message.jobs]
        assert len(offered) == len(set(offered)) == 2

    meet(lambda: Meeting(ledger_url), arrange, check, swapped=swapped, most=STATEMENTS_MAX)


def test_planners_and_the_groomer_skip_submissions_that_another_planner_has_locked(pile: Pile) -> None:
    world = pile.world
    for id in ("held", "free"):
        pile.receive(id)
    with closing(Ledger(world.url, clock=lambda: world.now)) as other, other.begin() as tx:
        assert submissions.lock_one_unplanned(tx, "held") is not None
        with world.ledger.begin() as tx2:
            assert submissions.lock_one_unplanned(tx2, "held") is None
        world.now += timedelta(seconds=5)
        assert world.ledger.transact(lambda tx: groomer_steps.overdue_submissions(tx, 10)) == ["free"]
        pile.plan("held", "free")
        assert pile.unplanned("held", "free") == ["held"]
    assert world.ledger.transact(lambda tx: groomer_steps.overdue_submissions(tx, 10)) == ["held"]
    world.tick()
    assert pile.unplanned("held") == []


def test_a_planner_sends_a_message_for_a_submission_that_it_locked_and_left(world: World) -> None:
    pile = Pile(world)
    world.define(
        {"a": {"job_id": "{x}", "bash_cmd": "true"}, "chunks": {"chunk_size": 2, "bash_cmd": "true"}}
    )
    pile.receive("named")
    pile.receive("by chunk", "chunks", key=None, work_ids=(1, 2, 3))
    world.queue.extend(pile.plan("named"))
    world.deliver()
    assert pile.unplanned("named", "by chunk") == []
