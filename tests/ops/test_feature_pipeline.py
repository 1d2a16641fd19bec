"""The tutorial of the feature pipeline, typed from its first line to its last."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sluice.jobs.managers.process import FOLDER
from tests.homes import started_ledger
from tests.ops.transcripts import Document, said
from tests.ops.typist import ROOT

#: Its loops wait for other processes. Where these fail, the test is not to wait for ever.
TIMEOUT_S = 180


def test_the_pipelines_commands_answer_what_the_tutorial_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "feature-pipeline.md").read_text()
    with started_ledger(tmp_path / ".sluice"), _cleared(tmp_path / FOLDER):
        steps = list(Document(text, tmp_path, timeout_s=TIMEOUT_S).run())
        assert len(steps) > 40
        for step, told in steps:
            # A run tells its apps in the order in which they began; two that run at once may begin either way.
            order = sorted if step.command.startswith("sluice run") else list
            assert order(map(said, told)) == order(map(said, step.answer)), step.command
        assert not any(map(_alive, _started(tmp_path / FOLDER)))


@contextmanager
def _cleared(folder: Path) -> Iterator[None]:
    """What the commands have started outlives those who type them; if the test fails it is ended all the same."""
    try:
        yield
    finally:
        for leader in _started(folder):
            with suppress(ProcessLookupError):
                os.killpg(leader, signal.SIGKILL)


def _started(folder: Path) -> list[int]:
    """Who leads the processes of each run."""
    return [int(each.read_text().split()[0]) for each in folder.glob("*/*/started")]


def _alive(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True
