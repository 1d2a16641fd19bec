"""A job whose work is elsewhere, as an operator sees it."""

import signal

from tests.jobs.runners.runner_bench import eventually
from tests.ops.typist import Typist, ended

SOURCE = """
from pathlib import Path
from jobs import app

@app(job_id="{n}")
class far:
    poll_s = 0.05

    def run(self, job):
        return {"pod": job.key}

    def check(self, handle):
        Path("far.checked").touch()
        return "succeeded" if Path("far.over").exists() else "running"

    def cancel(self, handle):
        Path("far.ended").touch()
"""


def test_a_handle_is_shown_while_there_is_something_to_find_by_it(desk: Typist) -> None:
    source = str(desk.write("far.py", SOURCE))
    with desk.starts("--apps", source, "run", "far", "1", "--json") as run:
        eventually((desk.folder / "far.checked").exists, within_s=30)
        run.send_signal(signal.SIGINT)
        submission = ended(run).document["submission"]
    assert not (desk.folder / "far.ended").exists(), "it goes on without us"
    assert desk.asks("--apps", source, "show", "far", "1")["handle"] == {"pod": "1"}
    assert 'its work elsewhere: {"pod":"1"}' in desk.types("--apps", source, "show", "far", "1").out

    (desk.folder / "far.over").touch()
    assert desk.types("--apps", source, "up", "--drain").code == 0
    shown = desk.asks("--apps", source, "show", "far", "1")
    assert (shown["state"], shown["handle"], shown["submissions"]) == ("succeeded", None, [submission])
    assert [each["ending"] for each in shown["rounds"]] == ["handed_back", "done"]
