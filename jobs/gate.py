"""What a job waits for, and what each state of a parent means to whoever waits for it."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import REVIVABLE, State

#: What a parent must come to before the child counts it as met.
When = Literal["succeeded", "failed", "finished", "running"]

_WENT_WRONG = frozenset({State.FAILED, State.FATAL, State.TIMED_OUT, State.EXPIRED, State.UPSTREAM_FAILED})
#: The states of a parent in which a need of each kind is met. One that was met by a running parent stays
#: met, whatever becomes of that, until the child is counted anew.
MET: Mapping[When, frozenset[State]] = {
    "succeeded": frozenset({State.SUCCEEDED}),
    "failed": _WENT_WRONG,
    "finished": REVIVABLE,
    "running": frozenset({State.RUNNING, State.SUSPENDED, State.EXECUTED, State.SUCCEEDED}),
}
#: Those in which it will not be met any more, unless somebody has the parent run again. In all others it is open.
DEAD_FOR: Mapping[When, frozenset[State]] = {when: REVIVABLE - met for when, met in MET.items()}


# A plan has hundreds of thousands of these, and none can be part of a cycle: the collector need not look at them.
class Need(Struct, frozen=True, gc=False):
    """A parent, and what it must come to; where it succeeded longer than ``lag_s_max`` ago, it has to do so anew."""

    parent: JobName
    when: When = "succeeded"
    lag_s_max: float | None = None


class Gate(Struct, frozen=True, gc=False):
    """One alternative set of needs. A job may run once every need of one of its gates is met.

    Needs are in canonical order and each parent stands in a gate once.
    """

    name: str
    needs: tuple[Need, ...]
