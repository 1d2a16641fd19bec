"""End of commands that outlive the worker: all their processes are ended, and no others."""

import os
import signal
import socket
from pathlib import Path

import pytest

from sluice.jobs.managers.local_process import birth_of, read_birth
from sluice.jobs.model.external_work import Stage
from tests.jobs.managers.commands import (
    ENDLESS,
    cancel,
    check,
    doing,
    folder_of,
    next_claim,
    run,
    until_it_ended,
)
from tests.jobs.runners.runner_bench import alive, eventually


def test_a_cancelled_command_gets_a_grace_period_and_its_children_end_too(tmp_path: Path) -> None:
    do = f"trap 'echo bye >{tmp_path}/bye; exit 0' TERM; sleep 1000 & echo $! >{tmp_path}/pid; wait"
    handle = run(doing(do))
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    cancel(handle)
    assert (tmp_path / "bye").exists()
    eventually(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_a_command_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    handle = run(doing(f"trap '' TERM; touch {tmp_path}/deaf; while :; do sleep 0.05; done"))
    eventually((tmp_path / "deaf").exists)
    cancel(handle)
    assert check(handle).stage is Stage.FAILED


def test_processes_that_a_command_leaves_behind_end_with_it(tmp_path: Path) -> None:
    handle = run(doing(f"sleep 1000 & echo $! >{tmp_path}/pid"))
    until_it_ended(handle)
    eventually(lambda: not alive(int((tmp_path / "pid").read_text())))
    assert check(handle).stage is Stage.SUCCEEDED


def test_another_process_with_the_same_number_is_not_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = run(doing(ENDLESS))
    somebody = {**handle, "born": f"{handle['born']}0"}
    signalled: list[int] = []
    with monkeypatch.context() as watched:
        watched.setattr(os, "killpg", lambda pid, _: signalled.append(pid))
        cancel(somebody)
    assert signalled == []
    assert alive(handle["pid"])
    cancel(handle)
    assert not alive(handle["pid"])


def test_a_process_on_another_machine_can_be_neither_checked_nor_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claimed = doing(f"touch {tmp_path}/begun; {ENDLESS}")
    handle = run(claimed)
    eventually((tmp_path / "begun").exists)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(socket, "gethostname", lambda: "another")
        with pytest.raises(OSError, match=r"was started on .* cannot be seen from another"):
            check(handle)
        with pytest.raises(OSError, match="cannot be seen"):
            run(next_claim(claimed))
        with pytest.raises(OSError, match="cannot be seen"):
            cancel(handle)
    os.killpg(handle["pid"], signal.SIGTERM)
    until_it_ended(handle)
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert check(handle).stage is Stage.FAILED, (
        "the folder on a shared disk has the outcome of an ended process"
    )
    cancel(handle)


def test_a_process_with_a_missing_folder_can_still_be_ended() -> None:
    handle = run(doing(ENDLESS))
    leaders = folder_of(handle).parent
    leaders.rename(leaders.with_name("moved"))
    with pytest.raises(LookupError, match="no record"):
        check(handle)
    cancel(handle)
    assert not alive(handle["pid"])


def test_a_handle_that_names_no_process_is_refused() -> None:
    with pytest.raises(ValueError, match="no handle of a process"):
        check("4711")
    with pytest.raises(ValueError, match="no handle of a process"):
        cancel({"pid": 1})


# Birth of a process.


def test_a_live_process_has_a_constant_birth_and_a_dead_one_has_none() -> None:
    assert birth_of(os.getpid()) == birth_of(os.getpid()) is not None
    assert birth_of(2**22 + 1) is None


@pytest.mark.parametrize(
    ("told", "birth"),
    [
        ("b-1\n7 (a) b) S " + " ".join(map(str, range(4, 50))), "b-1/22"),
        ("b-1\n7 (sh) Z " + " ".join(map(str, range(4, 50))), None),
        ("Ss   Fri Nov 20 20:47:05 2026\n", "Fri Nov 20 20:47:05 2026"),
        ("Z Fri Nov 20 20:47:05 2026\n", None),
        ("", None),
    ],
)
def test_a_birth_is_parsed_from_the_output_of_proc_or_ps(told: str, birth: str | None) -> None:
    assert read_birth(told) == birth
