"""``sluice bench``: that each workload runs and says what it was asked. No figure of it is judged here."""

from collections.abc import Mapping
from typing import Any

import pytest

from ops.bench import pipelines, workloads
from ops.bench.pipelines import Apps, grid, layers, many_apps
from ops.bench.sample import summaries
from tests.ops.typist import Typist
from tests.planner.definitions import catalogue_of
from tests.world import World


@pytest.mark.parametrize("apps", [many_apps(), grid(), layers()], ids=["many", "grid", "layers"])
def test_what_is_measured_can_be_loaded(apps: Apps) -> None:
    assert len(catalogue_of(apps)) == len(apps)


@pytest.mark.parametrize("name", [name for name in workloads.WORKLOADS if not name.startswith("plan")])
def test_a_workload_says_what_it_took(name: str, embedded_url: str) -> None:
    figures = workloads.WORKLOADS[name].run(embedded_url)
    assert figures
    assert all(value > 0 for value in figures.values())


def test_a_plan_is_measured_with_what_it_came_to(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
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
    figures = workloads.WORKLOADS["plan"].run(world.url)
    assert (figures["jobs"], figures["needs"]) == (8, 6)


@pytest.mark.parametrize(
    ("name", "jobs", "needs"), [("plan-chunks", 28, 30), ("plan-chunks-on-past", 22, 24)]
)
def test_chunks_are_measured_with_what_they_came_to(
    name: str, jobs: int, needs: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def few() -> list[int]:
        return [3 * number for number in range(1000)]

    monkeypatch.setattr(pipelines, "scattered_ids", few)
    monkeypatch.setattr(workloads, "scattered_ids", few)
    figures = workloads.WORKLOADS[name].run(world.url)
    assert (figures["jobs"], figures["needs"]) == (jobs, needs)


def test_all_runs_are_told_with_their_median_and_their_spread() -> None:
    [took] = summaries("plan", None, [{"wall_s": 3.0}, {"wall_s": 1.0}, {"wall_s": 7.0}])
    assert (took.median, took.least, took.most, took.runs) == (3.0, 1.0, 7.0, (3.0, 1.0, 7.0))


def test_the_command_tells_all_runs(desk: Typist) -> None:
    answer = desk.asks("bench", "load", "--runs", "2")
    [summary] = answer["summaries"]
    assert (summary["workload"], summary["figure"], len(summary["runs"])) == ("load", "load_s", 2)


def test_an_unknown_workload_is_refused(desk: Typist) -> None:
    said = desk.types("bench", "lod")
    assert said.code == 2
    assert "There is no workload 'lod'" in said.err
