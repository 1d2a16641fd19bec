"""A command that outlives its worker, as an operator sees it: a killed worker loses nothing and starts nothing
twice.
"""

from sluice.jobs.states import State
from tests.jobs.runners.runner_bench import alive, eventually
from tests.ops.typist import Typist

SOURCE = """
from sluice import app
from sluice.jobs.managers import LocalProcess

@app(job_id="{n}")
class outlives(LocalProcess):
    command = ["sh", "-c", "echo $$ >>began; until [ -e over ]; do sleep 0.05; done; echo done {n}"]
    poll_s = 0.05
"""
#: Long enough for a busy machine, and short enough that the test does not wait long.
LEASE = "3s"


def test_a_command_survives_its_worker_and_the_next_one_records_its_end(
    desk_apart: Typist,
) -> None:
    desk = desk_apart
    source = str(desk.write("outlives.py", SOURCE))
    began = desk.folder / "began"
    with desk.starts("--apps", source, "run", "outlives", "1", SLUICE_LEASE=LEASE) as worker:
        eventually(lambda: began.exists() and began.read_text(), within_s=30)
        desk.waits_until("outlives", "1", State.RUNNING)
        eventually(lambda: desk.asks("--apps", source, "show", "outlives", "1")["handle"], within_s=30)
        worker.kill()
    assert alive(int(began.read_text()))
    (desk.folder / "over").touch()
    eventually(lambda: not alive(int(began.read_text())))

    assert desk.types("--apps", source, "up", "--drain", SLUICE_LEASE=LEASE).code == 0
    shown = desk.asks("--apps", source, "show", "outlives", "1")
    assert (shown["state"], shown["handle"], shown["losses"]) == ("succeeded", None, 1)
    assert "found the work that an earlier claim started" in shown["rounds"][-1]["output"]
    assert shown["rounds"][-1]["output"].endswith("INFO done 1\n")
    assert len(began.read_text().splitlines()) == 1, "it was begun once"
