"""Jobs with external work, as an operator sees them."""

import signal

from tests.jobs.runners.runner_bench import eventually
from tests.ops.typist import Typist, ended

SOURCE = """
from pathlib import Path
from sluice import app

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


def test_a_handle_is_shown_until_the_external_work_has_ended(desk: Typist) -> None:
    source = str(desk.write("far.py", SOURCE))
    with desk.starts("--apps", source, "run", "far", "1", "--json") as run:
        eventually((desk.folder / "far.checked").exists, within_s=30)
        run.send_signal(signal.SIGINT)
        submission = ended(run).document["submission"]
    assert not (desk.folder / "far.ended").exists(), "it goes on without us"
    assert desk.asks("--apps", source, "show", "far", "1")["handle"] == {"pod": "1"}
    assert 'external work: {"pod":"1"}' in desk.types("--apps", source, "show", "far", "1").out

    (desk.folder / "far.over").touch()
    assert desk.types("--apps", source, "up", "--drain").code == 0
    shown = desk.asks("--apps", source, "show", "far", "1")
    assert (shown["state"], shown["handle"], shown["submissions"]) == ("succeeded", None, [submission])
    assert [each["ending"] for each in shown["rounds"]] == ["handed_back", "done"]


UNENDING = """
from pathlib import Path
from sluice import Status, app

@app(job_id="{n}", is_long_running=True)
class stream:
    poll_s = 0.05

    def run(self, job):
        return {"pod": job.key}

    def check(self, handle):
        Path("stream.checked").touch()
        return Status("running", "at offset 7")

    def cancel(self, handle):
        if Path("stream.stuck").exists():
            raise ConnectionError("the grid does not answer")
        Path("stream.ended").touch()

@app(job_id="{n}", depends_on={"app_name": ["stream"]})
def reader(n): ...
"""


def test_a_long_running_service_continues_after_a_drain(desk_apart: Typist) -> None:
    desk = desk_apart
    apps = ("--apps", str(desk.write("stream.py", UNENDING)))
    submission = desk.asks(*apps, "submit", "reader", "1")["submission"]
    assert desk.types(*apps, "up", "--drain").code == 0
    assert desk.asks(*apps, "show", "reader", "1")["state"] == "succeeded"
    with desk.starts(*apps, "up"):
        eventually((desk.folder / "stream.checked").exists, within_s=30)
        eventually(lambda: desk.asks(*apps, "show", "stream", "1")["watch"]["external_status"], within_s=30)
    shown = desk.asks(*apps, "show", "stream", "1")
    assert (shown["state"], shown["round"], shown["watch"]["to"]) == ("running", 0, "poll")
    assert shown["watch"]["every_s"] == 0.05
    page = desk.types(*apps, "show", "stream", "1").out
    assert "polled every 50 ms, next at" in page
    assert "last status: at offset 7" in page
    why = desk.types(*apps, "why", "stream", "1").out
    assert "is running as external work, and is polled every 50 ms; last status: at offset 7" in why

    desk.types(*apps, "cancel", submission)
    (desk.folder / "stream.stuck").touch()
    assert desk.types(*apps, "up", "--drain").code == 0, "a drain must not wait for work that cannot be ended"
    assert "external work must still be ended" in desk.types(*apps, "show", "stream", "1").out
    assert "its external work has not been stopped yet" in desk.types(*apps, "why", "stream", "1").out
    (desk.folder / "stream.stuck").unlink()
    with desk.starts(*apps, "up"):
        eventually((desk.folder / "stream.ended").exists, within_s=60)
        eventually(lambda: desk.asks(*apps, "show", "stream", "1")["handle"] is None, within_s=30)
