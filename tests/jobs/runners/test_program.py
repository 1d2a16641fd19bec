"""Programs: their input, their outcome, and errors of their definition or source."""

import hashlib
import os
import signal
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.model.program import Program
from sluice.jobs.policy.policy import Policy
from sluice.jobs.programs.source import Rules
from sluice.jobs.programs.store import ProgramStore
from tests.jobs.runners.programs import Programs
from tests.jobs.runners.runner_bench import Bench, error_of, eventually, program_app

#: Bits of the signals that have names. Of the other signals, the C library uses two itself.
_NAMED = (1 << 31) - 1
_TELL = (
    "cat; ls -m /proc/$$/fd; ps -o pid=,pgid=,sid= -p $$; echo $$;"
    ' while read -r line; do case $line in SigBlk*|SigIgn*) echo "$line";; esac; done < /proc/$$/status'
)
SAY = 'for each in "$@"; do echo "<$each>"; done'


def test_a_program_gets_the_words_of_its_input_as_arguments(programs: Programs) -> None:
    outcome = programs.run('echo "out $*"', "a b")
    assert (outcome.ending, outcome.exit_code, outcome.error) == (Ending.DONE, 0, None)
    assert (outcome.output, outcome.stderr) == ("out a b\n", "")


@pytest.mark.parametrize(
    ("fail_on", "text", "error"),
    [
        ("either", "echo fine", None),
        ("either", "echo boom >&2", "wrote to stderr: boom"),
        ("stderr", "echo boom >&2", "wrote to stderr: boom"),
        ("either", "exit 3", "exited with 3"),
        ("exit", "exit 3", "exited with 3"),
        ("stderr", "exit 3", None),
        ("either", "echo boom >&2; exit 3", "exited with 3: boom"),
        ("either", "echo >&2", "wrote to stderr"),
        ("stderr", "kill -9 $$", "killed by signal 9 (SIGKILL)"),
    ],
)
def test_fail_on_decides_which_runs_have_failed(
    programs: Programs, fail_on: Any, text: str, error: str | None
) -> None:
    outcome = programs.run(text, policy=Policy(fail_on=fail_on))
    assert (outcome.ending, outcome.error) == (Ending.ERROR if error else Ending.DONE, error)
    assert outcome.exit_code == (None if "kill" in text else 3 if "exit 3" in text else 0)
    assert outcome.stderr.strip() == ("boom" if "boom" in text else "")


@pytest.mark.parametrize(
    ("fail_on", "text", "error"),
    [
        ("exit", "echo boom >&2", "boom\n"),
        ("exit", "echo one >&2; echo boom >&2; exit 3", "exited with 3: boom\none\nboom\n"),
        ("either", "echo one >&2; echo boom >&2", "wrote to stderr: boom\none\nboom\n"),
        ("stderr", "echo one >&2; echo boom >&2", "wrote to stderr: boom\none\nboom\n"),
        ("exit", "echo one >&2; kill -9 $$", "killed by signal 9 (SIGKILL)\none\n"),
    ],
)
def test_the_error_contains_everything_written_to_stderr(
    programs: Programs, fail_on: Any, text: str, error: str
) -> None:
    outcome = programs.run(text, policy=Policy(fail_on=fail_on))
    assert outcome.error == error
    assert (outcome.ending is Ending.DONE) == (text == "echo boom >&2")


@pytest.mark.parametrize(
    ("input_", "arguments"),
    [
        ("", []),
        ("  \t\n ", []),
        ("a; echo pwn", ["a;", "echo", "pwn"]),
        ("$(id) `id` $HOME ~ * > /tmp/x", ["$(id)", "`id`", "$HOME", "~", "*", ">", "/tmp/x"]),
        ("'a b' \"c\" \\ --help", ["'a", "b'", '"c"', "\\", "--help"]),
        ("a\n\tb\r\n  grüß\u00a0dich", ["a", "b", "grüß\u00a0dich"]),
    ],
)
def test_the_words_of_an_input_are_literal(programs: Programs, input_: str, arguments: list[str]) -> None:
    for outcome in (programs.run(SAY, input_), programs.run(SAY, kwargs={"input": input_})):
        assert outcome.output.splitlines() == [f"<{each}>" for each in arguments]
        assert outcome.ending is Ending.DONE


def test_an_input_may_have_many_words(programs: Programs) -> None:
    assert programs.run("echo $#", "1 " * 100_000).output == "100000\n"


