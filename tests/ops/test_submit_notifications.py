"""Submissions of other processes beside ``sluice up``: notifications start them and report their ends, not polls."""

import subprocess
import sys

import pytest

from sluice.jobs.states import State
from sluice.ops.cli import follow
from tests.ops.typist import Typist

#: Tick interval that no test reaches.
SELDOM = "10h"
#: A user's program, which knows nothing but the folder.
PROGRAM = """
from sluice.actors.connect import connect
from sluice.jobs.model.submission import Submission

with connect() as client:
    client.submit(Submission(app="nap", key="0"))
"""


def test_a_submission_of_another_process_does_not_wait_for_a_tick(desk_apart: Typist) -> None:
    desk = desk_apart
    with desk.starts("up", SLUICE_TICK=SELDOM):
        # ``up`` finds submissions from before it listened for notifications by itself.
        desk.asks("submit", "fetch", "20260101_graz")
        desk.waits_until("fetch", "20260101_graz", State.SUCCEEDED)

        desk.asks("submit", "fetch", "20260102_graz")
        desk.waits_until("fetch", "20260102_graz", State.SUCCEEDED)
        subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=desk.folder, env=desk.environment, check=True, timeout=60
        )
        desk.waits_until("nap", "0", State.SUCCEEDED)


def test_a_waiting_command_is_woken_by_the_end(desk_apart: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each poll but the first comes later than the test can last."""
    monkeypatch.setattr(follow, "LINES_EVERY_S", 3600.0)
    desk = desk_apart
    with desk.starts("up", SLUICE_TICK="200ms"):
        assert desk.asks("submit", "nap", "1", "--wait")["state"] == "succeeded"
        failed = desk.types("submit", "publish", "2026-01-01", "--wait", "--json")
        assert (failed.code, failed.document["state"]) == (1, "failed")
        assert desk.asks("submit", "nap", "1", "--wait")["state"] == "succeeded"
