"""Dependency groups of a job, and dependencies that a user's function computes.

A ``Gate`` is a dependency group. ``MET`` and ``DEAD_FOR`` define the meaning of each parent state for its dependencies.
A ``TwoWay`` function computes dependencies in both directions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.identifiers import Value
from sluice.jobs.model.names import JobName
from sluice.jobs.states import RERUNNABLE, State

#: Condition that a parent must fulfil before the child counts it as met.
When = Literal["succeeded", "failed", "finished", "running"]

_WENT_WRONG = frozenset({State.FAILED, State.FATAL, State.TIMED_OUT, State.EXPIRED, State.UPSTREAM_FAILED})
#: The parent states in which a need of each kind is met. A need that was met by a running parent stays met, even if
#: the parent's state changes, until the child's needs are counted again.
MET: Mapping[When, frozenset[State]] = {
    "succeeded": frozenset({State.SUCCEEDED}),
    "failed": _WENT_WRONG,
    "finished": RERUNNABLE,
    "running": frozenset({State.RUNNING, State.SUSPENDED, State.EXECUTED, State.SUCCEEDED}),
}
#: The parent states in which a need of each kind cannot be met unless the parent is run again. In all others it is
#: open.
DEAD_FOR: Mapping[When, frozenset[State]] = {when: RERUNNABLE - met for when, met in MET.items()}


# A plan has hundreds of thousands of these. None can be part of a cycle, so the garbage collector need not track
# them.
class Need(Struct, frozen=True, gc=False):
    """Dependency: a parent and its required condition.

    If the parent succeeded more than ``lag_s_max`` seconds ago, it must succeed again. An ``added`` dependency comes
    from a job that added jobs (``jobs.expansions``), and not from the definition. ``is_met``: the transaction that
    plans it holds the parent, which is in the required condition.
    """

    parent: JobName
    when: When = "succeeded"
    lag_s_max: float | None = None
    added: bool = False
    is_met: bool = False


class Gate(Struct, frozen=True, gc=False):
    """Dependency group: one alternative set of needs. A job may run when every need of at least one gate is met.

    Needs are in canonical order. Each parent occurs once in a gate.
    """

    name: str
    needs: tuple[Need, ...]


#: Maximum number of jobs that one call of a user's function may name.
NEIGHBOURS_MAX = 1_000_000

#: Called with the app and the identifiers of one job. Returns pairs of an app, and the identifiers or the key of a job.
Neighbours = Callable[[str, Mapping[str, Value]], Iterable[Any]]


class Neighbour(NamedTuple):
    """One job as the user's function names it, by its identifiers or by its whole key."""

    app: str
    ids: Mapping[str, object] | str


class TwoWay(Struct, frozen=True):
    """Functions ``parents(app, ids)`` and ``children(app, ids)`` of the user's object.

    Without ``children``, parents are resolved through it but no children are triggered. The results of both must
    depend on nothing but the arguments. For an app that is keyed by chunk, a call is about one work ID: the only
    identifier is ``work_id``.
    """

    path: str
    parents: Neighbours
    children: Neighbours | None = None

    def parents_of(self, app: str, ids: Mapping[str, Value]) -> Iterator[Neighbour]:
        return self._ask("parents", self.parents, app, ids)

    def children_of(self, app: str, ids: Mapping[str, Value]) -> Iterator[Neighbour]:
        return iter(()) if self.children is None else self._ask("children", self.children, app, ids)

    def refusal(self, what: str, app: str, ids: Mapping[str, Value]) -> BadRequest:
        """Return the error for a fault of the function at this job."""
        asked = ", ".join(f"{name}={value}" for name, value in ids.items())
        return BadRequest(f"{self.path}, called for {app} ({asked}), {what}.", where=app)

    def _ask(
        self, side: str, function: Neighbours, app: str, ids: Mapping[str, Value]
    ) -> Iterator[Neighbour]:
        try:
            answer = list(islice(function(app, dict(ids)), NEIGHBOURS_MAX + 1))
        except Exception as error:
            raise self.refusal(f"raised {type(error).__name__} in {side}: {error}", app, ids) from error
        if len(answer) > NEIGHBOURS_MAX:
            raise self.refusal(f"named more than {NEIGHBOURS_MAX:,} jobs in {side}", app, ids)
        for each in answer:
            if not _is_neighbour(each):
                raise self.refusal(
                    f"returned {each!r} in {side}; it has to be a pair of an app and its identifiers",
                    app,
                    ids,
                )
            yield Neighbour(*each)


def _is_neighbour(answer: object) -> bool:
    return (
        isinstance(answer, tuple | list)
        and len(answer) == 2
        and isinstance(answer[0], str)
        and isinstance(answer[1], Mapping | str)
    )
