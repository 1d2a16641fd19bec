"""Commands that outlive the worker: started once, and found again after any crash."""

import threading
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from msgspec.structs import replace

from sluice.jobs.catalogue import load
from sluice.jobs.managers import LocalProcess
from sluice.jobs.managers.conformance import sample
from sluice.jobs.managers.isolated_calls import ask_apart
from sluice.jobs.managers.local_process import ProcessMark, RunRecord
from sluice.jobs.model.external_work import Stage, WorkOwner
from sluice.jobs.model.job import Ending
from tests.jobs.managers.commands import (
    BRIEF,
    ENDLESS,
    FAILING,
    Command,
    DiesAtOnce,
    cancel,
    check,
    doing,
    folder_of,
    leaders_under,
    next_claim,
    run,
    until_it_ended,
    until_it_stands,
)
from tests.jobs.runners.runner_bench import Bench, alive, error_of, eventually, managed_app
from tests.jobs.runners.scripted_grid import Tie

# Status of a run.


def test_the_status_of_a_run_has_its_output_and_progress(runs: Path) -> None:
    handle = run(doing('echo 3 10 >"$SLUICE_PROGRESS"; echo one; echo two'))
    until_it_ended(handle)
    status = check(handle)
    assert (status.stage, status.text, status.progress) == (Stage.SUCCEEDED, "one\ntwo", (3, 10))


@pytest.mark.parametrize(
    ("do", "told"),
    [
        (FAILING, "exited with 3\nno such host"),
        ("kill -9 $$", "exited with 137, as if by SIGKILL"),
        ("exec ./no-such-program", "exited with 127"),
        ('kill -9 "$PPID"', "killed, or its machine went down"),
    ],
)
def test_the_status_of_a_failed_run_has_the_reason(do: str, told: str) -> None:
    handle = run(doing(do))
    until_it_stands(handle, Stage.FAILED)
    assert told in check(handle).text


def test_the_error_of_a_run_quotes_the_end_of_its_output() -> None:
    handle = run(doing("seq 1 10000 >&2; exit 1"))
    until_it_stands(handle, Stage.FAILED)
    assert check(handle).text.endswith("\n9999\n10000")
    assert len(check(handle).text) < 5000


def test_values_in_a_command_are_filled_in_and_never_executed(tmp_path: Path) -> None:
    class Say(Command):
        command = ("printf", "%s|", "{start}-{end}", "{{x}}", "{what}; exit 1")

    handle = run(sample("k", ids={"what": "$(exit 2) 'a b'"}, span=("1", "9")), Say)
    until_it_ended(handle)
    assert check(handle).text == "1-9|{x}|$(exit 2) 'a b'; exit 1|"


