"""The tutorial of the feature pipeline, typed from its first line to its last."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sluice.jobs.managers.local_process import FOLDER
from tests.homes import started_ledger
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

#: Seconds. The loops of the tutorial wait for other processes. If these fail, the test must not wait indefinitely.
TIMEOUT_S = 180


def test_the_commands_of_the_pipeline_print_the_shown_answers(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "feature-pipeline.md").read_text()
    with started_ledger(tmp_path / ".sluice"), _cleared(tmp_path / FOLDER):
        steps = Document(text, tmp_path, timeout_s=TIMEOUT_S).check(unordered="sluice run")
        assert len(steps) > 40
        assert not any(map(_alive, _started(tmp_path / FOLDER)))


@contextmanager
def _cleared(folder: Path) -> Iterator[None]:
    """Kill the processes that the commands have started. They outlive the commands, so a failed test would leave them
    running.
    """
    try:
        yield
    finally:
        for leader in _started(folder):
            with suppress(ProcessLookupError):
                os.killpg(leader, signal.SIGKILL)


def _started(folder: Path) -> list[int]:
    """Return the leader of the process group of each run."""
    return [int(each.read_text().split()[0]) for each in folder.glob("*/*/started")]


def _alive(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True
