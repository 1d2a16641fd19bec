"""The jobs that a preview lists, with pushed children, compared with the jobs that a submission then runs."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.jobs.model.job import Ending
from sluice.jobs.model.names import JobName
from sluice.jobs.model.plan import KnownJob
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import LIVE, State
from sluice.ledger.job_graph import known_jobs
from sluice.planner.preview.critical_path import critical_path
from sluice.planner.preview.forecast import Forecast
from sluice.planner.preview.preview import Preview, preview
from sluice.planner.preview.pushes import with_pushed
from tests.planner.drawn_chunks import Drawn, Known
from tests.world import KeptLedger, World

SHOPS = ["g", "o"]


class Before(NamedTuple):
    """Submission that was run before, and the apps of which all jobs failed then."""

    app: str
    failing: Collection[str] = ()
    push: str = "all"
    rerun: str | None = None


class Pipeline(NamedTuple):
    """Apps, submissions that were run before, and the submission with its options."""

    apps: dict[str, dict[str, Any]]
    before: list[Before]
    asked: str
    options: dict[str, Any]


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """Draw apps of which each may need earlier apps, in one group or in two. Some have one job for each shop."""
    size = draw(st.integers(1, 7))
    by_shop = [draw(st.booleans()) for _ in range(size)]
    apps: dict[str, dict[str, Any]] = {}
    for place in range(size):
        key = "{n}_{shop}" if by_shop[place] else "{n}"
        app: dict[str, Any] = {"job_id": key, "bash_cmd": "true", "max_fails": 0}
        apps[f"a{place}"] = app
        if by_shop[place]:
            app["autofill_values"] = {"shop": SHOPS}
        parents = draw(st.lists(st.integers(0, place - 1), unique=True, max_size=3)) if place else []
        if not parents:
            continue
        whens = [draw(st.sampled_from(["succeeded", "succeeded", "finished", "running"])) for _ in parents]
        mappings = [
            {"app_name": [f"a{parent}"], "when": when}
            | ({"shop": "all"} if by_shop[parent] and not by_shop[place] else {})
            for parent, when in zip(parents, whens, strict=True)
        ]
        cut = draw(st.integers(1, len(mappings)))
        groups = {"one": mappings[:cut], "two": mappings[cut:]}
        app["depends_on"] = {name: group for name, group in groups.items() if group}
    names = st.sampled_from([*apps])
    pushes, reruns = st.sampled_from(["all", "wanted"]), st.sampled_from([None, "job", "downstream"])
    before = st.builds(Before, names, st.sets(names, max_size=2), pushes, reruns)
    return Pipeline(
        apps=apps,
        before=draw(st.lists(before, max_size=3)),
        asked=draw(names),
        options={"push": draw(pushes), "rerun": draw(reruns)},
    )


def run_everything(world: World, failing: Collection[str] = ()) -> None:
    while ready := world.ready():
        for job in sorted(ready):
            if world.state(job) is State.READY:
                world.finish(job, Ending.ERROR if job.split("/")[0] in failing else Ending.DONE)


def keys(world: World, app: str) -> list[str]:
    return [f"7_{shop}" for shop in SHOPS] if world.catalogue[app].autofill else ["7"]


def shown(world: World, submission: Submission) -> Preview:
    def look_up(names: list[JobName]) -> Mapping[JobName, KnownJob]:
        return world.ledger.transact(lambda tx: known_jobs.find_with_ages(tx, names))

    found = preview(world.catalogue, submission, look_up, world.now)
    past = Known(Drawn({}, (), {}, {}), world.now)
    return with_pushed(world.catalogue, submission, found, look_up, past)


def rerun_of(*before: Before, **needs: Mapping[str, Mapping[str, str]] | None) -> Pipeline:
    """Return a pipeline in which the last app runs again. ``needs`` has the needs of each app by group: the app that is
    needed, and the condition. An app with None passes no filter."""
    apps: dict[str, dict[str, Any]] = {}
    for name, groups in needs.items():
        apps[name] = {"job_id": "{n}", "bash_cmd": "true", "max_fails": 0}
        if groups is None:
            apps[name]["valid_if_or"] = {"n": ["8"]}
        elif groups:
            apps[name]["depends_on"] = {
                group: [{"app_name": [app], "when": when} for app, when in needed.items()]
                for group, needed in groups.items()
            }
    asked = [*apps][-1]
    return Pipeline(apps, [*before], asked, {"push": "wanted", "rerun": "job"})


#: The parent that was running has failed since, and the other group can still be met.
STARTED_OR_SUCCEEDED = rerun_of(
    Before("a1", ["a1"]),
    Before("a2", ["a2"]),
    a0={},
    a1={"one": {"a0": "succeeded"}},
    a2={"one": {"a0": "succeeded"}, "two": {"a1": "running"}},
)
STARTED = rerun_of(Before("a1", ["a0", "a1"]), a0={}, a1={"one": {"a0": "running"}})
FAILED_LATER = rerun_of(
    Before("a1", ["a1"]), Before("a0", ["a0"], rerun="job"), a0={}, a1={"one": {"a0": "succeeded"}}
)
FINISHED = rerun_of(Before("a1", ["a0"]), a0={}, a1={"one": {"a0": "finished"}})
FINISHED_ABOVE = rerun_of(
    Before("a2", ["a0", "a1"]), a0={}, a1={"one": {"a0": "finished"}}, a2={"one": {"a1": "succeeded"}}
)
FAILED = rerun_of(Before("a1", ["a0"]), a0={}, a1={"one": {"a0": "failed"}})
FILTERED = rerun_of(Before("a1"), a0=None, a1={"one": {"a0": "succeeded"}})


@settings(derandomize=True)
@given(pipelines())
@example(STARTED_OR_SUCCEEDED)
@example(STARTED)
@example(FAILED_LATER)
@example(FINISHED)
@example(FINISHED_ABOVE)
@example(FAILED)
@example(FILTERED)
def test_exactly_the_jobs_of_the_plan_run(ledger_url: str, kept_ledger: KeptLedger, drawn: Pipeline) -> None:
    with World(ledger_url, kept_ledger) as world:
        world.define(drawn.apps)
        for app, failing, push, rerun in drawn.before:
            world.submit(app, None, keys=keys(world, app), push=push, rerun=rerun)
            run_everything(world, failing)
        found = shown(
            world, Submission(app=drawn.asked, keys=tuple(keys(world, drawn.asked)), **drawn.options)
        )
        before = dict(world.states())
        claims = {name: known_claims(world, name) for name in world.states()}
        world.submit(drawn.asked, None, keys=keys(world, drawn.asked), **drawn.options)
        run_everything(world)
        ran = {name for name in world.states() if known_claims(world, name) > claims.get(name, 0)}
        new, under_way = (
            {str(job.name) for job in found.jobs if found.outlook[job.name].fate is fate}
            for fate in (Forecast.NEW, Forecast.UNDER_WAY)
        )
        assert new == ran - under_way, f"{drawn} {world.states()} {before}"
        waiting = {name for name, state in world.states().items() if state in LIVE - {State.EXPECTED}}
        assert {str(name) for name, _ in found.held} <= waiting
        assert {*map(str, found.pushed)} <= new
        path = critical_path(found, None)
        assert {*map(str, path.jobs)} <= ran


def known_claims(world: World, job: str) -> int:
    return int(world.field(job, "claim"))
