"""Submissions of other processes beside ``sluice up``: a notification starts them, not a poll."""

import subprocess
import sys

from sluice.jobs.states import State
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
