"""``sluice bench``: each workload runs and returns its figures. The figures are not judged here."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from sluice.jobs.errors import SluiceError
from sluice.jobs.states import State
from sluice.ledger import fixtures
from sluice.ops.bench import pipelines, shapes, workloads
from sluice.ops.bench.pipelines import Apps, deep, grid, layers, many_apps
from sluice.ops.bench.sample import summaries
from tests.ops.typist import Typist
from tests.planner.definitions import catalogue_of
from tests.world import World

SCALE = "0.004"


@pytest.mark.parametrize(
    "apps", [many_apps(), grid(), layers(), deep(groups=3)], ids=["many", "grid", "layers", "deep"]
)
def test_the_measured_definitions_can_be_loaded(apps: Apps) -> None:
    assert len(catalogue_of(apps)) == len(apps)


@pytest.mark.parametrize(
    "name", [name for name in workloads.WORKLOADS if not name.startswith(("plan", "embedded", "looking"))]
)
def test_a_workload_returns_positive_figures(name: str, embedded_url: str) -> None:
    # Each has a ledger of its own, because workloads use the same ids of submissions.
    with fixtures.scratch_ledger(embedded_url) as url:
        figures = workloads.WORKLOADS[name].run(url)
    assert figures
    assert all(value > 0 for value in figures.values())


def test_the_plan_workload_counts_its_jobs_and_needs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def small() -> Mapping[str, Any]:
        return {
            "row": {"job_id": "{y}"},
            "cell": {
                "job_id": "{x}_{y}",
                "autofill_values": {"x": "0:3", "y": "0:2"},
                "depends_on": {"app_name": ["row"]},
            },
        }

    monkeypatch.setattr(workloads, "grid", small)
    figures = workloads.WORKLOADS["plan-grid"].run(world.url)
    assert (figures["jobs"], figures["needs"]) == (8, 6)


def test_a_plan_that_is_refused_is_not_measured(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "grid", lambda: {"cell": {"job_id": "{x}"}})
    with pytest.raises(SluiceError, match="was not") as error:
        workloads.WORKLOADS["plan-grid"].run(world.url)
    assert error.value.where


def test_a_deep_plan_is_compared_with_its_copy_and_with_networkx(desk: Typist) -> None:
    figures = _figures(desk, "plan")
    assert (figures["jobs"], figures["needs"]) == (4 * 103, 4 * 300)
    both_s = figures["copy_s"] + figures["networkx_s"]
    assert figures["to_copy_and_networkx_ratio"] == pytest.approx(figures["wall_s"] / both_s)


def test_an_expansion_is_compared_with_as_many_jobs_without_needs(desk: Typist) -> None:
    figures = _figures(desk, "plan-expansion")
    assert (figures["jobs"], figures["needs"]) == (401, 801)
    assert figures["to_plain_ratio"] == pytest.approx(figures["wall_s"] / figures["plain_wall_s"])
    assert figures["peak_mb"] > figures["grown_mb"]


def test_the_embedded_default_is_measured_without_a_broker(desk: Typist) -> None:
    figures = _figures(desk, "embedded")
    assert {"jobs_per_s", "settled_per_s", "first_s", "hop_ms", "hop_p95_ms"} < figures.keys()
    assert all(value > 0 for figure, value in figures.items() if not figure.endswith("_a_job"))


def test_long_workloads_run_only_by_name(desk: Typist) -> None:
    figures = _figures(desk, "plan-million")
    assert (figures["jobs"], figures["needs"]) == (38 * 103, 38 * 300)
    assert [name for name, workload in workloads.WORKLOADS.items() if workload.by_name] == [
        "plan-million",
        "looking",
    ]


def test_the_looking_workload_measures_each_screen(desk: Typist) -> None:
    figures = _figures(desk, "looking")
    assert {"overview_p95_ms", "job_p95_ms", "grid_p95_ms", "search_key_p95_ms"} < figures.keys()
    assert all(value > 0 for value in figures.values())


def test_the_copied_tables_have_the_same_rows_and_indexes(embedded_url: str) -> None:
    with fixtures.scratch_ledger(embedded_url) as url, World(url) as world:
        world.apps("a -> c, b -> c")
        world.submit("c")
        rows = world.ledger.transact(fixtures.planned_rows)
        world.ledger.transact(fixtures.make_twins)
        world.ledger.transact(lambda tx: fixtures.copy_to_twins(tx, rows))
        for table in ("job", "need"):
            assert _table(world, table) == _table(world, f"{table}_twin")
        jobs, needs = world.ledger.transact(fixtures.planned_graph)
        assert (len(jobs), len(needs)) == (3, 2)


def test_a_multiplied_history_is_a_valid_one(embedded_url: str) -> None:
    """The ``World`` checks the invariants at the end, and a further job runs as before."""
    with fixtures.scratch_ledger(embedded_url) as url, World(url) as world:
        world.apps("a")
        for key in ("0", "1"):
            world.submit("a", key)
            world.finish(f"a/{key}")
        history, sizes = world.history("a/1"), world.ledger.transact(fixtures.sizes)
        world.ledger.transact(lambda tx: fixtures.multiply(tx, 3))
        assert world.ledger.transact(lambda tx: fixtures.jobs(tx, State.SUCCEEDED)) == 8
        assert world.history("a/7") == history
        assert world.ledger.transact(fixtures.has_work) is False
        assert [size.table for size in sizes] == [
            "history",
            "job",
            "round",
            "submission",
            "submission_job",
        ]
        world.submit("a", "8")
        world.finish("a/8")
        assert world.history("a/8") == history


def test_has_work_leaves_out_the_given_app(world: World) -> None:
    world.apps("a")
    world.submit("a")
    work = [world.ledger.transact(partial(fixtures.has_work, except_app=app)) for app in (None, "a", "b")]
    assert work == [True, False, True]


def _table(world: World, name: str) -> tuple[list[Any], list[Any]]:
    """Return the rows of a table, and the number of its indexes."""
    indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = %(name)s"
    return world.ledger.transact(
        lambda tx: (tx.rows(f"SELECT * FROM {name} AS each ORDER BY each"), tx.column(indexes, name=name))
    )


def _figures(desk: Typist, workload: str) -> Mapping[str, float]:
    """Return the figures of one run with a fraction of the jobs."""
    answer = desk.runs("bench", workload, "--runs", "1", "--json", **{shapes.VARIABLE: SCALE}).document
    return {each["figure"]: each["median"] for each in answer["summaries"]}


@pytest.mark.parametrize(
    ("name", "jobs", "needs"), [("plan-chunks", 28, 30), ("plan-chunks-on-past", 22, 24)]
)
def test_the_chunk_workloads_count_their_jobs_and_needs(
    name: str, jobs: int, needs: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def few() -> list[int]:
        return [3 * number for number in range(1000)]

    monkeypatch.setattr(pipelines, "scattered_ids", few)
    monkeypatch.setattr(workloads, "scattered_ids", few)
    figures = workloads.WORKLOADS[name].run(world.url)
    assert (figures["jobs"], figures["needs"]) == (jobs, needs)


def test_a_summary_has_all_runs_their_median_and_their_extremes() -> None:
    [took] = summaries("plan", None, [{"wall_s": 3.0}, {"wall_s": 1.0}, {"wall_s": 7.0}])
    assert (took.median, took.least, took.most, took.runs) == (3.0, 1.0, 7.0, (3.0, 1.0, 7.0))


def test_the_document_has_all_runs(desk: Typist) -> None:
    answer = desk.runs("bench", "load", "--runs", "2", "--json").document
    [summary] = answer["summaries"]
    assert (summary["workload"], summary["figure"], len(summary["runs"])) == ("load", "load_s", 2)


def test_the_help_lists_every_workload(desk: Typist) -> None:
    said = desk.runs("bench", "--help").out
    for name in (*workloads.WORKLOADS, *shapes.COURSES):
        assert f"\n  {name} " in said


def test_an_unknown_workload_is_refused(desk: Typist) -> None:
    said = desk.runs("bench", "lod")
    assert said.code == 2
    assert "There is no workload 'lod'" in said.err
