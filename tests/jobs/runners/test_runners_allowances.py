"""Limits on the resources of a run, and the errors of runs that exceed them. The operating system enforces the limits,
for root as well, except for ``processes``.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.resource_limits import Allowance
from tests.jobs.runners.programs import Programs
from tests.jobs.runners.runner_bench import Bench

Run = Callable[..., Outcome]
MEMORY = """exec python3 -c 'x = bytearray(10**9)'"""

#: By name: a limit, a command that exceeds it, and the resulting error.
HITS: dict[str, tuple[dict[str, Any], str, str]] = {
    "cpu": (
        {"cpu_s": 1},
        "while :; do :; done",
        "killed by signal 24 (SIGXCPU): it used more than its cpu limit of 1 s",
    ),
    "cpu, of a child that its shell reports": (
        {"cpu_s": 1},
        "sh -c 'while :; do :; done' 2>/dev/null; exit $?",
        "killed by signal 24 (SIGXCPU): it used more than its cpu limit of 1 s",
    ),
    "cpu, of a program that does not mind": (
        {"cpu_s": 1},
        "trap '' XCPU; while :; do :; done",
        "killed by signal 9 (SIGKILL): it used more than its cpu limit of 1 s",
    ),
    "file_size": (
        {"file_size_bytes": 50_000},
        "exec head -c 60000 /dev/zero >{folder}/long",
        "killed by signal 25 (SIGXFSZ): it wrote more into a file than its file_size limit of 50 KB",
    ),
    "file_size, of a program that minds": (
        {"file_size_bytes": 65_536},
        "trap '' XFSZ; exec head -c 100000 /dev/zero >{folder}/long",
        "exited with 1: head: error writing 'standard output': File too large (its file_size limit is 64 KiB)",
    ),
    "memory": (
        {"memory_bytes": 400 * 1024**2},
        MEMORY,
        "exited with 1: MemoryError (its memory limit is 400 MiB)",
    ),
    "processes": (
        {"processes": 10},
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do (setsid sleep 600 &) ; done; sleep 600",
        "it had more than 10 processes, which is its limit, and was killed",
    ),
    "open_files": (
        {"open_files": 16},
        """exec python3 -c 'x = [open("/dev/null") for _ in range(100)]'""",
        "exited with 1: OSError: [Errno 24] Too many open files: '/dev/null' (its open_files limit is 16)",
    ),
}


@pytest.fixture(params=["program", "bash"])
def run(request: pytest.FixtureRequest, bench: Bench, programs: Programs) -> Run:
    return programs.run if request.param == "program" else bench.bash


@pytest.mark.parametrize("hit", HITS)
def test_an_exceeded_limit_is_reported_in_one_line(run: Run, hit: str, tmp_path: Path) -> None:
    limits, command, error = HITS[hit]
    policy = Policy(limits=Allowance(**limits), timeout_s=60)
    outcome = run(command.replace("{folder}", str(tmp_path)), policy=policy)
    # Further lines of a program's error contain everything that was written to stderr.
    assert (outcome.ending, str(outcome.error).splitlines()[0]) == (Ending.ERROR, error)


@pytest.mark.parametrize("hit", [hit for hit, (_, command, _) in HITS.items() if "while" not in command])
def test_a_command_within_its_limits_succeeds(run: Run, hit: str, tmp_path: Path) -> None:
    everything = Allowance(
        cpu_s=60, memory_bytes=4 * 1024**3, file_size_bytes=10**6, processes=40, open_files=200
    )
    command = HITS[hit][1].replace("{folder}", str(tmp_path)).replace("sleep 600", "sleep 0")
    outcome = run(command, policy=Policy(limits=everything, timeout_s=60))
    assert (outcome.ending, outcome.error) == (Ending.DONE, None)


def test_every_limit_is_also_set_as_a_hard_limit(bench: Bench) -> None:
    limits = Allowance(cpu_s=90.5, memory_bytes=2**31, file_size_bytes=2**20, open_files=100)
    outcome = bench.bash("cat /proc/self/limits", policy=Policy(limits=limits))
    told = {line[:25].strip(): line[25:].split()[:2] for line in outcome.output.splitlines()}
    assert told["Max cpu time"] == ["90", "91"]
    assert told["Max address space"] == [str(2**31)] * 2
    assert told["Max file size"] == [str(2**20)] * 2
    assert told["Max open files"] == ["100", "100"]


def test_processes_of_other_runs_do_not_count(bench: Bench) -> None:
    """The system's own limit would count all processes of the user."""
    policy = Policy(limits=Allowance(processes=3))
    runs = [bench.meanwhile(partial(bench.bash, "sleep 0.5; echo fine", policy=policy)) for _ in range(4)]
    assert [each.result().output for each in runs] == ["fine\n"] * 4


def test_an_isolated_function_has_limits_and_reports_its_end(bench: Bench) -> None:
    policy = Policy(limits=Allowance(open_files=64, processes=50))
    outcome = bench.isolate("prints_its_limit_of_open_files", policy=policy)
    assert (outcome.ending, outcome.error) == (Ending.DONE, None)
    assert outcome.output == "(64, 64)\n"


def test_an_isolated_function_over_its_cpu_limit_is_killed_and_reported(bench: Bench) -> None:
    outcome = bench.isolate("works_without_end", policy=Policy(limits=Allowance(cpu_s=1), timeout_s=60))
    assert outcome.error == "killed by signal 24 (SIGXCPU): it used more than its cpu limit of 1 s"


def test_limits_are_refused_for_a_function_in_a_thread(bench: Bench) -> None:
    outcome = bench.call(lambda: None, policy=Policy(limits=Allowance(cpu_s=1)))
    assert "which a thread cannot have" in str(outcome.error)


def test_a_limit_that_is_too_small_to_start_a_process_is_an_error(run: Run) -> None:
    outcome = run("echo fine", policy=Policy(limits=Allowance(memory_bytes=4096)))
    assert outcome.ending is Ending.ERROR
    assert outcome.output == ""
