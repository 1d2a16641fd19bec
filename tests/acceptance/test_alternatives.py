"""Random alternatives and failures: a job that can succeed by any alternative does, and runs once.

The graphs and the order of work are random too. The real handlers work on a real ledger.
"""

from collections.abc import Collection
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.states import State
from tests.acceptance.story import Teller
from tests.world import World

#: Each app with its alternatives. An alternative is a list of apps, all of which it needs.
Graph = dict[str, list[list[str]]]


@st.composite
def drawn_graphs(draw: st.DrawFn) -> Graph:
    names = "abcdefg"[: draw(st.integers(3, 7))]
    graph: Graph = {names[0]: []}
    for place, name in enumerate(names[1:], start=1):
        way = st.lists(st.sampled_from(names[:place]), min_size=1, max_size=2, unique=True).map(sorted)
        graph[name] = draw(st.lists(way, max_size=3, unique_by=tuple))
    return graph


@given(drawn_graphs(), st.data())
def test_a_job_succeeds_by_any_alternative_or_once_failed_jobs_are_rerun(
    ledger_url: str, graph: Graph, data: st.DataObject
) -> None:
    failing = drawn_from(data, graph, least=0)
    wanted = drawn_from(data, graph, least=1)

    @cache
    def end(app: str) -> State:
        if graph[app] and not any(all(end(each) is State.SUCCEEDED for each in way) for way in graph[app]):
            return State.UPSTREAM_FAILED
        return State.FAILED if app in failing else State.SUCCEEDED

    with World(ledger_url) as world:
        teller = Teller(world, defined(graph))
        teller.do(f"submit {' '.join(wanted)} push=wanted")
        work_off(world, teller, data, failing)
        found = world.states()
        assert all(found[app] is end(app) for app in wanted)
        assert all(state in (end(app), State.EXPECTED) for app, state in found.items())
        assert all(world.history(app).count("running") <= 1 for app in found)
        for app in [app for app, state in found.items() if state is State.FAILED]:
            teller.do(f"submit {app} rerun=job push=wanted")
        work_off(world, teller, data, failing=())
        assert {world.state(app) for app in wanted} == {State.SUCCEEDED}


def drawn_from(data: st.DataObject, graph: Graph, *, least: int) -> list[str]:
    return data.draw(st.lists(st.sampled_from(sorted(graph)), min_size=least, max_size=3, unique=True))


def defined(graph: Graph) -> dict[str, dict[str, Any]]:
    return {
        app: {
            "job_id": "{x}",
            "depends_on": {f"way{place}": {"app_name": way} for place, way in enumerate(ways)},
        }
        for app, ways in graph.items()
    }


def work_off(world: World, teller: Teller, data: st.DataObject, failing: Collection[str]) -> None:
    """Run ready jobs in any order until none is left."""
    while ready := sorted(world.ready()):
        job = data.draw(st.sampled_from(ready))
        teller.do(f"{'fail' if job in failing else 'finish'} {job}")