def test_a_placeholder_value_stays_within_one_argument(programs: Programs) -> None:
    outcome = programs.run(SAY, "{app_name} x={date} {{y}}", ids={"date": "a b; c"})
    assert outcome.output == "<etl>\n<x=a b; c>\n<{y}>\n"


def test_a_submission_sets_the_options_that_the_app_leaves_open(programs: Programs) -> None:
    source = programs.source('echo "$SLUICE_PROGRAM $*"; basename "$PWD"')
    kwargs = {"program": "adder", "source": source, "input": "1  2", "sha256": None}
    outcome = programs.bench.run(programs.bench.assign(program_app(Program()), kwargs=kwargs))
    assert outcome.output == "adder 1 2\nadder\n"


@pytest.mark.parametrize(
    ("stated", "kwargs", "error"),
    [
        ({}, {}, "etl has no source, and neither has the submission."),
        ({"source": "file:/{absent}/run.sh"}, {}, "There is no value for {absent}."),
        ({"source": "file:/x/run.sh"}, {"source": "s"}, "The kwarg 'source' is fixed by etl; leave it out."),
        ({"source": "file:/x/run.sh", "input": ""}, {"input": "1"}, "The kwarg 'input' is fixed by etl;"),
        (
            {"source": "file:/x/run.sh"},
            {"inputs": "1"},
            "A program does not take the kwarg 'inputs'; it takes",
        ),
        ({"source": "file:/x/run.sh"}, {"input": 1}, "The kwarg 'input' must be a text, and not 1."),
        ({"source": "file:/x/run.sh"}, {"input": "a\0b"}, "input: it has a NUL"),
        ({"source": "file:/x/run.sh"}, {"sha256": "abc"}, "sha256: 'abc' is no SHA-256"),
        ({"source": "file:/x/run.sh"}, {"program": "../etc"}, "cannot be the name of a program"),
        ({"program": "{date}"}, {"source": "file:/x/run.sh"}, "'../up' cannot be the name of a program"),
        ({}, {"source": "ftp://a/b.zip"}, "invalid type of archive / program: ftp://a/b.zip"),
        ({}, {"source": "file:/not/there/run.sh"}, "could not fetch program 'etl'"),
    ],
)
def test_an_unusable_option_or_kwarg_is_an_error_in_one_line(
    bench: Bench, stated: dict[str, str], kwargs: dict[str, Any], error: str
) -> None:
    assignment = bench.assign(program_app(Program(**stated)), kwargs=kwargs, ids={"date": "../up"})
    told = error_of(bench.run(assignment))
    assert error in told
    assert len(told.splitlines()) == 1


def test_a_program_cannot_have_another_working_directory(programs: Programs, tmp_path: Path) -> None:
    assert "cwd: a program always runs in its own folder" in error_of(
        programs.run("true", policy=Policy(cwd=str(tmp_path)))
    )


