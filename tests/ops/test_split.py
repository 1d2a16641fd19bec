"""Display of a split chunk: with its halves, and not as a problem."""

from sluice.jobs.model.dependency import DEAD_FOR, MET
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import DEAD, LIVE, RERUN, STOPPABLE, TERMINAL, State
from sluice.ledger.reads.submission_progress import progress
from sluice.ops.cli.follow import draw
from sluice.ops.cli.page import colour
from sluice.ops.cli.submission_result import as_document, summary
from sluice.ops.graph.render.stylesheet import COLOURS
from tests.ops import situations
from tests.ops.site import Site
from tests.world import World


def test_split_is_a_terminal_state_but_neither_success_nor_failure() -> None:
    """Check each set of states that a decision is based on."""
    assert State.SPLIT in TERMINAL
    assert State.SPLIT not in LIVE | STOPPABLE | DEAD | RERUN.sources
    assert all(State.SPLIT not in met for met in (*MET.values(), *DEAD_FOR.values()))
    assert all(met | DEAD_FOR[when] >= TERMINAL - {State.SPLIT} for when, met in MET.items())
    assert colour(State.SPLIT) not in (colour(State.SUCCEEDED), colour(State.FAILED))
    assert COLOURS[State.SPLIT] not in (COLOURS[State.SUCCEEDED], COLOURS[State.FAILED])


def test_show_names_the_halves_and_the_whole(site: Site) -> None:
    situations.split_to_the_last_id(site)
    whole = site.says("show", "a", "1-3@1")
    assert (whole["bisected_from"], whole["halves"]) == (
        None,
        [["a", "1-2@1", "split"], ["a", "3@1", "ready"]],
    )
    half = site.says("show", "a", "1-2@1")
    assert (half["bisected_from"], half["halves"]) == (
        ["a", "1-3@1", "split"],
        [["a", "1@1", "failed"], ["a", "2@1", "ready"]],
    )
    assert half["history"][0]["note"] == "half of 1-3@1"
    printed = site.in_words("a/1-2@1", "show")
    assert "half of a/1-3@1, which was split" in printed
    assert "a/2@1  ready" in printed


def test_a_split_job_cannot_be_retried_but_its_failed_part_can(site: Site) -> None:
    situations.split_to_the_last_id(site)
    error = site.says("retry", "a", "1-3@1", code=2)["error"]
    assert error["what"] == "a/1-3@1 was split, and its halves run in its place."
    assert error["advice"] == "Run its failed pieces again: `sluice retry a 1@1`."
    assert site.says("retry", "a", "1@1")["state"] == SubmissionState.RECEIVED


def test_a_split_job_without_a_failure_has_nothing_to_retry(site: Site) -> None:
    situations.split_for_nothing(site)
    error = site.says("retry", "a", "1-2@1", code=2)["error"]
    assert error["advice"] == "None of its pieces has failed; `sluice why a 1-2@1` shows their progress."


def test_a_split_job_is_not_a_problem_of_its_submission(world: World) -> None:
    world.define({"a": {"chunk_size": 2, "bash_cmd": "true", "on_failure": "bisect"}})
    submission = world.submit("a", None, work_ids=[1, 2])
    world.finish("a/1-2@1", Ending.ERROR)
    world.finish("a/1@1")
    world.finish("a/2@1")
    found = world.ledger.transact(lambda tx: progress(tx, submission, planner_queue="planner"))
    assert found is not None
    assert as_document(found)["jobs"] == {"succeeded": 2, "split": 1}
    assert found.troubles == []
    said = [line for block in summary(found, []) for line in block.lines(100)]
    assert said[-1] == [("succeeded: 2 succeeded, 1 split in 0 ms", "green")]
    bar = draw(found, {}, 80).renderables[0]
    assert "2/2" in bar.plain
    assert not any("red" in str(span.style) or "black" in str(span.style) for span in bar.spans)
