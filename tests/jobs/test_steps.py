"""What a step is called, where nothing else is said of it."""

from sluice import Step
from sluice.jobs.retry import none


class Pay(Step):
    pass


class Reserve(Step):
    name = "booking"


class Fetch(Step):
    def __init__(self, place: str) -> None:
        self.name = f"fetch from {place}"


def test_a_step_is_called_like_its_class_or_as_it_says() -> None:
    assert [step.name for step in (Pay(), Reserve(), Fetch("oslo"))] == ["Pay", "booking", "fetch from oslo"]


def test_a_step_is_not_tried_again_unless_it_says_so() -> None:
    assert Pay().retry == none()
