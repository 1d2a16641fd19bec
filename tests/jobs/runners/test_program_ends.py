"""End of runs under a supervisor process: all of their processes end, even if they have left their parent."""

import os
import signal
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.policy.policy import Policy
from sluice.jobs.runners.process import process
from tests.jobs.runners.programs import Programs
from tests.jobs.runners.runner_bench import Bench, Clock, alive, eventually, pids_in

#: Script that starts one sleeping process for each way in which a child can leave its parent, under unique names. The
#: last process has lost the group, the session, the parent and the environment that it began with.
SCATTER = """
lost() { exec -a "$1" sleep 600; }
lost "$1-child" &
( lost "$1-orphan" & )
setsid bash -c 'exec -a "$0" sleep 600' "$1-session" &
( setsid bash -c '( exec -a "$0" sleep 600 & )' "$1-daemon" >/dev/null 2>&1 & )
( env -i setsid bash -c '( exec -a "$0" sleep 600 </dev/null >/dev/null 2>&1 & )' "$1-bare" >/dev/null 2>&1 & )
echo before
"""
BASH = "#!/bin/bash\n"
HOUR = Policy(timeout_s=3600, fail_on="either")
KINDS = ("child", "orphan", "session", "daemon", "bare")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")


def bearing(mark: str) -> set[str]:
    """Return the names, without the mark, of all living processes on the machine that begin with the mark."""
    found: set[str] = set()
    for each in psutil.process_iter(["cmdline", "status"]):
        name = (each.info["cmdline"] or [""])[0]
        if name.startswith(mark) and each.info["status"] != psutil.STATUS_ZOMBIE:
            found.add(name.removeprefix(f"{mark}-"))
    return found


@pytest.fixture
def mark() -> str:
    return f"sluice-{uuid.uuid4().hex[:12]}"


@linux_only
def test_processes_left_by_a_program_end_with_it(programs: Programs, mark: str) -> None:
    wait = f'while [ "$(pgrep -fc "^$1-")" -lt {len(KINDS)} ]; do sleep 0.02; done'
    outcome = _scattering(programs, mark, wait)
    assert (outcome.ending, outcome.output) == (Ending.DONE, "before\n")
    assert bearing(mark) == set()


@linux_only
def test_twenty_programs_over_their_timeout_leave_no_process(
    programs: Programs, mark: str, clock: Clock
) -> None:
    """All of their children exist when the timeout expires."""
    with ThreadPoolExecutor(20) as pool:
        running = [
            pool.submit(partial(_scattering, programs, f"{mark}-{n}", "sleep 600", policy=HOUR))
            for n in range(20)
        ]
        eventually(lambda: len(bearing(mark)) == 20 * len(KINDS), within_s=60)
        clock.ahead_s = 3600
        outcomes = [each.result(timeout=60) for each in running]
    assert {outcome.ending for outcome in outcomes} == {Ending.TIMED_OUT}
    assert {outcome.output for outcome in outcomes} == {"before\n"}
    assert bearing(mark) == set()


@linux_only
def test_a_stopped_program_leaves_no_process(programs: Programs, mark: str) -> None:
    running = programs.bench.meanwhile(partial(_scattering, programs, mark, "sleep 600"))
    eventually(lambda: bearing(mark) == set(KINDS))
    programs.bench.stop.set()
    assert running.result(timeout=30).ending is Ending.HANDED_BACK
    assert bearing(mark) == set()


def _scattering(programs: Programs, mark: str, then: str, *, policy: Policy | None = None) -> Outcome:
    source = programs.source(SCATTER + then, head=BASH, name=f"{mark}.d/run.sh")
    kwargs = {"source": source, "input": mark}
    return programs.bench.run(programs.bench.assign(programs.unstated(policy), kwargs=kwargs))


WORKER = """
import sys, threading
from pathlib import Path
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.runners.process.group import ProcessCommand
from sluice.jobs.runners.stop_signal import Limits
from sluice.jobs.runners.process.process import run_group
argv = ("/bin/bash", "-c", sys.argv[1], "bash", sys.argv[2])
command = ProcessCommand(argv=argv, env={"PATH": sys.argv[3]}, kept=True)
run_group(command, Limits(threading.Event(), None))
"""


