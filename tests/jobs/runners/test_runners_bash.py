"""Shell commands: their input, their outcome, and their end."""

import os
import shutil
import signal
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from sluice.jobs.model.job import KEPT_BYTES, Ending
from sluice.jobs.policy.policy import Policy
from sluice.jobs.runners.process import process
from tests.jobs.runners.runner_bench import Bench, alive, bash_app, eventually, pids_in


def test_a_command_that_exits_with_zero_is_done(bench: Bench) -> None:
    outcome = bench.bash("echo out; echo err >&2")
    assert outcome.ending is Ending.DONE
    assert (outcome.output, outcome.stderr, outcome.exit_code, outcome.error) == ("out\n", "err\n", 0, None)


def test_a_command_is_run_by_bash(bench: Bench) -> None:
    assert bench.bash("[[ -n $BASH_VERSION ]] && echo bash").output == "bash\n"


def test_without_bash_a_command_is_run_by_sh(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    outcome = bench.bash("ps -o args= -p $$")
    assert outcome.output.startswith("/bin/sh -c")


def test_placeholders_are_replaced_by_their_values(bench: Bench) -> None:
    outcome = bench.bash("echo {app_name} {job_id} {date} {client_id} {{x}} ${{HOME:+set}}")
    assert outcome.output == "etl 20140101_7 20140101 7 {x} set\n"


def test_the_ends_of_a_span_and_its_missing_partitions_are_placeholders(bench: Bench) -> None:
    left = ("2024-04-01", "2024-04-05", "2024-04-07")
    span = ("2024-04-01", "2024-04-07")
    outcome = bench.bash("echo {start} {end} {partitions}", ids={}, span=span, partitions=left)
    assert outcome.output == "2024-04-01 2024-04-07 2024-04-01,2024-04-05,2024-04-07\n"
    script = 'IFS=,; all={partitions}; for one in $all; do echo "at $one"; done'
    spelled = bench.bash(script, ids={}, span=("a", "c"), partitions=("a;b", "c"))
    assert spelled.output == "at a;b\nat c\n"


@pytest.mark.parametrize(
    ("work_ids", "text"),
    [
        ((1, 2, 3, 7), "1-3,7"),
        ((-2, -1, 5), "-2--1,5"),
        (("north", "south"), "north,south"),
        (("a b", "$(false)", "it's;"), "a b,$(false),it's;"),
        (tuple(range(100_000)), "0-99999"),
    ],
)
def test_the_work_ids_of_a_chunk_are_a_placeholder(
    bench: Bench, work_ids: tuple[int | str, ...], text: str
) -> None:
    assert bench.bash("echo {work_ids}", ids={}, work_ids=work_ids).output == f"{text}\n"
    assert bench.bash('echo "of {work_ids}"', ids={}, work_ids=work_ids).output == f"of {text}\n"


def test_a_placeholder_without_a_value_is_an_error_that_names_it(bench: Bench) -> None:
    outcome = bench.bash("echo {absent}")
    assert outcome.ending is Ending.ERROR
    assert "there is no value for {absent}" in str(outcome.error)


def test_a_value_with_nul_is_refused(bench: Bench) -> None:
    outcome = bench.bash("echo {date}", ids={"date": "a\x00b"})
    assert outcome.ending is Ending.ERROR
    assert "{date} has a NUL" in str(outcome.error)


@pytest.mark.parametrize("command", [None, ""])
def test_an_app_without_a_command_is_an_error_in_one_line(bench: Bench, command: str | None) -> None:
    outcome = bench.bash(command)
    assert outcome.ending is Ending.ERROR
    assert outcome.error == "etl has no bash_cmd to run."


def test_a_command_that_begins_with_a_dash_is_no_option_of_the_shell(bench: Bench) -> None:
    outcome = bench.bash("{date}", ids={"date": "-version"})
    assert (outcome.ending, outcome.exit_code) == (Ending.ERROR, 127)


def test_the_environment_has_basic_requested_and_job_variables_but_no_secrets(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s3cr3t")
    monkeypatch.setenv("ASKED_FOR", "yes")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("SLUICE_LEDGER_URL", "postgresql://u:s3cr3t@h/d")
    policy = Policy(env={"OWN": "a b"}, env_from_os=("ASKED_FOR",))
    assignment = bench.assign(bash_app("env", policy), round_=2, claim=9)
    seen = dict(line.split("=", 1) for line in bench.run(assignment).output.splitlines())
    assert "s3cr3t" not in str(seen)
    assert (seen["OWN"], seen["ASKED_FOR"], seen["LANG"]) == ("a b", "yes", "C.UTF-8")
    assert (seen["PATH"], seen["HOME"]) == (os.environ["PATH"], os.environ["HOME"])
    assert {name: value for name, value in seen.items() if name.startswith("SLUICE_")} == {
        "SLUICE_APP": "etl",
        "SLUICE_JOB": "20140101_7",
        "SLUICE_ROUND": "2",
        "SLUICE_CLAIM": "9",
        "SLUICE_TOKEN": assignment.token,
    }


def test_an_app_cannot_override_the_variables_that_describe_the_job(bench: Bench) -> None:
    assert (
        bench.bash("echo $SLUICE_CLAIM", policy=Policy(env={"SLUICE_CLAIM": "99"}), claim=3).output == "3\n"
    )


def test_a_command_runs_in_its_working_directory(bench: Bench, tmp_path: Path) -> None:
    assert bench.bash("pwd", policy=Policy(cwd=str(tmp_path))).output == f"{tmp_path}\n"


def test_a_missing_working_directory_is_an_error_that_names_it(bench: Bench) -> None:
    outcome = bench.bash("pwd", policy=Policy(cwd="/not/there"))
    assert outcome.ending is Ending.ERROR
    assert "could not be started" in str(outcome.error)
    assert "/not/there" in str(outcome.error)


def test_a_command_too_long_for_the_system_is_an_error(bench: Bench) -> None:
    outcome = bench.bash("echo " + "x" * 10_000_000)
    assert outcome.ending is Ending.ERROR
    assert "Argument list too long" in str(outcome.error)


def test_a_command_has_a_session_of_its_own_and_an_empty_stdin(bench: Bench) -> None:
    outcome = bench.bash("cat; ls -m /proc/$$/fd; ps -o pid=,pgid=,sid= -p $$; echo $$")
    descriptors, numbers, own = outcome.output.splitlines()
    assert numbers.split() == [own] * 3
    assert own != str(os.getsid(0))
    assert descriptors.split(", ") == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("fail_on", "command", "ending", "error"),
    [
        ("exit", "exit 0", Ending.DONE, None),
        ("exit", "echo warning >&2", Ending.DONE, None),
        ("exit", "exit 3", Ending.ERROR, "exited with 3"),
        ("exit", "echo a >&2; echo b >&2; exit 3", Ending.ERROR, "exited with 3: b"),
        ("stderr", "exit 3", Ending.DONE, None),
        ("stderr", "echo >&2", Ending.ERROR, "wrote to stderr"),
        ("stderr", "echo warning >&2", Ending.ERROR, "wrote to stderr: warning"),
        ("either", "exit 3", Ending.ERROR, "exited with 3"),
        ("either", "echo warning >&2", Ending.ERROR, "wrote to stderr: warning"),
        ("either", "echo fine", Ending.DONE, None),
        ("stderr", "kill -9 $$", Ending.ERROR, "killed by signal 9 (SIGKILL)"),
        ("exit", "kill -40 $$", Ending.ERROR, "killed by signal 40 (a real-time signal)"),
    ],
)
def test_fail_on_decides_which_runs_have_failed(
    bench: Bench, fail_on: str, command: str, ending: Ending, error: str | None
) -> None:
    outcome = bench.bash(command, policy=Policy(fail_on=fail_on))
    assert (outcome.ending, outcome.error) == (ending, error)


def test_the_exit_code_is_kept_even_if_it_does_not_count(bench: Bench) -> None:
    assert bench.bash("exit 3", policy=Policy(fail_on="stderr")).exit_code == 3


def test_output_that_is_not_utf_8_is_kept_with_replacements(bench: Bench) -> None:
    assert bench.bash(r"printf 'a\xffb\0c\xc3\xa4'").output == "a\ufffdbcä"


def test_a_gigabyte_of_output_is_cut_to_head_and_tail_in_little_memory(bench: Bench) -> None:
    before = psutil.Process().memory_info().rss
    peak = [before]
    running = bench.meanwhile(lambda: bench.bash("echo begin; yes x | head -c 1000000000; echo end"))
    while not running.done():
        peak.append(psutil.Process().memory_info().rss)
        time.sleep(0.01)
    output = running.result().output
    assert output.startswith("begin\nx")
    assert output.endswith("x\nx\nend\n")
    assert "bytes left out" in output
    assert len(output) <= 2 * KEPT_BYTES
    assert max(peak) - before < 16 * 1024 * 1024


def test_large_output_on_both_pipes_at_once_does_not_block(bench: Bench) -> None:
    outcome = bench.bash("head -c 5000000 /dev/zero & head -c 5000000 /dev/zero >&2; wait")
    assert outcome.ending is Ending.DONE


def test_a_command_over_its_timeout_is_killed_with_all_its_children(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    command = f"sleep 600 & echo $! > {file}; echo $$ >> {file}; echo before; wait"
    outcome = bench.bash(command, policy=Policy(timeout_s=0.5))
    assert outcome.ending is Ending.TIMED_OUT
    assert outcome.error == "It ran over its timeout of 0.5 s."
    assert outcome.output == "before\n"
    eventually(lambda: not any(map(alive, pids_in(file))))


def test_a_command_may_clean_up_within_the_grace_period(bench: Bench) -> None:
    command = "trap 'echo tidied; exit 0' TERM; sleep 600 & wait"
    outcome = bench.bash(command, policy=Policy(timeout_s=0.5))
    assert (outcome.ending, outcome.output) == (Ending.TIMED_OUT, "tidied\n")


def test_a_child_of_the_command_also_gets_the_grace_period(bench: Bench, tmp_path: Path) -> None:
    script = tmp_path / "child.sh"
    script.write_text("trap 'sleep 0.1; echo tidied; exit' TERM; while :; do sleep 0.01; done")
    outcome = bench.bash(f"bash {script}; true", policy=Policy(timeout_s=0.5))
    assert (outcome.ending, outcome.output) == (Ending.TIMED_OUT, "tidied\n")


def test_a_command_that_ignores_sigterm_is_killed_after_the_grace_period(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    started = time.monotonic()
    outcome = bench.bash("trap '' TERM; while :; do sleep 0.1; done", policy=Policy(timeout_s=0.5))
    assert outcome.ending is Ending.TIMED_OUT
    assert time.monotonic() - started < 2


def test_a_stopped_command_is_handed_back_at_once(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    running = bench.meanwhile(lambda: bench.bash(f"sleep 600 & echo $! > {file}; echo $$ >> {file}; wait"))
    eventually(lambda: len(pids_in(file)) == 2)
    bench.stop.set()
    outcome = running.result(timeout=process.GRACE_S)
    assert outcome.ending is Ending.HANDED_BACK
    assert "stopped" in str(outcome.error)
    eventually(lambda: not any(map(alive, pids_in(file))))


def test_a_command_that_is_stopped_before_it_starts_is_not_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "ProcessGroup", lambda *_, **__: pytest.fail("it was started"))
    bench.stop.set()
    assert bench.bash("true").ending is Ending.HANDED_BACK


def test_a_child_that_keeps_the_pipes_open_is_killed_without_delay(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    started = time.monotonic()
    outcome = bench.bash(f"sleep 600 & echo $! > {file}; echo done")
    assert (outcome.ending, outcome.output) == (Ending.DONE, "done\n")
    assert time.monotonic() - started < 2
    eventually(lambda: not any(map(alive, pids_in(file))))


def test_an_endless_writer_in_another_session_does_not_hang_the_runner(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    outcome = bench.bash(f"setsid sh -c 'echo $$ > {file}; exec yes' & while ! [ -s {file} ]; do :; done")
    assert outcome.ending is Ending.DONE
    eventually(lambda: not any(map(alive, pids_in(file))))  # The closed pipe ends it.


def test_a_command_that_closes_its_pipes_is_waited_for_without_busy_waiting(bench: Bench) -> None:
    before = time.thread_time()
    assert bench.bash("exec >&- 2>&-; sleep 0.3; exit 4").exit_code == 4
    assert time.thread_time() - before < 0.1


def test_a_command_has_no_children_that_it_did_not_start(bench: Bench) -> None:
    program = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"
    assert bench.bash(f'exec python3 -c "{program}"', policy=Policy(timeout_s=10)).output == "none\n"


def test_an_unknown_exit_status_is_not_a_success(bench: Bench) -> None:
    usual = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Now the kernel reaps every child at once.
    try:
        outcome = bench.bash("exit 0")
    finally:
        signal.signal(signal.SIGCHLD, usual)
    assert outcome.ending is Ending.ERROR
    assert "exit status is unknown" in str(outcome.error)


def test_exit_statuses_are_read_on_systems_without_waitid(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "waitid")
    assert bench.bash("exit 3").exit_code == 3
    assert bench.bash("kill -9 $$").error == "killed by signal 9 (SIGKILL)"


def test_outputs_of_concurrent_commands_do_not_mix(bench: Bench) -> None:
    runs = [bench.meanwhile(partial(bench.bash, "echo {n}", ids={"n": n})) for n in range(40)]
    assert [run.result().output for run in runs] == [f"{n}\n" for n in range(40)]
