"""Order of queues that share slots."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.broker.consumer.intake import QUIET_FIRST, Rota


def serve_round(rota: Rota, waiting: dict[str, int]) -> str | None:
    """Ask queues in order until one has a message, as an intake does with one slot. Return that queue."""
    for queue in rota.order():
        if waiting.get(queue):
            waiting[queue] -= 1
            rota.served(queue)
            return queue
        rota.was_empty(queue)
    return None


def test_two_long_backlogs_are_served_alternately() -> None:
    rota, waiting = Rota(["a", "b", "c"]), {"a": 3, "b": 3}
    served = [serve_round(rota, waiting) for _ in range(7)]
    assert sorted(served[:2], key=str) == ["a", "b"]
    assert served == [*served[:2] * 3, None]


def test_a_quiet_queue_is_served_before_a_backlog_continues() -> None:
    rota, waiting = Rota(["a", "b"]), {"a": 9}
    assert serve_round(rota, waiting) == "a"
    waiting["b"] = 1
    assert serve_round(rota, waiting) == "b"


@given(st.integers(1, 40), st.integers(1, 40))
def test_no_queue_waits_longer_than_one_round_of_the_quiet_queues(queues: int, which: int) -> None:
    names = [f"q{number}" for number in range(queues)]
    rota, late = Rota(names), names[which % queues]
    waiting = {names[0]: 10_000}
    serve_round(rota, waiting)
    waiting[late] = waiting.get(late, 0) + 1
    served = [serve_round(rota, waiting) for _ in range(queues // QUIET_FIRST + 2)]
    assert late in served


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans())))
def test_the_order_contains_every_queue_once(answers: list[tuple[int, bool]]) -> None:
    names = [f"q{number}" for number in range(10)]
    rota = Rota(names)
    for number, had_message in answers:
        (rota.served if had_message else rota.was_empty)(names[number])
    assert sorted(rota.order()) == sorted(names)
