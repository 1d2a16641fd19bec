"""``sluice run --bypass`` of a saga: it runs in memory and is never left half done."""

import signal
import time
from pathlib import Path

import pytest

from tests.ops.typist import NO_LEDGER, Typist, ended

SAGAS = """
import pathlib, time
from sluice import Fatal, Rerun, Retry, Step, Stop, Wait, retry, saga

class Prints(Step):
    def __init__(self, name, do=None, undo=None):
        self.name, self._do, self._undo = name, do, undo

    def do(self, flight):
        print("do", self.name)
        return self._do(flight) if callable(self._do) and not isinstance(self._do, type) else self._do

    def undo(self, flight):
        print("undo", self.name)
        return self._undo

@saga(job_id="{n}")
def trip(flight):
    return [Prints("seat", Stop), Prints("money"), Prints("ticket", Stop)]

@saga(job_id="{n}")
def asking(flight):
    return [Prints("seat"), Prints("money", Wait("approved", timeout="1d")), Prints("ticket")]

@saga(job_id="{n}")
def settling(flight):
    return [Prints("seat"), Prints("money", Fatal("none left"), Wait("settled"))]

@saga(job_id="{n}")
def stuck(flight):
    return [Prints("seat", undo=Fatal("gone")), Prints("money", Fatal("none left"))]

def _goes_on(flight):
    pathlib.Path("begun").write_text("")
    while not flight.cancelled:
        time.sleep(0.01)

@saga(job_id="{n}")
def slow(flight):
    return [Prints("seat"), Prints("money", _goes_on), Prints("ticket")]
"""


@pytest.fixture
def here(tmp_path: Path) -> Typist:
    typist = Typist(tmp_path, SLUICE_LEDGER_URL=NO_LEDGER, SLUICE_APPS="sagas.py")
    typist.write("sagas.py", SAGAS)
    return typist


def test_a_saga_that_is_handed_back_runs_to_its_end(here: Typist) -> None:
    said = here.types("run", "--bypass", "trip", "1")
    assert (said.code, said.out.splitlines()) == (0, ["do seat", "do money", "do ticket"])


def test_debug_options_apply_to_a_saga(here: Typist) -> None:
    said = here.types("run", "--bypass", "trip", "1", "--fail-last", "--restart-each-step")
    calls = ["do seat", "do money", "do ticket", "undo ticket", "undo money", "undo seat"]
    assert [line for line in said.out.splitlines() if " WARNING " not in line] == calls
    assert said.code == 1
    assert "ticket failed: Fatal: injected by debug, in place of stop" in said.err


def test_a_saga_that_waits_is_undone_with_the_reason(here: Typist) -> None:
    said = here.types("run", "--bypass", "asking", "1", "--json")
    assert said.code == 1
    (job,) = said.document["jobs"]
    assert job["ending"] == "error"
    assert job["error"] == (
        "It was cancelled, and undone from money on: it waits for approved, which --bypass cannot deliver"
    )
    assert job["output"].count("The flight is being undone from money on") == 1


def test_a_wait_in_an_undo_does_not_stop_the_undoing(here: Typist) -> None:
    said = here.types("run", "--bypass", "settling", "1")
    assert said.code == 1
    assert said.out.splitlines()[-1] == "undo seat"
    assert "money failed: Fatal: none left" in said.err


def test_a_failed_undo_is_reported(here: Typist) -> None:
    said = here.types("run", "--bypass", "stuck", "1")
    assert said.code == 1
    assert "stuck/1: undo failed" in said.err
    assert "DISMAL FAILURE: undo of seat failed: Fatal: gone" in said.err


def test_an_interrupted_saga_is_undone(here: Typist) -> None:
    with here.starts("run", "--bypass", "slow", "1", "2") as run:
        deadline = time.monotonic() + 20
        while not (here.folder / "begun").exists():
            assert time.monotonic() < deadline, "the saga did not begin"
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        said = ended(run, within_s=20)
    assert said.code == 130
    assert "It was cancelled, and undone from ticket on: it was interrupted" in said.err
    assert said.out.splitlines()[-1] == "undo seat"
    assert "do ticket" not in said.out.replace("undo ticket", "")


def test_options_that_need_a_process_are_refused(here: Typist) -> None:
    said = here.types("run", "--bypass", "trip", "1", "--policy", '{"cwd": "/"}')
    assert (said.code, said.out) == (1, "")
    assert "env, cwd, limits or keep_output, which a thread cannot have" in said.err
