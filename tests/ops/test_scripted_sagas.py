"""Scripted sagas on the embedded default. The process that does everything is real, and is really killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.jobs.states import State
from tests.ops.airfield import Airfield
from tests.ops.flight_scripts import ASKED, IN_PEACE, KILLED, LEFT, UNBEGUN, WAITING
from tests.ops.typist import ended


@pytest.fixture
def airfield(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Airfield]:
    made = Airfield(tmp_path, monkeypatch, capfd)
    yield made
    made.leaves_nothing()


def test_each_saga_has_the_result_of_the_answers_of_its_steps(airfield: Airfield) -> None:
    scripts = IN_PEACE | ASKED
    airfield.submits(scripts)
    _, said = airfield.drains()
    assert airfield.wrong(scripts) == {}
    stuck = {key for key, script in scripts.items() if script.state is State.FATAL}
    assert {key for key in scripts if f"pointed/{key}: DISMAL FAILURE" in said.err} == stuck
    for key in ("each-step-anew", "each-undo-anew"):
        assert {each["called"] for each in airfield.found(key)} == {1}, "a step has outlived its boundary"


def test_each_saga_continues_where_its_process_was_killed(airfield: Airfield) -> None:
    scripts = KILLED | WAITING
    airfield.submits(scripts)
    # With one thread, a kill interrupts one saga only.
    deaths, _ = airfield.drains("--threads", "1")
    assert deaths == sum(each.script.get("deaths", 1) for each in scripts.values() if "dies" in each.script)
    suspended = airfield.typed("ls", "--state", "suspended")
    assert {each["key"] for each in suspended} == set(WAITING)
    for key in WAITING:
        airfield.typed("resume", "pointed", key, "--event", "go")
    airfield.drains()
    assert airfield.wrong(scripts) == {}


def test_a_stopping_process_hands_back_its_unfinished_sagas(airfield: Airfield) -> None:
    scripts = {key: script for key, (_, script) in LEFT.items()}
    endless = {key for key, script in scripts.items() if "hangs" in script.script}
    airfield.submits(scripts)
    with airfield.starts("up", "--threads", str(len(LEFT)), SLUICE_SHUTDOWN_GRACE="10m") as process:
        airfield.waits_for_calls({key: calls for key, (calls, _) in LEFT.items()})
        airfield.submits(UNBEGUN)
        shown = airfield.shows("in-a-do")["saga"]
        assert shown["working"] == {"abc": "foo"}, "a step that is not over has left something"
        assert {each["name"]: each["done"] for each in shown["meters"]} == {"do 0": 1, "do 1": 1}
        process.terminate()
        airfield.awaits(lambda: airfield.running == endless)
        process.terminate()
        ended(process)
    assert airfield.calls == {key: calls for key, (calls, _) in LEFT.items()}, "it went beyond a boundary"
    with airfield.opened():
        left = {key: airfield.shows(key) for key in LEFT}
    over = {key for key, shown in left.items() if shown["state"] not in {State.READY, State.WAITING}}
    assert over == {"in-the-last-do", "in-the-last-undo"}
    assert {shown["losses"] for shown in left.values()} == {0}
    (airfield.folder / "over").touch()
    airfield.drains()
    assert airfield.wrong(scripts | UNBEGUN) == {}
