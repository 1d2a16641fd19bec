"""Shares of tenants in the slots of a process, with a clock that the test moves."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.broker.consumer.fair_share import MEMORY_S, FairShare
from sluice.broker.consumer.intake import Rota


class Process:
    """Slots of a process that take messages of endless backlogs, each for some seconds."""

    def __init__(self, tenants: dict[str, str], weights: dict[str, float] | None = None) -> None:
        self.now = 0.0
        self.shares = FairShare(
            lambda: tenants, lambda tenant: (weights or {}).get(tenant, 1.0), clock=lambda: self.now
        )
        self.rota = Rota(tenants, self.shares)
        self.served: list[str] = []

    def work(self, seconds: float, *, slots: int, lasts: dict[str, float]) -> dict[str, int]:
        """Serve these queues for some time. Return how many messages of each queue were served."""
        served = dict.fromkeys(lasts, 0)
        running: list[tuple[float, str]] = []
        until = self.now + seconds
        while self.now < until:
            while len(running) < slots:
                queue = next(queue for queue in self.rota.order() if queue in lasts)
                self.rota.served(queue)
                self.shares.started(queue)
                served[queue] += 1
                running.append((self.now + lasts[queue], queue))
            running.sort()
            self.now, ended = running.pop(0)
            self.shares.ended(ended)
        for _, queue in running:
            self.shares.ended(queue)
        return served


def test_tenants_with_equal_weights_use_the_slots_for_equal_times() -> None:
    process = Process({"a": "risk", "b": "growth"})
    served = process.work(600, slots=4, lasts={"a": 0.5, "b": 2.0})
    assert 0.9 < served["a"] * 0.5 / (served["b"] * 2.0) < 1.1


def test_a_tenant_has_no_more_of_the_slots_for_more_queues() -> None:
    process = Process({"a1": "risk", "a2": "risk", "a3": "risk", "b": "growth"})
    served = process.work(600, slots=4, lasts={"a1": 1.0, "a2": 1.0, "a3": 1.0, "b": 1.0})
    assert 0.9 < served["b"] / (served["a1"] + served["a2"] + served["a3"]) < 1.1
    assert max(served["a1"], served["a2"], served["a3"]) - min(served["a1"], served["a2"], served["a3"]) <= 2


def test_the_share_is_in_proportion_to_the_weight() -> None:
    process = Process({"a": "risk", "b": "growth"}, {"risk": 3.0})
    served = process.work(1200, slots=8, lasts={"a": 1.0, "b": 1.0})
    assert 2.7 < served["a"] / served["b"] < 3.3


def test_a_tenant_that_was_idle_gets_the_slots_until_its_use_has_caught_up() -> None:
    process = Process({"a": "risk", "b": "growth"})
    process.work(600, slots=4, lasts={"a": 1.0})
    caught_up = process.work(0.5 * MEMORY_S, slots=4, lasts={"a": 1.0, "b": 1.0})
    assert caught_up["b"] > 10 * caught_up["a"]
    later = process.work(600, slots=4, lasts={"a": 1.0, "b": 1.0})
    assert later["a"] > 0.8 * later["b"]


def test_slots_that_are_free_at_the_same_moment_are_shared() -> None:
    process = Process({"a": "risk", "b": "growth"})
    assert process.work(1.0, slots=8, lasts={"a": 3600.0, "b": 3600.0}) == {"a": 4, "b": 4}


def test_apps_without_a_tenant_share_as_one() -> None:
    process = Process({"a": "risk"})
    process.rota.add("x")
    process.rota.add("y")
    served = process.work(600, slots=4, lasts={"a": 1.0, "x": 1.0, "y": 1.0})
    assert 0.9 < served["a"] / (served["x"] + served["y"]) < 1.1


def test_a_message_that_started_before_the_first_tenant_is_not_counted() -> None:
    tenants: dict[str, str] = {}
    shares = FairShare(lambda: tenants, clock=lambda: 0.0)
    shares.started("a")
    tenants["a"] = "risk"
    shares.ended("a")
    shares.started("b")
    assert shares.ordered(["b", "a"]) == ["a", "b"]


def test_the_queues_of_the_control_plane_are_not_counted() -> None:
    now = 0.0
    shares = FairShare(lambda: {"a": "risk"}, clock=lambda: now)
    shares.started("planner")
    now = 10.0
    assert shares.ordered(["x", "a"]) == ["x", "a"]


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.floats(0, 100))))
def test_the_order_has_each_queue_once(calls: list[tuple[int, bool, float]]) -> None:
    now = 0.0
    queues = [f"q{number}" for number in range(5)]
    shares = FairShare(lambda: {"q0": "a", "q1": "a", "q2": "b"}, clock=lambda: now)
    for number, is_start, pause in calls:
        now += pause
        (shares.started if is_start else shares.ended)(queues[number])
        assert sorted(shares.ordered(queues)) == queues