def test_a_command_has_only_its_own_and_the_named_environment_variables(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("NAMED", "n")

    class Show(Command):
        env = MappingProxyType({"COLOUR": "red"})
        env_from_os = ("NAMED",)
        cwd = str(tmp_path)

    handle = run(doing('echo "$COLOUR $NAMED $SECRET $SLUICE_CLAIM $SLUICE_JOB"; pwd', kwargs={}), Show)
    until_it_ended(handle)
    assert check(handle).text == f"red n  1 1\n{tmp_path}"


@pytest.mark.parametrize("words", [(), "ls -l"])
def test_a_command_that_is_no_list_of_words_is_an_error(words: Any) -> None:
    class Wrong(Command):
        command = words

    with pytest.raises(ValueError, match="takes a list of words"):
        run(sample("1"), Wrong)


def test_a_missing_working_folder_fails_the_round_but_not_the_next_one(tmp_path: Path) -> None:
    class There(Command):
        cwd = str(tmp_path / "later")

    claimed = doing(BRIEF)
    with pytest.raises(FileNotFoundError, match="later"):
        run(claimed, There)
    (tmp_path / "later").mkdir()
    until_it_stands(run(next_claim(claimed), There), Stage.SUCCEEDED)


def test_the_folder_of_a_run_is_accessible_to_its_user_only() -> None:
    handle = run(doing(BRIEF))
    until_it_ended(handle)
    assert folder_of(handle).stat().st_mode & 0o077 == 0


# Started once.


def test_concurrent_starts_of_a_job_find_the_same_run(runs: Path) -> None:
    claimed, handles = doing(ENDLESS), []
    barrier = threading.Barrier(8)

    def start(claim: int) -> None:
        barrier.wait()
        handles.append(run(replace(claimed, claim=claim)))

    threads = [threading.Thread(target=start, args=(claim,)) for claim in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert handles == [handles[0]] * 8
    assert len(leaders_under(runs)) == 1
    cancel(handles[0])


def test_an_ended_run_that_was_never_checked_is_found_again(tmp_path: Path) -> None:
    claimed = doing(f"echo started >>{tmp_path}/starts")
    handle = ask_apart(Command, "run", claimed=claimed, within_s=30)
    until_it_ended(handle)
    assert run(next_claim(claimed)) == handle
    assert check(handle).stage is Stage.SUCCEEDED
    assert (tmp_path / "starts").read_text() == "started\n"


@pytest.mark.parametrize("do", [BRIEF, FAILING])
def test_an_ended_run_that_was_checked_is_replaced_by_a_new_run(do: str, runs: Path) -> None:
    claimed = doing(do)
    first = run(claimed)
    until_it_ended(first)
    check(first)
    second = run(next_claim(claimed))
    assert second != first
    until_it_ended(second)
    assert not folder_of(first).exists(), "its place is taken"
    with pytest.raises(LookupError, match="no record"):
        check(first)


def test_a_live_run_is_found_again_even_if_it_was_checked() -> None:
    claimed = doing(ENDLESS)
    handle = run(claimed)
    assert check(handle).stage is Stage.RUNNING
    assert run(next_claim(claimed)) == handle
    cancel(handle)


def test_a_cancelled_run_is_ended_before_a_new_run_begins() -> None:
    """The worker that should have ended the first run died after it had marked the run as cancelled."""
    claimed = doing(ENDLESS)
    first = run(claimed)
    RunRecord(folder_of(first)).mark(ProcessMark.CANCELLED)
    second = run(next_claim(claimed))
    assert second["pid"] != first["pid"]
    assert not alive(first["pid"])
    cancel(second)


def test_a_new_run_begins_if_the_worker_died_before_the_leader_started(runs: Path) -> None:
    claimed = doing(BRIEF)
    (runs / claimed.token / "1").mkdir(parents=True)
    handle = run(next_claim(claimed))
    until_it_stands(handle, Stage.SUCCEEDED)


@pytest.mark.parametrize("_", range(10))
def test_a_run_is_found_if_its_worker_died_while_the_leader_started(_: int, runs: Path) -> None:
    claimed = doing(ENDLESS)
    with pytest.raises(RuntimeError, match="did not return"):
        ask_apart(DiesAtOnce, "run", claimed=claimed, within_s=30)
    handle = run(next_claim(claimed))
    assert [leader.pid for leader in leaders_under(runs)] == [handle["pid"]]
    assert folder_of(handle).name == "1", "the process of the dead worker must be found"
    cancel(handle)


# With the runner of all job managers.


def test_a_local_process_runs_as_a_managed_job(bench: Bench) -> None:
    class Greet(Command):
        command = ("echo", "hello {client_id}")

    outcome = bench.run(bench.assign(managed_app(Greet)), attachment=Tie())
    assert outcome.ending is Ending.DONE
    assert "its output is in" in outcome.output
    assert outcome.output.endswith("INFO hello 7\n")


def test_failed_work_is_the_jobs_error(bench: Bench) -> None:
    class Fail(Command):
        command = ("sh", "-c", "echo so sad >&2; exit 2")

    assert error_of(bench.run(bench.assign(managed_app(Fail)), attachment=Tie())) == "exited with 2\nso sad"


def test_a_stopping_worker_leaves_the_command_to_the_next_one(bench: Bench) -> None:
    class Sleep(Command):
        command = ("sleep", "1000")

    tie = Tie(keeper=WorkOwner.ANOTHER)
    running = bench.meanwhile(lambda: bench.run(bench.assign(managed_app(Sleep)), attachment=tie))
    eventually(lambda: tie.kept)
    bench.stop.set()
    assert running.result(timeout=20).ending is Ending.HANDED_BACK
    handle = tie.kept[0]
    assert alive(handle["pid"])
    bench.stop.clear()
    tie = Tie(handle=handle, keeper=WorkOwner.NONE)
    running = bench.meanwhile(lambda: bench.run(bench.assign(managed_app(Sleep)), attachment=tie))
    eventually(lambda: RunRecord(folder_of(handle)).is_marked(ProcessMark.CHECKED))
    bench.stop.set()
    assert running.result(timeout=20).ending is Ending.HANDED_BACK
    assert not alive(handle["pid"])
    assert tie.forgotten == [handle]


def test_a_definition_can_name_a_user_defined_local_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "from sluice.jobs.managers import LocalProcess\n"
        "class Import(LocalProcess):\n    command = ['./import.sh', '{date}']\n"
    )
    (tmp_path / "apps.json").write_text('{"load": {"job_id": "{date}", "job_type": "mine.py:Import"}}')
    monkeypatch.chdir(tmp_path)
    manager = load(["apps.json"]).app("load").manager
    assert manager is not None
    assert issubclass(manager, LocalProcess)
