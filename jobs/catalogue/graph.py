"""Who comes before whom, and where that bites its own tail."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

_CYCLES_MAX = 20

N = TypeVar("N", bound=Hashable)


def cycles(parents: Mapping[N, Collection[N]]) -> Iterator[tuple[N, ...]]:
    """Each cycle as a path from parent to child, ending where it begins.

    One is found at a time; without its last step the rest is searched again, for at most so many as a
    person will read.
    """
    left = {child: list(dict.fromkeys(of)) for child, of in parents.items()}
    for _ in range(_CYCLES_MAX):
        try:
            TopologicalSorter(left).prepare()
            return
        except CycleError as error:
            path = error.args[1]
        yield _from_smallest(path)
        left[path[1]].remove(path[0])


def ranks(parents: Mapping[str, Collection[str]]) -> dict[str, int]:
    """A number for each, greater than that of any parent; the same wherever the definitions are the same.

    CycleError where an app comes before itself.
    """
    levels: dict[str, int] = {}
    for app in TopologicalSorter(parents).static_order():
        levels[app] = 1 + max((levels[parent] for parent in parents[app]), default=-1)
    ordered = sorted(levels, key=lambda app: (levels[app], app))
    return {app: rank for rank, app in enumerate(ordered)}


def _from_smallest(path: list[N]) -> tuple[N, ...]:
    steps = path[:-1]
    start = steps.index(min(steps, key=str))
    return (*steps[start:], *steps[:start], steps[start])
