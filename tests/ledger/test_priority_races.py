"""Races of notifications for one app, and of plans that lend to the same parents, stopped at every statement."""

from collections.abc import Callable
from typing import Any

import pytest

from sluice.actors.executor import transactions
from sluice.broker.messages import Execute, JobRound
from tests.ledger import races
from tests.ledger.races import Act, Acts
from tests.world import World

#: Upper limit of the number of statements of the handlers in these races.
STATEMENTS_MAX = 60

Arrange = Callable[[Acts], tuple[Act, Act]]


def hint(world: World, *jobs: str) -> Act:
    """Return an act by which a new worker claims with a message for these jobs. The act returns the claimed keys."""
    turns = tuple(JobRound(world.known(job).id, world.round(job)) for job in jobs)
    message = Execute(app=world.known(jobs[0]).app, jobs=turns)
    worker = world.hire()
    return lambda ledger: [job.key for job in transactions.claim(ledger, world.catalogue, message, worker)[0]]


def meet(
    url: str, arrange: Arrange, check: Callable[[World, Any, Any], None], *, swapped: bool = False
) -> None:
    races.meet(
        lambda: Acts(url),
        arrange,
        lambda m, one, two: check(m.world, one, two),
        swapped=swapped,
        most=STATEMENTS_MAX,
    )


def _queue(world: World, *low: str, high: tuple[str, ...] = ()) -> None:
    world.apps("a")
    for key in low:
        world.submit("a", key)
    for key in high:
        world.submit("a", key, policy={"priority": 1})


def _overlapping(m: Acts) -> tuple[Act, Act]:
    _queue(m.world, "1", "2", "3", "4", "5", high=("8", "9"))
    return hint(m.world, "a/1", "a/2", "a/3"), hint(m.world, "a/2", "a/3")


def _crosswise(m: Acts) -> tuple[Act, Act]:
    """One notification names a job with a low number and takes the most urgent one.

    The other notification names both.
    """
    _queue(m.world, "1", "2", "3", "4", high=("9",))
    return hint(m.world, "a/1"), hint(m.world, "a/1", "a/9")


def _doubled(m: Acts) -> tuple[Act, Act]:
    _queue(m.world, "1", "2", "3")
    return hint(m.world, "a/2"), hint(m.world, "a/2")


@pytest.mark.parametrize(
    ("arrange", "places"), [(_overlapping, (3, 2)), (_crosswise, (1, 2)), (_doubled, (1, 1))]
)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_notifications_claim_as_many_jobs_as_they_name_and_none_twice(
    embedded_url: str, arrange: Arrange, places: tuple[int, int], swapped: bool
) -> None:
    def check(world: World, one: list[str], two: list[str]) -> None:
        assert len({*one, *two}) == sum(places)
        assert sorted(map(len, (one, two))) == sorted(places)

    meet(embedded_url, arrange, check, swapped=swapped)


def test_either_of_the_next_two_notifications_claims_the_most_urgent_job(embedded_url: str) -> None:
    def arrange(m: Acts) -> tuple[Act, Act]:
        _queue(m.world, "1", "2", high=("9",))
        return hint(m.world, "a/1"), hint(m.world, "a/2")

    def check(world: World, one: list[str], two: list[str]) -> None:
        assert "9" in [*one, *two]

    meet(embedded_url, arrange, check)


def _define(world: World, apps: str, *needs: str, **options: Any) -> None:
    """Define apps of one letter each; ``"ab"`` means that ``b`` needs ``a``. Options apply to the last child."""
    defined: dict[str, Any] = {name: {"job_id": "{x}", "bash_cmd": "true"} for name in apps}
    for parent, child in needs:
        defined[child].setdefault("depends_on", {"app_name": []})["app_name"].append(parent)
    defined[needs[-1][1]] |= options
    world.define(defined)


def _chain(m: Acts, *, is_planned: bool = True) -> None:
    """Define a chain in which ``d`` needs ``c``. By default, plan ``c`` and its parents at the lowest priority."""
    _define(m.world, "abcdef", "ab", "bc", "cd", "ce", "bf")
    if is_planned:
        m.world.submit("c", push="wanted")


def _two_plans_above_one_parent(m: Acts) -> tuple[Act, Act]:
    _chain(m)
    return m.plan("d", policy={"priority": 5}), m.plan("e", policy={"priority": 7})


def _a_plan_and_one_for_its_parents(m: Acts) -> tuple[Act, Act]:
    _chain(m, is_planned=False)
    return m.plan("d", policy={"priority": 7}), m.plan("c", policy={"priority": 2})


def _a_plan_and_the_claim_of_its_parent(m: Acts) -> tuple[Act, Act]:
    _chain(m)
    return m.plan("d", policy={"priority": 7}), hint(m.world, "a")


def _a_plan_and_the_judgement_of_its_parent(m: Acts) -> tuple[Act, Act]:
    _chain(m)
    return m.plan("d", policy={"priority": 7}), m.judge(m.run("a"))


def _a_plan_and_the_end_of_both_parents(m: Acts) -> tuple[Act, Act]:
    """One transaction records the ends of ``b`` and ``c``. Only ``c`` is less urgent than the plan."""
    _define(m.world, "bcd", "bd", "cd")
    m.world.submit("b", policy={"priority": 7})
    m.world.submit("c")
    return m.plan("d", policy={"priority": 7}), m.record_all([m.world.take(name) for name in "bc"])


@pytest.mark.parametrize(
    "arrange",
    [
        _two_plans_above_one_parent,
        _a_plan_and_one_for_its_parents,
        _a_plan_and_the_claim_of_its_parent,
        _a_plan_and_the_judgement_of_its_parent,
        _a_plan_and_the_end_of_both_parents,
    ],
)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_the_most_urgent_child_lends_to_all_parents_despite_concurrent_verbs(
    embedded_url: str, arrange: Arrange, swapped: bool
) -> None:
    def check(world: World, one: list[Any], two: list[Any]) -> None:
        assert {world.field(name, "priority") for name in "bc"} == {7}

    meet(embedded_url, arrange, check, swapped=swapped)


def test_a_pushed_child_lends_to_parents_that_are_planned_concurrently(embedded_url: str) -> None:
    """``c`` is pushed. It needs ``p``, which waits for ``g``, which was not requested until now."""

    def arrange(m: Acts) -> tuple[Act, Act]:
        _define(m.world, "hgqpxc", "hg", "gp", "qp", "pc", "xc", priority=7)
        m.world.submit("q")
        m.world.finish("q")
        m.world.submit("x")
        return m.judge(m.run("x")), m.plan("g", policy={"priority": 2})

    def check(world: World, one: list[Any], two: list[Any]) -> None:
        assert [world.field(name, "priority") for name in "pgh"] == [7, 7, 7]

    for swapped in (False, True):
        meet(embedded_url, arrange, check, swapped=swapped)
