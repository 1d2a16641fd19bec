"""The worked example over time: the steps that may run, and the steps that a failure stops."""

from collections.abc import Iterable

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from tests.acceptance.partition_notation import Step, definitions, steps
from tests.acceptance.plans_by_partition import LINEAGE
from tests.acceptance.test_plans_by_partition import recorded_states
from tests.world import World


@pytest.fixture
def april(world: World) -> str:
    """Submit the join for April, and return the id of the submission."""
    world.define(definitions(LINEAGE))
    return world.submit("J", None, start="2024-04-01", end="2024-04-30")


def test_a_step_may_run_once_the_partitions_it_reads_exist(world: World, april: str) -> None:
    assert _in(world, State.READY) == set(steps("S[01-02..04-30 each]"))
    _finish(world, "S[01-02..04-07 each]")
    assert _in(world, State.READY) == set(steps("S[04-08..04-30 each] G[04-01..04-07]"))
    _finish(world, "G[04-01..04-07]")
    assert _in(world, State.READY) == set(steps("S[04-08..04-30 each] J[04-01..04-07 each]"))
    _finish(world, "S[04-08..04-30 each]")
    assert not set(steps("G[04-08..04-14] G[04-29..04-30]")) - _in(world, State.READY)
    _finish(world, "G[04-08..04-14] G[04-15..04-21] G[04-22..04-28] G[04-29..04-30] J[04-01..04-30 each]")
    assert world.submission(april) is SubmissionState.SUCCEEDED


@pytest.mark.parametrize(
    ("failing", "stranded"),
    [
        ("S[01-05]", "G[04-01..04-07] J[04-01..04-07 each]"),
        (
            "S[04-05]",
            "G[04-01..04-07] G[04-08..04-14] G[04-15..04-21] G[04-22..04-28] G[04-29..04-30] J[04-01..04-30 each]",
        ),
    ],
)
def test_a_failure_stops_every_step_that_depends_on_it(
    world: World, april: str, failing: str, stranded: str
) -> None:
    _finish(world, failing, Ending.ERROR)
    assert _in(world, State.UPSTREAM_FAILED) == set(steps(stranded))
    assert world.submission(april) is SubmissionState.ACTIVE


def _finish(world: World, text: str, ending: Ending = Ending.DONE) -> None:
    keys = {step: name for name, (step, _) in recorded_states(world).items()}
    for step in steps(text):
        world.finish(keys[step], ending)


def _in(world: World, state: State) -> set[Step]:
    found: Iterable[tuple[Step, State]] = recorded_states(world).values()
    return {step for step, its in found if its is state}
