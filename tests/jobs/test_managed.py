"""What a job manager may answer."""

import pytest

from sluice.jobs.managed import Stage, Status, read_status


@pytest.mark.parametrize("stage", Stage)
def test_a_word_is_a_status(stage: Stage) -> None:
    assert read_status(str(stage)) == Status(stage.value)
    assert read_status(str(stage)).stage is stage


def test_a_status_may_say_more() -> None:
    status = Status("failed", "out of memory", progress=(3, None))
    assert read_status(status) is status


@pytest.mark.parametrize("answer", [None, "done", "RUNNING", True, ["running"], {"state": "running"}])
def test_anything_else_is_refused_with_the_words_there_are(answer: object) -> None:
    with pytest.raises(ValueError, match=r"is no status; it is .*running, succeeded, failed"):
        read_status(answer)


@pytest.mark.parametrize("progress", [0.5, (1,), ("1", 2), (1, 2.5), (1, 2, 3)])
def test_progress_is_how_much_and_of_how_much(progress: object) -> None:
    with pytest.raises(ValueError, match=r"is \(done, total\)"):
        Status("running", progress=progress)


def test_a_text_is_a_text() -> None:
    with pytest.raises(ValueError, match="is a text"):
        Status("failed", KeyError("x"))
