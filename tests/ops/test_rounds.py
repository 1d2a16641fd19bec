"""All paths of a job through its rounds, as commands run and show them."""

import time
from typing import Any

import pytest

from sluice.jobs.states import State
from tests.ops.typist import Typist, ended

#: Seconds that a command may take to begin a job on a busy machine.
BEGINS_WITHIN_S = 15

APPS = {
    "fine": {"job_id": "{x}", "bash_cmd": "echo out"},
    "broken": {"job_id": "{x}", "bash_cmd": "echo out; echo boom >&2; exit 3", "max_fails": 1},
    "hanging": {"job_id": "{x}", "bash_cmd": "echo begun; sleep 60", "timeout": "500ms", "max_timeouts": 1},
    "long": {"job_id": "{x}", "bash_cmd": "sleep 60"},
    "until": {"job_id": "{x}", "bash_cmd": "until [ $(date +%s) -gt {x} ]; do sleep 0.05; done"},
}


@pytest.fixture
def rounds_desk(desk_apart: Typist) -> Typist:
    desk_apart.apps("apps.json", APPS)
    return desk_apart


def _words(shown: dict[str, Any]) -> str:
    """Return the names of the record's moments and texts, without the values."""
    return " ".join(shown["record"])


def _path(shown: dict[str, Any]) -> list[str]:
    return [step["to"] for step in shown["history"]]


def _moves(shown: dict[str, Any]) -> list[str]:
    return [line.partition(": ")[2] for line in shown["log"] if " - moving task " in line]


def test_rounds_that_succeed_fail_time_out_and_expire(rounds_desk: Typist) -> None:
    desk = rounds_desk
    for app in ("fine", "broken", "hanging"):
        desk.types("submit", app, "1")
    desk.types("submit", "long", "1", "--end-before", "2020-01-01")
    assert desk.types("up", "--drain", SLUICE_TICK="200ms").code in (0, 1)

    fine = desk.asks("show", "fine", "1")
    assert _words(fine) == "0:open 0:running 0:worker 0:output 0:error 0:executed 0:succeeded"
    assert (fine["record"]["0:output"], fine["record"]["0:error"]) == ("out\n", "")
    assert fine["record"]["0:executed"] == next(
        step["at"] for step in fine["history"] if step["to"] == "executed"
    )
    assert _path(fine) == ["waiting", "ready", "running", "executed", "succeeded"]
    assert _moves(fine) == ["open -> running", "running -> executed", "executed -> succeeded"]

    broken = desk.asks("show", "broken", "1")
    assert (broken["state"], broken["round"], broken["fails"]) == ("failed", 1, 2)
    assert _words(broken) == (
        "0:open 0:running 0:worker 0:output 0:error 0:executed 0:failure "
        "1:open 1:running 1:worker 1:output 1:error 1:executed 1:failure 1:failed"
    )
    assert broken["record"]["1:error"] == "boom\n"
    assert _moves(broken) == [
        *("open -> running", "running -> executed", "executed -> failure", "failure -> open"),
        *("open -> running", "running -> executed", "executed -> failure", "failure -> failed"),
    ]

    hanging = desk.asks("show", "hanging", "1")
    assert (hanging["state"], hanging["round"], hanging["timeouts"]) == ("timed_out", 1, 2)
    assert _words(hanging) == (
        "0:open 0:running 0:worker 0:output 0:error 0:timeout "
        "1:open 1:running 1:worker 1:output 1:error 1:timeout 1:timed_out"
    )
    assert hanging["record"]["0:output"] == "begun\n"
    assert "timeout of 0.5 s" in hanging["record"]["0:error"]
    assert _moves(hanging) == [
        *("open -> running", "running -> timeout", "timeout -> open"),
        *("open -> running", "running -> timeout", "timeout -> timed_out"),
    ]

    late = desk.asks("show", "long", "1")
    assert (_words(late), _path(late)) == ("0:open 0:expired", ["waiting", "expired"])
    assert _moves(late) == ["open -> expired"]


def test_a_running_job_expires(rounds_desk: Typist) -> None:
    end = str(time.time() + BEGINS_WITHIN_S)
    with rounds_desk.starts("run", "long", "1", "--end-before", end, SLUICE_TICK="200ms") as run:
        rounds_desk.waits_until("long", "1", State.EXPIRED)
        assert ended(run).code == 1
    shown = rounds_desk.asks("show", "long", "1")
    assert _words(shown) == "0:open 0:running 0:worker 0:expired"
    assert _path(shown) == ["waiting", "ready", "running", "expired"]


def test_a_job_that_ended_too_late_expires_without_a_tick(rounds_desk: Typist) -> None:
    """No tick occurs while the job runs, so it is not stopped. The judge finds that it ended too late."""
    end = str(int(time.time()) + BEGINS_WITHIN_S)
    said = rounds_desk.types("run", "until", end, "--end-before", end, SLUICE_TICK="1h")
    assert said.code == 1, said.err
    shown = rounds_desk.asks("show", "until", end)
    assert _words(shown) == "0:open 0:running 0:worker 0:output 0:error 0:executed 0:expired"
    assert _path(shown) == ["waiting", "ready", "running", "executed", "expired"]


def test_the_events_of_a_job_are_printed_line_by_line(rounds_desk: Typist) -> None:
    with rounds_desk.starts("run", "fine", "2"):
        rounds_desk.waits_until("fine", "2", State.SUCCEEDED)
    log = rounds_desk.asks("show", "fine", "2")["log"]
    assert len(log) == 4
    assert rounds_desk.asks("logs", "fine", "2", "--course") == {
        "app": "fine",
        "key": "2",
        "state": "succeeded",
        "log": log,
    }
    assert rounds_desk.types("logs", "fine", "2", "--course", "--follow").out.splitlines() == log
    assert rounds_desk.types("logs", "fine", "2", "--course", "--round", "0").code == 2


def test_a_random_start_offset_delays_the_start(rounds_desk: Typist) -> None:
    rounds_desk.types("submit", "fine", "3", "--random-start-offset", "2s", "--id", "off")
    assert rounds_desk.types("up", "--drain", SLUICE_TICK="200ms").code == 0
    shown = rounds_desk.asks("show", "fine", "3")
    assert shown["state"] == "succeeded"
    assert shown["not_before"] is not None
    assert shown["record"]["0:open"] <= shown["not_before"] <= shown["record"]["0:running"]
    assert rounds_desk.types("submit", "fine", "4", "--random-start-offset", "soon").code == 2
