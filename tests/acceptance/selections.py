"""Functions that select the work IDs of a submission, as users write them."""

from threading import Event
from typing import Any


def nothing(**_: object) -> list[int]:
    return []


def out_of_order(**_: object) -> tuple[list[int], str]:
    return [5, 3, 4], "x"


def two(**_: object) -> list[int]:
    return [0, 1]


def broken(**_: object) -> list[int]:
    raise ConnectionError("the shop does not answer")


def by_region(region: str, **_: object) -> list[int]:
    return {"north": [1, 2], "south": [3]}[region]


def three_and_other_kwargs(only: int) -> tuple[list[int], dict[str, Any]]:
    return [1, 2, 3], {"k": only}


class Slow:
    """Function that returns when ``answer`` is set. ``asked`` is set when it has begun."""

    def __init__(self) -> None:
        self.asked = Event()
        self.answer = Event()

    def __call__(self, **_: object) -> list[int]:
        self.asked.set()
        assert self.answer.wait(30), "the test did not set the answer in time"
        return [1, 2]


slow = Slow()
