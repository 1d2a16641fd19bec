"""Order and cycles of a dependency graph."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

_CYCLES_MAX = 20

N = TypeVar("N", bound=Hashable)


def cycles(parents: Mapping[N, Collection[N]]) -> Iterator[tuple[N, ...]]:
    """Yield each cycle as a path from parent to child that ends where it begins.

    One cycle is found at a time. Its last step is removed and the rest is searched again, up to ``_CYCLES_MAX``
    cycles, as many as a person will read.
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
    """Return a rank for each app, greater than that of any parent. Equal definitions give equal ranks.

    Raises CycleError if an app is its own ancestor.
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
