"""Two processes on one embedded ledger, or one after the other: which takes over a saga, and which comes too late."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pytest

from sluice.jobs.states import State
from tests.ops.airfield import Airfield, Script
from tests.ops.typist import ended

#: A flight that stays in the middle of its second step, and puts its claim into the working map there.
_HELD = Script(
    calls="d0 d1 d1 d2",
    script={"hangs": "do 1", "puts": {"do 1": {"by": "claim"}}},
    working={"by": 2},
)


@pytest.fixture
def airfield(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Airfield]:
    made = Airfield(tmp_path, monkeypatch, capfd)
    yield made
    made.leaves_nothing()


@contextmanager
def _two(airfield: Airfield) -> Iterator[tuple[Popen[str], Popen[str]]]:
    """Yield two processes: the first runs a saga, and the second is idle."""
    airfield.submits({"held": _HELD})
    with airfield.starts("up") as one:
        airfield.waits_for_calls({"held": "d0 d1"})
        with airfield.starts("up") as other:
            airfield.awaits(lambda: len(airfield.typed("workers")) == 2)
            yield one, other


def _comes_to(airfield: Airfield, state: State) -> None:
    airfield.awaits(lambda: airfield.shows("held")["state"] == state)


def test_another_process_continues_the_saga_of_a_killed_one(airfield: Airfield) -> None:
    with _two(airfield) as (one, other):
        one.kill()
        _comes_to(airfield, State.SUCCEEDED)
        other.terminate()
        ended(other, within_s=60)
    assert airfield.wrong({"held": _HELD}) == {}


def test_a_frozen_process_changes_nothing_after_its_saga_was_taken_over(airfield: Airfield) -> None:
    with _two(airfield) as (one, other):
        one.send_signal(signal.SIGSTOP)
        _comes_to(airfield, State.SUCCEEDED)
        (airfield.folder / "over").touch()
        one.send_signal(signal.SIGCONT)
        for each in (one, other):
            each.terminate()
            ended(each, within_s=60)
    assert airfield.wrong({"held": _HELD}) == {}


def test_a_repeated_run_continues_where_it_was_killed(airfield: Airfield) -> None:
    typed = ("run", "pointed", "held", "--id", "held", "--kwargs", '{"dies": "in do 1", "deaths": 2}')
    assert [airfield.runs(*typed).code for _ in range(3)] == [-9, -9, 0]
    assert airfield.wrong({"held": Script(calls="d0 d1 d1 d1 d2")}) == {}


def test_a_saga_with_broken_steps_is_fatal_and_all_others_continue(airfield: Airfield) -> None:
    """A saga with broken steps that never began has failed, because there is nothing to undo."""
    stopped = {"answers": {"do 0": ["stop"]}}
    scripts = {
        "gone": Script(calls="d0 d1 d2", script={"breaks": True, "dies": "before do 1"}),
        "whole": Script(calls="d0 d1 d2", script=stopped),
        "later": Script(calls="d0 d1 d2"),
    }
    airfield.submits({"gone": scripts["gone"]})
    assert airfield.runs("up", "--drain").code == -9
    airfield.submits(
        {
            "whole": scripts["whole"],
            "later": scripts["later"],
            "never": Script(calls="", script={"breaks": True}),
        }
    )
    _, said = airfield.drains(BROKEN="1")
    with airfield.opened():
        states = {key: airfield.shows(key)["state"] for key in (*scripts, "never")}
        assert states == {"gone": "fatal", "whole": "succeeded", "later": "succeeded", "never": "failed"}
        assert "its steps are gone" in airfield.typed("why", "pointed", "gone")["because"]
        airfield.typed("saga", "retry-undo", "pointed", "gone")
    assert "pointed/gone: DISMAL FAILURE" in said.err
    airfield.drains()
    assert airfield.wrong(scripts) == {}