@linux_only
def test_the_death_of_the_worker_ends_all_processes_of_a_program(mark: str) -> None:
    arguments = (sys.executable, "-c", WORKER, SCATTER + "sleep 600", mark, os.environ["PATH"])
    with subprocess.Popen(arguments, cwd=Path(__file__).parents[3]) as worker:
        eventually(lambda: bearing(mark) == set(KINDS))
        worker.kill()
    eventually(lambda: bearing(mark) == set())


def _times_out(programs: Programs, text: str, clock: Clock) -> Outcome:
    """Run a program until it has created its ready file, then let its timeout expire."""
    ready = programs.bench.folder / "ready"
    running = programs.bench.meanwhile(lambda: programs.run(text, str(ready), policy=HOUR))
    eventually(ready.exists)
    clock.ahead_s = 3600
    return running.result(timeout=60)


def test_a_program_over_its_timeout_keeps_its_output_and_logs_the_reason(
    programs: Programs, clock: Clock
) -> None:
    outcome = _times_out(programs, 'echo partial; touch "$1"; sleep 600', clock)
    assert (outcome.ending, outcome.output) == (Ending.TIMED_OUT, "partial\n")
    assert outcome.error == "It ran over its timeout of 3600 s."
    assert outcome.log.endswith("terminated (execution timed out)\n")


def test_a_program_may_clean_up_within_the_grace_period(programs: Programs, clock: Clock) -> None:
    text = "trap 'echo tidied; exit 0' TERM; touch \"$1\"; sleep 600 & wait"
    outcome = _times_out(programs, text, clock)
    assert (outcome.ending, outcome.output) == (Ending.TIMED_OUT, "tidied\n")


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace_period(
    programs: Programs, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    file = tmp_path / "pids"
    text = f"trap '' TERM; echo $$ >> {file}; touch \"$1\"; while :; do sleep 0.1; done"
    assert _times_out(programs, text, clock).ending is Ending.TIMED_OUT
    assert not any(map(alive, pids_in(file)))


@linux_only
def test_a_program_that_suspends_its_supervisor_process_does_not_outlive_it(
    programs: Programs, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "pids"
    text = f'kill -STOP $PPID; echo $$ >> {file}; touch "$1"; while :; do sleep 0.1; done'
    assert _times_out(programs, text, clock).ending is Ending.TIMED_OUT
    assert not any(map(alive, pids_in(file)))


def test_exit_codes_and_signals_of_a_program_are_reported(programs: Programs) -> None:
    assert programs.run("exit 255").exit_code == 255
    assert programs.run("kill -TERM $$").error == "killed by signal 15 (SIGTERM)"
    assert programs.run("kill -40 $$").error == "killed by signal 40 (a real-time signal)"
    assert programs.run("kill -STOP $PPID; kill -9 $PPID", policy=Policy(timeout_s=20)).error == (
        "killed by signal 9 (SIGKILL)"
    )


def test_a_program_has_no_children_that_it_did_not_start(programs: Programs) -> None:
    program = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"
    assert programs.run(f'exec python3 -c "{program}"').output == "none\n"


def test_a_supervisor_process_that_cannot_be_started_is_an_error(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/not/there/python")
    outcome = programs.run("true")
    assert "The program could not be started" in str(outcome.error)


def test_a_supervisor_process_that_dies_during_its_start_is_an_error(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    outcome = programs.run("true", "word " * 100_000)
    assert outcome.ending is Ending.ERROR


def test_a_command_too_long_for_the_system_is_an_error_in_one_line(programs: Programs) -> None:
    assert programs.run("true", "x" * 3_000_000).error == "exited with 126: ./run.sh: Argument list too long"


def test_an_unknown_exit_status_is_not_a_success(programs: Programs) -> None:
    usual = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        outcome = programs.run("exit 0")
    finally:
        signal.signal(signal.SIGCHLD, usual)
    assert outcome.ending is Ending.ERROR


def test_outputs_of_concurrent_programs_do_not_mix(bench: Bench, programs: Programs) -> None:
    app = programs.app("echo $1", "{n}")
    runs = [bench.meanwhile(lambda n=n: bench.run(bench.assign(app, ids={"n": n}))) for n in range(20)]
    assert [run.result().output for run in runs] == [f"{n}\n" for n in range(20)]
