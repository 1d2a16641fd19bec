"""Random graphs: push and pull reach the same jobs. The real handlers work on a real ledger."""

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.states import State
from tests.acceptance.story import Teller
from tests.world import World

#: Each app with its parents, all of which it needs.
Graph = Mapping[str, tuple[str, ...]]


@st.composite
def drawn_graphs(draw: st.DrawFn) -> Graph:
    names = "abcdef"[: draw(st.integers(2, 6))]
    return {
        name: tuple(draw(st.lists(st.sampled_from(names[:place]), max_size=2, unique=True))) if place else ()
        for place, name in enumerate(names)
    }


@given(drawn_graphs(), st.data())
def test_a_push_from_the_roots_runs_every_job_that_a_pull_runs(
    ledger_url: str, graph: Graph, data: st.DataObject
) -> None:
    """The push also runs all other jobs that need only these roots, and no job that needs another root."""
    wanted = data.draw(st.lists(st.sampled_from(sorted(graph)), min_size=1, max_size=3, unique=True))
    needed = ancestors(graph, wanted)
    with World(ledger_url) as world:
        work_off(world, graph, f"submit {' '.join(wanted)} push=wanted")
        assert ran(world) == needed == set(world.states())
    beginnings = {app for app in needed if not graph[app]}
    follows = {
        app for app in graph if {each for each in ancestors(graph, [app]) if not graph[each]} <= beginnings
    }
    with World(ledger_url) as world:
        work_off(world, graph, f"submit {' '.join(sorted(beginnings))}")
        assert ran(world) == follows >= needed


@given(drawn_graphs(), st.data())
def test_a_failure_stops_exactly_its_downstream_jobs_until_it_is_rerun(
    ledger_url: str, graph: Graph, data: st.DataObject
) -> None:
    failing = data.draw(st.sampled_from(sorted(graph)))
    stopped = {app for app in graph if failing in ancestors(graph, [app])} - {failing}
    with World(ledger_url) as world:
        teller = Teller(world, notation(graph))
        teller.do(f"submit {' '.join(graph)} push=wanted")
        while ready := sorted(world.ready()):
            teller.do(f"{'fail' if ready[0] == failing else 'finish'} {ready[0]}")
        assert {app for app, state in world.states().items() if state is State.UPSTREAM_FAILED} == stopped
        assert ran(world) == set(graph) - stopped
        work_off(world, graph, f"submit {failing} rerun=job push=wanted")
        assert set(world.states().values()) == {State.SUCCEEDED}
        assert all(world.history(app).count("running") == 1 + (app == failing) for app in graph)


def notation(graph: Graph) -> str:
    """Return the graph in the notation of ``World.apps``."""
    edges = [f"{parent} -> {child}" for child, parents in graph.items() for parent in parents]
    return ", ".join([*graph, *edges])


def ancestors(graph: Graph, apps: Iterable[str]) -> set[str]:
    """Return these apps and all their upstream apps."""
    found: set[str] = set()
    ahead = [*apps]
    while ahead:
        app = ahead.pop()
        found.add(app)
        ahead += graph[app]
    return found


def work_off(world: World, graph: Graph, first: str) -> None:
    teller = Teller(world, notation(graph))
    teller.do(first)
    teller.work_off()


def ran(world: World) -> set[str]:
    return {app for app in world.states() if world.history(app).count("running")}
