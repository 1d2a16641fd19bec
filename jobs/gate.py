"""What a job waits for."""

from typing import Literal

from msgspec import Struct

from jobs.ref import JobName

#: What a parent must come to before the child counts it as met.
When = Literal["succeeded", "failed", "finished", "running"]


class Need(Struct, frozen=True):
    """A parent, and what it must come to."""

    parent: JobName
    when: When = "succeeded"


class Gate(Struct, frozen=True):
    """One alternative set of needs. A job may run once every need of one of its gates is met.

    Needs are in canonical order and each parent stands in a gate once.
    """

    name: str
    needs: tuple[Need, ...]
