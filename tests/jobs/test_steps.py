"""Defaults of a step: its name and its retry rule."""

from sluice import Step
from sluice.jobs.retry import none


class Pay(Step):
    pass


class Reserve(Step):
    name = "booking"


class Fetch(Step):
    def __init__(self, place: str) -> None:
        self.name = f"fetch from {place}"


def test_the_name_of_a_step_is_its_class_name_by_default() -> None:
    assert [step.name for step in (Pay(), Reserve(), Fetch("oslo"))] == ["Pay", "booking", "fetch from oslo"]


def test_a_step_is_not_retried_by_default() -> None:
    assert Pay().retry == none()
