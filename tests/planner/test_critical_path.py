"""Critical path of a preview, compared with networkx where a plan has no alternatives."""

from collections.abc import Mapping, Sequence
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.planner.preview.critical_path import CriticalPath, critical_path
from tests.planner.definitions import catalogue_of, previewed

_APP = {"job_id": "{n}"}
#: Seconds of each app, and the parents of each among the earlier ones.
_Graph = Sequence[tuple[int, Sequence[int]]]


@st.composite
def _graphs(draw: st.DrawFn) -> _Graph:
    size = draw(st.integers(1, 7))
    parents = (
        st.lists(st.sampled_from(range(place)), unique=True) if place else st.just([])
        for place in range(size)
    )
    return [(draw(st.integers(1, 4)), draw(of)) for of in parents]


@given(_graphs(), st.booleans())
def test_the_path_and_the_level_are_those_of_the_graph(drawn: _Graph, is_timed: bool) -> None:
    paces_s = {f"a{place}": float(seconds) for place, (seconds, _) in enumerate(drawn)}
    needs = {f"a{place}": [f"a{parent}" for parent in parents] for place, (_, parents) in enumerate(drawn)}
    apps = {name: _APP | _needs(parents) for name, parents in needs.items()}
    found = _path(
        {**apps, "last": _APP | _needs([*needs])},
        "last",
        paces_s={**paces_s, "last": 1.0} if is_timed else None,
    )
    graph = networkx.DiGraph()
    for name, parents in needs.items():
        for before in [*parents, ""]:
            graph.add_edge(before, name, weight=paces_s[name] if is_timed else 1.0)
    assert found.length == networkx.dag_longest_path_length(graph) + 1
    path = [name.app for name in found.jobs]
    assert networkx.is_path(graph, path[:-1])
    assert sum(paces_s.get(name, 1.0) if is_timed else 1 for name in path) == found.length
    graph.remove_node("")
    assert found.widest_level == max(map(len, networkx.topological_generations(graph)))
    assert found.widest_level <= max(map(len, networkx.antichains(graph)))


def test_a_job_waits_for_the_group_that_is_met_first() -> None:
    apps = {
        "slow": _APP,
        "quick": _APP,
        "either": _APP | {"depends_on": {"one": {"app_name": ["slow"]}, "two": {"app_name": ["quick"]}}},
    }
    paces_s = {"slow": 9.0, "quick": 1.0, "either": 2.0, "after": 8.0}
    apps["after"] = _APP | _needs(["either"])
    found = _path(apps, "after", paces_s=paces_s, pull="all")
    assert ([name.app for name in found.jobs], found.length) == (["quick", "either", "after"], 11.0)


def test_a_group_that_is_not_requested_is_not_awaited() -> None:
    apps = {
        "slow": _APP,
        "quick": _APP,
        "either": _APP | {"depends_on": {"one": {"app_name": ["slow"]}, "two": {"app_name": ["quick"]}}},
    }
    found = _path(apps, "either", paces_s={"slow": 9.0, "quick": 1.0, "either": 2.0})
    assert ([name.app for name in found.jobs], found.length) == (["slow", "either"], 11.0)


_CHAIN = {
    "a": _APP,
    "b": _APP | {"depends_on": {"app_name": ["a"]}},
    "c": _APP | {"depends_on": {"app_name": ["b"]}},
}


@pytest.mark.parametrize(
    ("known", "path"),
    [
        ({}, "abc"),
        ({"a": State.SUCCEEDED}, "bc"),
        ({"a": State.RUNNING}, "bc"),
        ({"b": State.WAITING, "a": State.EXPECTED}, "ac"),
        ({"c": State.SUCCEEDED}, ""),
    ],
)
def test_only_jobs_that_would_run_are_on_the_path(known: Mapping[str, State], path: str) -> None:
    found = _path(_CHAIN, "c", known)
    assert ("".join(name.app for name in found.jobs), found.length) == (path, len(path))
    assert found.widest_level == bool(path)


def test_a_job_that_needs_a_running_parent_starts_with_it() -> None:
    apps = {"a": _APP, "b": _APP | {"depends_on": {"app_name": ["a"], "when": "running"}}}
    assert _path(apps, "b", paces_s={"a": 5.0, "b": 2.0}).length == 5.0


def _path(
    apps: Mapping[str, Any],
    app: str,
    known: Mapping[str, State] | None = None,
    *,
    paces_s: Mapping[str, float] | None = None,
    **policy: str,
) -> CriticalPath:
    states = {JobName(name, "1"): state for name, state in (known or {}).items()}
    submission = Submission(app=app, key="1", policy=policy)
    return critical_path(previewed(catalogue_of(apps), submission, states), paces_s)


def _needs(parents: Sequence[str]) -> dict[str, Any]:
    return {"depends_on": {"app_name": [*parents]}} if parents else {}
