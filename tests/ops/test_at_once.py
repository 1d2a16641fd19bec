"""What is asked for beside ``sluice up`` begins because somebody said so, not because somebody looked."""

import subprocess
import sys

from sluice.jobs.states import State
from tests.ops.typist import Typist

#: As if it never looked.
SELDOM = "10h"
#: A program that knows the folder alone, as a user's would.
PROGRAM = """
from sluice.actors.connect import connect
from sluice.jobs.submission import Submission

with connect() as client:
    client.submit(Submission(app="nap", key="0"))
"""


def test_what_other_processes_ask_for_waits_for_no_look(desk_apart: Typist) -> None:
    desk = desk_apart
    with desk.starts("up", SLUICE_TICK=SELDOM):
        # What was asked for before it could hear anything it finds by itself.
        desk.asks("submit", "fetch", "20260101_graz")
        desk.waits_until("fetch", "20260101_graz", State.SUCCEEDED)

        desk.asks("submit", "fetch", "20260102_graz")
        desk.waits_until("fetch", "20260102_graz", State.SUCCEEDED)
        subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=desk.folder, env=desk.environment, check=True, timeout=60
        )
        desk.waits_until("nap", "0", State.SUCCEEDED)