def test_a_program_gets_the_environment_of_a_command(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_LEDGER_URL", "postgresql://u:s3cr3t@h/d")
    monkeypatch.setenv("ASKED_FOR", "yes")
    policy = Policy(env={"OWN": "a b", "LD_LIBRARY_PATH": "/nowhere"}, env_from_os=("ASKED_FOR",))
    assignment = programs.bench.assign(programs.app("env", "1 2", policy=policy), claim=9)
    seen = dict(line.split("=", 1) for line in programs.bench.run(assignment).output.splitlines())
    assert "s3cr3t" not in str(seen)
    assert (seen["OWN"], seen["ASKED_FOR"], seen["PATH"]) == ("a b", "yes", os.environ["PATH"])
    assert seen["LD_LIBRARY_PATH"] == "/nowhere"
    assert (seen["SLUICE_CLAIM"], seen["SLUICE_TOKEN"]) == ("9", assignment.token)
    assert seen["SLUICE_PROGRAM"] == "etl"


def test_a_program_starts_with_default_streams_and_signals(programs: Programs) -> None:
    """It inherits nothing from the way in which it or its worker was started. The shell reads its own signals, because
    it may block all signals while it starts another program."""
    usual = signal.signal(signal.SIGQUIT, signal.SIG_IGN)  # As for a background process of a shell.
    try:
        outcome = programs.run(_TELL)
    finally:
        signal.signal(signal.SIGQUIT, usual)
    descriptors, numbers, own, *signals = outcome.output.splitlines()
    assert set(descriptors.split(", ")) <= {"0", "1", "2", "10"}  # A shell keeps its script open as 10.
    assert numbers.split() == [own] * 3
    blocked, ignored = (int(line.split()[1], 16) for line in signals)
    assert (blocked & _NAMED, ignored & _NAMED) == (0, 0)


def test_a_script_without_an_interpreter_line_is_run_by_sh(bench: Bench, programs: Programs) -> None:
    source = programs.source("echo $*\n", head="")
    outcome = bench.run(bench.assign(program_app(Program(source=source, input="1 2"))))
    assert outcome.output == "1 2\n"


def test_a_missing_interpreter_is_the_reason_in_the_error(bench: Bench, programs: Programs) -> None:
    source = programs.source("", head="#!/not/there\n")
    assert error_of(bench.run(bench.assign(program_app(Program(source=source))))) == (
        "exited with 127: ./run.sh: its first line names an interpreter that does not exist"
    )


def _archive(bench: Bench, name: str, mode: int) -> str:
    file = bench.folder / "program.zip"
    with zipfile.ZipFile(file, "w") as archive:
        member = zipfile.ZipInfo(name)
        member.external_attr = mode << 16
        archive.writestr(member, "#!/bin/sh\necho fine\n")
    return f"file:{file}"


def test_a_program_without_run_sh_fails(bench: Bench) -> None:
    source = _archive(bench, "inner/run.sh", 0o755)
    told = error_of(bench.run(bench.assign(program_app(Program(source=source)))))
    assert "run.sh" in told
    assert len(told.splitlines()) == 1


def test_a_run_sh_that_is_not_executable_fails(bench: Bench) -> None:
    outcome = bench.run(bench.assign(program_app(Program(source=_archive(bench, "run.sh", 0o644)))))
    assert outcome.ending is Ending.ERROR
    assert "run.sh" in error_of(outcome)
    assert outcome.output == ""


def test_a_source_with_another_digest_fails(bench: Bench, programs: Programs) -> None:
    source = programs.source("echo fine")
    digest = hashlib.sha256((bench.folder / "sources" / "run.sh").read_bytes()).hexdigest()
    right = bench.run(bench.assign(program_app(Program(source=source, sha256=digest.upper()))))
    assert right.output == "fine\n"
    wrong = bench.run(bench.assign(program_app(Program(source=source, sha256="0" * 64))))
    assert digest in error_of(wrong)


def test_the_fetch_is_recorded_in_the_log_and_not_in_the_output(
    programs: Programs, worker_log: pytest.LogCaptureFixture
) -> None:
    first, again = programs.run("echo fine"), programs.run("echo fine")
    lines = [line.split(" ", 2)[1:] for line in first.log.splitlines()]
    assert [level for level, _ in lines] == ["INFO"] * len(lines)
    assert lines[0][1].startswith("attempting to fetch program 'etl' from ")
    assert f"file:{programs.bench.folder}/sources/run.sh" in lines[0][1]
    assert lines[-1][1].startswith("fetched program 'etl'")
    assert (first.output, again.output) == ("fine\n", "fine\n")
    assert "fetched program 'etl'" in worker_log.text


@pytest.fixture
def silent(bench: Bench) -> Iterator[str]:
    """Yield the source of a server that accepts every connection and never answers."""
    rules = Rules(hosts=("127.0.0.1",))
    bench.stores = bench.stores._replace(programs=ProgramStore(bench.folder / "programs", rules))
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/program.zip"


def test_the_time_of_a_fetch_counts_against_the_timeout(bench: Bench, silent: str) -> None:
    app = program_app(Program(source=silent), Policy(timeout_s=0.5))
    outcome = bench.run(bench.assign(app))
    assert (outcome.ending, outcome.error) == (Ending.TIMED_OUT, "It ran over its timeout of 0.5 s.")
    assert "terminated (execution timed out)" in outcome.log


def test_a_stop_ends_a_fetch(bench: Bench, silent: str, worker_log: pytest.LogCaptureFixture) -> None:
    running = bench.meanwhile(lambda: bench.run(bench.assign(program_app(Program(source=silent)))))
    eventually(lambda: "attempting to fetch" in worker_log.text)
    bench.stop.set()
    assert running.result(timeout=20).ending is Ending.HANDED_BACK
