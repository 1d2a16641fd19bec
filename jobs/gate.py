"""Dependency groups of a job, and the meaning of each parent state for them."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import REVIVABLE, State

#: Condition that a parent must fulfil before the child counts it as met.
When = Literal["succeeded", "failed", "finished", "running"]

_WENT_WRONG = frozenset({State.FAILED, State.FATAL, State.TIMED_OUT, State.EXPIRED, State.UPSTREAM_FAILED})
#: The parent states in which a need of each kind is met. A need that was met by a running parent stays met, even if
#: the parent's state changes, until the child's needs are counted again.
MET: Mapping[When, frozenset[State]] = {
    "succeeded": frozenset({State.SUCCEEDED}),
    "failed": _WENT_WRONG,
    "finished": REVIVABLE,
    "running": frozenset({State.RUNNING, State.SUSPENDED, State.EXECUTED, State.SUCCEEDED}),
}
#: The parent states in which a need of each kind cannot be met unless the parent is run again. In all others it is
#: open.
DEAD_FOR: Mapping[When, frozenset[State]] = {when: REVIVABLE - met for when, met in MET.items()}


# A plan has hundreds of thousands of these. None can be part of a cycle, so the garbage collector need not track
# them.
class Need(Struct, frozen=True, gc=False):
    """Dependency: a parent and its required condition.

    If the parent succeeded more than ``lag_s_max`` seconds ago, it must succeed again.
    """

    parent: JobName
    when: When = "succeeded"
    lag_s_max: float | None = None


class Gate(Struct, frozen=True, gc=False):
    """Dependency group: one alternative set of needs. A job may run when every need of one of its gates is met.

    Needs are in canonical order. Each parent occurs once in a gate.
    """

    name: str
    needs: tuple[Need, ...]
