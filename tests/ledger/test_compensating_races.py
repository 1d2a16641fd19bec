"""What undoes a saga meets whoever else ends it, plans it, judges it or needs its jobs, stopped at every statement."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actors import executor
from actors.handlers import handle
from broker.messages import Cancel, Executed, Plan, Submit
from jobs.outcome import Ending, Outcome
from jobs.states import State
from jobs.submission import SubmissionState
from ledger.connection import Ledger
from tests.ledger.races import at_each_statement, race, world_for_a_race
from tests.world import World, taken_in

Act = Callable[[Ledger], Any]
WORDS = {"job_id": "{x}", "bash_cmd": "true"}
APPS = {
    "book": WORDS | {"compensate": "unbook"},
    "pay": WORDS | {"depends_on": {"app_name": ["book"]}},
    "stay": WORDS | {"depends_on": {"app_name": ["book"]}},
    "unbook": WORDS,
}
STATEMENTS_MAX = 90


def _handling(world: World, message: Any) -> Act:
    return lambda ledger: [*handle(ledger, world.catalogue, message)]


def _submitting(world: World, id: str, raw: msgspec.Raw) -> Act:
    return lambda ledger: taken_in(ledger, world.catalogue, Submit(id=id, submission=raw))


def _begun(world: World) -> None:
    """A saga whose first job has succeeded."""
    world.define(APPS)
    world.submit("pay", id="s", mode="saga", push="wanted")
    world.finish("book")


def _executed(world: World, job: str, ending: Ending) -> Executed:
    """A job that has run, and that nobody has judged."""
    claimed = world.claim(job)
    assert claimed is not None
    executor.record(
        world.ledger,
        {claimed.right: Outcome(ending=ending, error="it broke" if ending is Ending.ERROR else None)},
    )
    return Executed(jobs=(claimed.right.job,))


def _meet(world: World, url: str, acts: tuple[Act, Act], stop_before: int) -> bool:
    stopped, one, two = race(url, lambda: world.now, *acts, stop_before)
    world.queue.extend([*(one or []), *(two or [])])
    world.deliver()
    world.tick()
    return stopped


@pytest.mark.parametrize("swapped", [False, True])
def test_who_cancels_a_saga_meets_its_last_judgement(embedded_url: str, swapped: bool) -> None:

    def meet_at(stop_before: int) -> bool:
        with world_for_a_race(embedded_url) as world:
            _begun(world)
            judging = _handling(world, _executed(world, "pay", Ending.ERROR))
            cancelling = _handling(world, Cancel(submission="s"))
            acts = (cancelling, judging) if swapped else (judging, cancelling)
            stopped = _meet(world, embedded_url, acts, stop_before)
            world.tick()
            assert world.ready() == {"unbook"}
            world.finish("unbook")
            assert world.history("book")[-2:] == ["succeeded", "cancelled"]
            assert world.submission("s/compensation") is SubmissionState.SUCCEEDED
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)


def test_of_two_who_plan_it_one_does(embedded_url: str) -> None:

    def meet_at(stop_before: int) -> bool:
        with world_for_a_race(embedded_url) as world:
            _begun(world)
            world.cancel("s")
            act = _handling(world, Plan(submissions=("s/compensation",)))
            stopped = _meet(world, embedded_url, (act, act), stop_before)
            assert world.history("unbook") == ["waiting", "ready"]
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)


@pytest.mark.parametrize("swapped", [False, True])
def test_who_plans_it_meets_another_who_relies_on_what_it_undoes(embedded_url: str, swapped: bool) -> None:
    """Either it is left alone, or it was to be undone before the other came."""
    raw = msgspec.Raw(msgspec.json.encode({"app": "stay", "key": "1", "push": "wanted"}))

    def meet_at(stop_before: int) -> bool:
        with world_for_a_race(embedded_url) as world:
            _begun(world)
            world.cancel("s")
            undoing = _handling(world, Plan(submissions=("s/compensation",)))
            relying = _submitting(world, "other", raw)
            acts = (relying, undoing) if swapped else (undoing, relying)
            stopped = _meet(world, embedded_url, acts, stop_before)
            assert world.submission("other") is SubmissionState.ACTIVE
            assert world.state("stay") is State.READY
            assert world.submission("s/compensation") in (SubmissionState.ACTIVE, SubmissionState.SUCCEEDED)
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)


@pytest.mark.parametrize("swapped", [False, True])
def test_who_undoes_a_job_meets_who_runs_it_again(embedded_url: str, swapped: bool) -> None:
    raw = msgspec.Raw(msgspec.json.encode({"app": "book", "key": "1", "rerun": "job", "push": "wanted"}))

    def meet_at(stop_before: int) -> bool:
        with world_for_a_race(embedded_url) as world:
            _begun(world)
            world.cancel("s")
            world.tick()
            judging = _handling(world, _executed(world, "unbook", Ending.DONE))
            again = _submitting(world, "again", raw)
            acts = (again, judging) if swapped else (judging, again)
            stopped = _meet(world, embedded_url, acts, stop_before)
            assert world.state("unbook") is State.SUCCEEDED
            world.finish("book")
            assert world.state("book") is State.SUCCEEDED
        return stopped

    at_each_statement(meet_at, most=STATEMENTS_MAX)
