"""Random graphs, lags and pasts: a requested job runs only on inputs that are fresh enough for it.

The real handlers work on a real ledger, with a clock that advances in the meantime.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.job_graph import known_jobs
from sluice.ops.documents.plan_document import as_document
from sluice.planner.preview.preview import preview
from tests.acceptance.story import Teller
from tests.world import World

HOUR_S = 3600


class Way(NamedTuple):
    """Alternative: all of these apps must have succeeded, at most ``lag_s`` seconds ago. None: at any time."""

    apps: tuple[str, ...]
    lag_s: int | None


Graph = dict[str, list[Way]]


@st.composite
def drawn_graphs(draw: st.DrawFn, *, ways_max: int) -> Graph:
    names = "abcdef"[: draw(st.integers(2, 6))]
    graph: Graph = {names[0]: []}
    for place, name in enumerate(names[1:], start=1):
        apps = st.lists(st.sampled_from(names[:place]), min_size=1, max_size=2, unique=True)
        lag_s = st.sampled_from([None, 0, HOUR_S, 6 * HOUR_S])
        way = st.builds(Way, apps.map(sorted).map(tuple), lag_s)
        graph[name] = draw(st.lists(way, max_size=ways_max, unique=True))
    return graph


@given(drawn_graphs(ways_max=2), st.data())
def test_a_requested_job_runs_only_on_inputs_that_are_fresh_enough(
    ledger_url: str, graph: Graph, data: st.DataObject
) -> None:
    with World(ledger_url) as world:
        teller = Teller(world, defined(graph))
        have_a_past(world, teller, graph, data)
        asked, again = data.draw(st.sampled_from(sorted(graph))), data.draw(st.booleans())
        planned, before = world.now, runs(world)
        teller.do(f"submit {asked} push=wanted{' rerun=job' if again else ''}")
        begun = {app for app, state in world.states().items() if state in (State.WAITING, State.READY)}
        pushed = waiting_since(world, begun, before=planned)
        work_off(world, teller, data, failing=data.draw(failures(graph)))
        for app in begun - pushed:
            if runs(world)[app] > before.get(app, 0):
                ran = times(world, app, State.RUNNING)[before.get(app, 0)]
                assert not graph[app] or any(is_fresh(world, way, planned, ran) for way in graph[app])


@given(drawn_graphs(ways_max=2), st.data())
def test_all_jobs_of_a_plan_run_and_succeeded_jobs_only_if_stale(
    ledger_url: str, graph: Graph, data: st.DataObject
) -> None:
    with World(ledger_url) as world:
        teller = Teller(world, defined(graph))
        have_a_past(world, teller, graph, data)
        asked = data.draw(st.sampled_from(sorted(graph)))
        document, before, earlier = plan(world, asked), runs(world), world.states()
        teller.do(f"submit {asked} push=wanted")
        work_off(world, teller, data, failing=())
        ran = {app for app, times in runs(world).items() if times > before.get(app, 0)}
        told = {job["app"]: job.get("why", "") for job in document["jobs"]}
        assert told.keys() <= ran
        stale = {app for app, why in told.items() if why.startswith("stale: last ran ")}
        assert stale == {app for app in ran if earlier.get(app) is State.SUCCEEDED}
        assert (world.state(asked) is State.SUCCEEDED) == (
            asked not in {job["app"] for job in document["errors"]}
        )


def have_a_past(world: World, teller: Teller, graph: Graph, data: st.DataObject) -> None:
    """Submit some apps at several times, and let some of their jobs fail."""
    for app in data.draw(st.lists(st.sampled_from(sorted(graph)), max_size=3)):
        push = data.draw(st.sampled_from(["all", "wanted"]))
        teller.do(f"submit {app} push={push}")
        work_off(world, teller, data, failing=data.draw(failures(graph)))
        pass_time(world, data.draw(st.sampled_from([0.0, 0.5 * HOUR_S, HOUR_S, 3 * HOUR_S, 7 * HOUR_S])))


def failures(graph: Graph) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(sorted(graph)), max_size=2, unique=True)


def defined(graph: Graph) -> dict[str, dict[str, Any]]:
    return {
        app: {
            "job_id": "{x}",
            "depends_on": {
                f"way{place}": {
                    "app_name": [*way.apps],
                    **({} if way.lag_s is None else {"max_lag": f"{way.lag_s}s"}),
                }
                for place, way in enumerate(ways)
            },
        }
        for app, ways in graph.items()
    }


def work_off(world: World, teller: Teller, data: st.DataObject, failing: Collection[str]) -> None:
    """Run ready jobs in any order, a minute each, until none is left."""
    while ready := sorted(world.ready()):
        job = data.draw(st.sampled_from(ready))
        pass_time(world, 60)
        teller.do(f"{'fail' if job in failing else 'finish'} {job}")


def pass_time(world: World, seconds: float) -> None:
    world.now += timedelta(seconds=seconds)
    world.worker = world.hire()


def is_fresh(world: World, way: Way, planned: datetime, ran: datetime) -> bool:
    """Return whether each app of the alternative had succeeded when the child ran, and not too long before the child
    was planned."""
    for app in way.apps:
        last = max((at for at in times(world, app, State.SUCCEEDED) if at <= ran), default=None)
        if last is None or (way.lag_s is not None and planned - last > timedelta(seconds=way.lag_s)):
            return False
    return True


def waiting_since(world: World, apps: Collection[str], *, before: datetime) -> set[str]:
    """Return the apps with jobs that have waited since before this time. An earlier submission pushed them, and they
    keep their inputs."""
    return {app for app in apps if max(times(world, app, State.WAITING), default=before) < before}


def times(world: World, app: str, target: State) -> list[datetime]:
    """Return the times at which the job entered this state."""
    job = world.known(app).id
    sql = "SELECT at FROM transition WHERE job = %(job)s AND target = %(target)s ORDER BY id"
    return world.ledger.transact(lambda tx: tx.column(sql, job=job, target=target))


def plan(world: World, app: str) -> dict[str, Any]:
    """Return the document of ``sluice plan`` on this ledger."""

    def look_up(names: list[JobName]) -> dict[JobName, KnownJob]:
        return world.ledger.transact(lambda tx: known_jobs.find_with_ages(tx, names))

    submission = Submission(app=app, key="1", push="wanted")
    found = preview(world.catalogue, submission, look_up, world.now)
    return to_builtins(as_document(found, {}, now=world.now))


def runs(world: World) -> dict[str, int]:
    return {app: world.history(app).count("running") for app in world.states()}
