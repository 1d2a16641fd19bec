"""Plans of jobs with keys that need chunks, and of chunks that push jobs: exactly the jobs of the plan run."""

from typing import Any, NamedTuple
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.jobs.keys.work_ids import parse_work_ids
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Tx
from sluice.ledger.job_graph import known_jobs
from sluice.ledger.keyspaces import partitions
from sluice.ledger.keyspaces.freshness import FreshnessFacts
from sluice.planner.keyspaces.chunks.chunk_plan import chunk
from sluice.planner.preview.forecast import Forecast
from sluice.planner.preview.preview import Preview
from sluice.planner.preview.pushes import chunks_with_pushed
from sluice.planner.preview.table_preview import preview_tables
from tests.planner.two_ways import DrawnNeeds
from tests.world import KeptLedger, World

_KEYS = ("graz", "oslo")
_IDS = (1, 2, 3, 4)
_BRIDGE = {"_func": "tests.planner.two_ways:DrawnNeeds", "app_name": ["score"]}


class Asked(NamedTuple):
    """Submission of ``mail`` or ``report`` by key, or of ``score`` by work IDs, with the IDs that fail."""

    app: str
    words: dict[str, Any]
    failing: frozenset[int]


def _asked(failing: st.SearchStrategy[frozenset[int]]) -> st.SearchStrategy[Asked]:
    push = st.sampled_from(["all", "wanted"])
    rerun = st.sampled_from([None, "job"])
    keyed = st.builds(
        lambda keys, push, rerun: {"keys": [*keys], "push": push, "rerun": rerun},
        st.sets(st.sampled_from(_KEYS), min_size=1),
        push,
        rerun,
    )
    ids = st.lists(st.sampled_from(_IDS), min_size=1, unique=True)
    chunked = st.builds(lambda ids, push: {"work_ids": ids, "push": push}, ids, push)
    return st.one_of(
        st.builds(Asked, st.sampled_from(["report", "mail"]), keyed, failing),
        st.builds(Asked, st.just("score"), chunked, failing),
    )


def _apps(chunk_size: int, lag: str | None) -> dict[str, Any]:
    work = {"bash_cmd": "true", "max_fails": 0}
    bridge = _BRIDGE | ({"max_lag": lag} if lag else {})
    return {
        "base": {**work, "chunk_size": 4},
        "score": {
            **work,
            "chunk_size": chunk_size,
            "dependencies": [{"job_type": "base", "max_lag": "1h"}],
        },
        "report": {**work, "job_id": "{shop}", "depends_on": bridge},
        "mail": {**work, "job_id": "{shop}", "depends_on": {"app_name": ["report"]}},
    }


def _run_everything(world: World, failing: frozenset[int] = frozenset()) -> None:
    while ready := world.ready():
        for job in sorted(ready):
            if world.state(job) is State.READY:
                fails = job.startswith("score/") and failing & {*parse_work_ids(job[6:].partition("@")[0])}
                world.finish(job, Ending.ERROR if fails else Ending.DONE)


def _shown(world: World, asked: Asked) -> Preview | None:
    """Return what would be planned."""

    def look(tx: Tx) -> Preview | None:
        past = FreshnessFacts(tx, tx.current_time(), number=0)

        def look_up(names: Any) -> Any:
            return known_jobs.find_with_ages(tx, names)

        if asked.app != "score":
            submission = Submission(app=asked.app, **(asked.words | {"keys": tuple(asked.words["keys"])}))
            return preview_tables(
                world.catalogue, submission, partitions.LedgerTables(tx), look_up, past
            ).keyed
        submission = Submission(app="score", push=asked.words["push"])
        found = chunk(world.catalogue, submission, parse_work_ids(asked.words["work_ids"]), past)
        whole = chunks_with_pushed(world.catalogue, submission, found, look_up, past)
        assert whole
        return whole

    return world.ledger.transact(look)


def _claims(world: World) -> dict[str, int]:
    return {name: int(world.field(name, "claim")) for name in world.states()}


class Case(NamedTuple):
    """Definitions, earlier submissions, and the submission that is planned."""

    pairs: set[tuple[str, int]]
    chunk_size: int
    lag: str | None
    before: list[Asked]
    asked: Asked


_CASES = st.builds(
    Case,
    st.sets(st.tuples(st.sampled_from(_KEYS), st.sampled_from(_IDS))),
    st.integers(1, 3),
    st.sampled_from([None, "1h"]),
    st.lists(_asked(st.frozensets(st.sampled_from(_IDS), max_size=1)), max_size=2),
    _asked(st.just(frozenset())),
)


_SHOP = {"keys": ["graz"], "push": "all"}


@settings(derandomize=True)
@example(
    Case(
        pairs={("graz", 2)},
        chunk_size=1,
        lag=None,
        before=[Asked("report", {**_SHOP, "rerun": None}, frozenset({2}))],
        asked=Asked("mail", {**_SHOP, "rerun": "job"}, frozenset()),
    )
)
@given(_CASES)
def test_exactly_the_jobs_of_the_plan_run(ledger_url: str, kept_ledger: KeptLedger, drawn: Case) -> None:
    with World(ledger_url, kept_ledger) as world, patch.object(DrawnNeeds, "pairs", drawn.pairs):
        world.define(_apps(drawn.chunk_size, drawn.lag))
        for each in drawn.before:
            world.submit(each.app, None, **each.words)
            _run_everything(world, each.failing)
            world.tick(after_s=1_900)
        found = _shown(world, drawn.asked)
        claims = _claims(world)
        world.submit(drawn.asked.app, None, **drawn.asked.words)
        _run_everything(world)
        ran = {
            name.partition("@")[0] for name, claim in _claims(world).items() if claim > claims.get(name, 0)
        }
        assert found
        new = {str(job.name) for job in found.jobs if found.outlook[job.name].fate is Forecast.NEW}
        assert {name.partition("@")[0] for name in new} == ran, f"{world.states()} {claims}"
