"""Status values that a job manager may return."""

import pytest

from sluice.jobs.model.external_work import Stage, Status, read_status


@pytest.mark.parametrize("stage", Stage)
def test_the_name_of_a_state_is_a_status(stage: Stage) -> None:
    assert read_status(str(stage)) == Status(stage.value)
    assert read_status(str(stage)).stage is stage


def test_a_status_with_a_text_and_progress_is_kept() -> None:
    status = Status("failed", "out of memory", progress=(3, None))
    assert read_status(status) is status


@pytest.mark.parametrize("answer", [None, "done", "RUNNING", True, ["running"], {"state": "running"}])
def test_an_invalid_status_is_refused_with_the_valid_ones(answer: object) -> None:
    with pytest.raises(ValueError, match=r"is no status; it is .*running, succeeded, failed"):
        read_status(answer)


@pytest.mark.parametrize("progress", [0.5, (1,), ("1", 2), (1, 2.5), (1, 2, 3)])
def test_progress_other_than_done_and_total_is_refused(progress: object) -> None:
    with pytest.raises(ValueError, match=r"is \(done, total\)"):
        Status("running", progress=progress)


def test_the_text_of_a_status_must_be_a_string() -> None:
    with pytest.raises(ValueError, match="is a text"):
        Status("failed", KeyError("x"))
