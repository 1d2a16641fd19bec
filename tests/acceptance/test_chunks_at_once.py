"""Concurrent submissions about work IDs: in one batch, at the same moment, and behind a slow selection of work IDs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Barrier, Thread
from typing import Any

import msgspec
import pytest

from sluice.actors.executor import transactions
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Message, Plan, Submit, SubmitMany
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import submissions
from tests.acceptance import selections
from tests.acceptance.chunk_notation import definitions
from tests.acceptance.chunked_ledger import freshness, recorded
from tests.ledger.races import race
from tests.world import World, taken_in

#: Upper bound for the statements of any plan in these tests.
STATEMENTS_MAX = 60
SHARING = "A=2: B; B=2; C=3: B"
POISON: dict[str, dict[str, Any]] = {
    "selecting fails": {"app": "broken"},
    "a policy that there is not": {"app": "A", "work_ids": [7], "policy": {"max_fail": 1}},
    "words of partitions": {"app": "A", "start": "2024-04-01", "end": "2024-04-02"},
    "words that there are not": {"app": "A", "work_id": [1]},
    "too many IDs": {"app": "A", "work_ids": [[1, 10**9]]},
}
DEFINED = "A=2: B; B=2; broken=2 select=broken; nothing=2 select=nothing; slow=2 select=slow: B"


def test_a_dependency_of_two_concurrent_plans_runs_once(ledger_url: str) -> None:
    """The first plan stops before each of its statements in turn, while the second plan runs."""
    at_every_statement(ledger_url, _two_plan)


def test_a_job_becomes_ready_together_with_the_results_it_waited_for(ledger_url: str) -> None:
    """The judgement stops before each of its statements in turn, while another connection reads."""
    at_every_statement(ledger_url, _one_judges_and_one_looks)


def at_every_statement(url: str, meet: Callable[[World, int], bool]) -> None:
    for stop_before in range(STATEMENTS_MAX):
        with World(url) as world:
            if not meet(world, stop_before):
                return
    raise AssertionError(f"there are more than {STATEMENTS_MAX} statements")


def _two_plan(world: World, stop_before: int) -> bool:
    world.define(definitions(SHARING))
    stopped, first, second = race(
        world.url,
        lambda: world.now,
        lambda ledger: submit(ledger, world, "A", "one"),
        lambda ledger: submit(ledger, world, "C", "two"),
        stop_before,
    )
    world.queue.extend([*(first or ()), *(second or ())])
    assert_all_succeed(world, ["one", "two"])
    return stopped


def _one_judges_and_one_looks(world: World, stop_before: int) -> bool:
    world.define(definitions("A=2: B; B=2"))
    world.submit("A", None, work_ids="1,2", id="one")
    needed, waiting = [f"{name.app}/{job.key}" for name, job in recorded(world).items()]
    claimed = world.claim(needed)
    assert claimed is not None
    (executed,), _ = transactions.record(world.ledger, {claimed.right: Outcome(ending=Ending.DONE)})
    stopped, _, seen = race(
        world.url,
        lambda: world.now,
        lambda ledger: (State.EXECUTED, len(handle(ledger, world.catalogue, executed))),
        lambda _: (world.state(waiting), len(freshness(world))),
        stop_before,
    )
    assert seen in ((State.WAITING, 0), (State.READY, 2))
    return stopped


def test_a_dependency_of_six_concurrent_plans_runs_once(ledger_url: str, world: World) -> None:
    world.define(definitions(SHARING))
    barrier = Barrier(6)
    sent: list[Message] = []

    def plan(number: int) -> None:
        ledger = Ledger(ledger_url, connections=1, clock=lambda: world.now)
        try:
            barrier.wait(10)
            sent.extend(submit(ledger, world, "AC"[number % 2], f"{number}"))
        finally:
            ledger.close()

    threads = [Thread(target=plan, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    world.queue.extend(sent)
    assert_all_succeed(world, [f"{number}" for number in range(6)])


@pytest.mark.parametrize("name", POISON)
def test_a_submission_that_cannot_be_planned_does_not_delay_its_batch(world: World, name: str) -> None:
    world.define(definitions(DEFINED))
    rows = {
        "before": {"app": "A", "work_ids": [1, 2]},
        "poison": POISON[name],
        "nothing": {"app": "nothing"},
        "after": {"app": "A", "work_ids": [3]},
    }
    raws = tuple(msgspec.Raw(msgspec.json.encode({**row, "id": id})) for id, row in rows.items())
    world.queue.append(SubmitMany(id="batch", submissions=raws))
    world.deliver()
    assert {id: world.submission(id) for id in rows} == {
        "before": SubmissionState.ACTIVE,
        "poison": SubmissionState.REFUSED,
        "nothing": SubmissionState.CANCELLED,
        "after": SubmissionState.ACTIVE,
    }
    assert world.reason("poison")
    assert [job.app for job in recorded(world)] == ["B", "A", "B", "A"]


def test_invalid_submissions_do_not_delay_a_valid_submission_in_the_groomer(world: World) -> None:
    world.define(definitions(DEFINED))
    poison = [Submission(id=name, **words) for name, words in POISON.items() if "work_id" not in words]
    good = Submission(id="good", app="A", work_ids=[1, 2])
    world.ledger.transact(lambda tx: submissions.receive(tx, [*poison, good]))
    world.tick(after_s=3)
    assert {world.submission(each.require_id()) for each in poison} == {SubmissionState.REFUSED}
    assert world.submission("good") is SubmissionState.ACTIVE


def test_a_slow_selection_of_work_ids_does_not_delay_other_submissions(ledger_url: str, world: World) -> None:
    world.define(definitions(DEFINED))
    with selecting(ledger_url, world, "slow") as sent:
        assert world.submission("slow") is SubmissionState.RECEIVED
        same_app = world.submit("slow", None, work_ids=[7])
        same_need = world.submit("A", None, work_ids=[1, 2])
        of_that_need = world.submit("B", None, work_ids=[8])
        for other in (same_app, same_need, of_that_need):
            assert world.submission(other) is SubmissionState.ACTIVE
    world.queue.extend(sent)
    assert world.submission("slow") is SubmissionState.RECEIVED, "other submissions have B in progress by now"
    assert_all_succeed(world, ["slow", same_app, same_need], once=False)


def test_a_submission_is_planned_once_although_its_selection_runs_twice(
    ledger_url: str, world: World
) -> None:
    """This happens if the groomer considers the selecting planner dead."""
    world.define(definitions("slow=2 select=slow"))
    with selecting(ledger_url, world, "slow") as sent:
        selections.slow.answer.set()
        sent.extend(handle(world.ledger, world.catalogue, Plan(submissions=("slow",))))
    world.queue.extend(sent)
    world.deliver()
    assert [job.state for job in recorded(world).values()] == [State.READY]


def test_a_submission_may_be_cancelled_while_its_work_ids_are_selected(ledger_url: str, world: World) -> None:
    world.define(definitions("slow=2 select=slow"))
    with selecting(ledger_url, world, "slow"):
        world.cancel("slow")
    assert world.submission("slow") is SubmissionState.CANCELLED
    assert recorded(world) == {}


@contextmanager
def selecting(url: str, world: World, id: str) -> Iterator[list[Message]]:
    """Submit an app with a slow selection to another planner, which has the answer at the end of the block. Yield the
    planner's messages."""
    selections.slow.asked.clear()
    selections.slow.answer.clear()
    ledger = Ledger(url, connections=1, clock=lambda: world.now)
    sent: list[Message] = []
    other = Thread(target=lambda: sent.extend(submit(ledger, world, "slow", id, work_ids=None)))
    try:
        other.start()
        assert selections.slow.asked.wait(10)
        yield sent
    finally:
        selections.slow.answer.set()
        other.join(30)
        ledger.close()
    assert not other.is_alive()


def submit(ledger: Ledger, world: World, app: str, id: str, *, work_ids: Any = "1,2") -> list[Message]:
    raw = msgspec.Raw(msgspec.json.encode({"app": app, "work_ids": work_ids}))
    return taken_in(ledger, world.catalogue, Submit(id=id, submission=raw))


def assert_all_succeed(world: World, ids: list[str], *, once: bool = True) -> None:
    """Run all ready jobs. Assert that these submissions succeed, and with ``once`` that ``B`` has a single job."""
    world.deliver()
    for _ in range(len(ids) + 3):
        for job in sorted(world.ready()):
            world.finish(job)
        world.tick(after_s=3)
    assert {id: world.submission(id) for id in ids} == dict.fromkeys(ids, SubmissionState.SUCCEEDED)
    if once:
        assert [job.app for job in recorded(world)].count("B") == 1
