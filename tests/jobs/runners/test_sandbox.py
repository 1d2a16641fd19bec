"""Actions, files and networks that the sandbox denies to a job's process. Many tests also show that a lower level
allows them.
"""

import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.policy.policy import Policy
from sluice.jobs.policy.resource_limits import Allowance
from sluice.jobs.policy.sandbox_settings import Fence, SandboxLevel
from sluice.jobs.runners.process import process
from sluice.jobs.runners.process.group import ProcessCommand
from sluice.jobs.runners.process.sandbox import Sandbox
from tests.jobs.runners.programs import Programs
from tests.jobs.runners.runner_bench import Clock, eventually, isolated_app
from tests.jobs.runners.sandboxes import LIMITS, OFF, WALLED, At, linux_only, out, walled

HOUR = Policy(timeout_s=3600)
#: Policy by the way in which a process is run: in a group with a guard, or under a supervisor process.
KINDS = {"guarded": Policy(), "kept": Policy(limits=Allowance(open_files=200))}


@linux_only
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_cannot_gain_rights_and_leaves_no_core_dump(kind: str, at: At) -> None:
    look = "grep NoNewPrivs /proc/self/status; ulimit -S -c; ulimit -H -c"
    told = out(at(LIMITS).bash(look, policy=KINDS[kind])).split()
    assert told == ["NoNewPrivs:", "1", "0", "0"]
    own = Path("/proc/self/status").read_text()
    assert "NoNewPrivs:\t0" in own, "the worker has given up what its functions may need"
    assert out(at(OFF).bash(look, policy=KINDS[kind])).split()[1] == "0"


@linux_only
def test_a_set_user_id_program_grants_no_rights(at: At, tmp_path: Path) -> None:
    """The program belongs to another user, as ``sudo`` belongs to root."""
    if os.getuid() != 0:
        pytest.skip("only root can make a file that is another user's")
    lends = tmp_path / "lends"
    shutil.copy(shutil.which("id") or "", lends)
    os.chown(lends, 65534, 65534)
    lends.chmod(stat.S_ISUID | 0o755)
    assert out(at(OFF).bash(f"{lends} -u")) == "65534\n"
    assert out(at(LIMITS).bash(f"{lends} -u")) == "0\n"


@walled
def test_only_temporary_folders_and_folders_named_by_the_operator_are_writable(
    at: At, tmp_path: Path
) -> None:
    outside = Path.cwd() / ".tmp-of-a-sandbox-test"
    try:
        refused = f'"$HOME/{outside.name}" {outside} /var/x /run/x /dev/x'
        own = "/tmp/x /var/tmp/x /dev/shm/x"
        write = f"for f in {refused} {own}; do echo x >$f; done; cat {own}"
        outcome = at(WALLED).bash(f"({write}) 2>&1")
        assert outcome.output.count("Read-only file system") == 5, outcome.output
        assert outcome.output.endswith("\nx\nx\nx\n")
        assert not Path("/tmp/x").exists()
        named = tmp_path / "data"
        named.mkdir()
        assert (
            out(at(Fence(level=SandboxLevel.BUBBLEWRAP, writable=(str(named),))).bash(f"echo y >{named}/y"))
            == ""
        )
        assert (named / "y").read_text() == "y\n"
    finally:
        outside.unlink(missing_ok=True)


@walled
def test_a_program_can_write_to_its_own_folder_in_a_hidden_store(at: At, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cr3t")
    bench = at(Fence(level=SandboxLevel.BUBBLEWRAP, hidden=(str(tmp_path),)))
    text = f'echo "$1" >here; cat here; ls {tmp_path}; cat {tmp_path}/secret 2>/dev/null; echo x >{tmp_path}/x; :'
    outcome = Programs(bench).run(text, "word", policy=Policy(fail_on="exit"))
    assert outcome.output == "word\nprograms\n"
    assert "Read-only file system" in outcome.stderr
    assert not list(tmp_path.rglob("here"))


@walled
def test_hidden_paths_cannot_be_read(at: At, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The files below the worker's own folder would be visible if they were not hidden."""
    home = tmp_path / "home"
    for name in (
        ".ssh/id",
        ".netrc",
        ".npmrc",
        ".config/pip/pip.conf",
        ".m2/settings.xml",
        "worker/.env",
        "worker/.sluice/socket",
        "worker/seen",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("s3cr3t")
    (tmp_path / "way").symlink_to(home / "worker" / ".sluice")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "worker")
    hidden = (str(home / "worker" / ".env"), str(tmp_path / "way"), "/no/such/place")
    keys = "../.ssh/id ../.netrc ../.npmrc ../.config/pip/pip.conf ../.m2/settings.xml"
    look = f"cat seen; echo; cat .env .sluice/socket {keys}; echo; ls -A . .sluice"
    fence = Fence(level=SandboxLevel.BUBBLEWRAP, hidden=hidden)
    assert at(LIMITS).bash(look).output.count("s3cr3t") == 8
    told = at(fence).bash(look).output
    assert told.split("\n")[0] == "s3cr3t"
    assert told.count("s3cr3t") == 1
    assert "socket" not in told
    at_home = at(Fence(level=SandboxLevel.BUBBLEWRAP, writable=(str(home),), hidden=hidden))
    told = at_home.bash(f"{look}; echo x >../new; echo x >.sluice/new").output
    assert (told.count("s3cr3t"), (home / "new").exists()) == (1, True)
    assert not (home / "worker" / ".sluice" / "new").exists()
    known = home / ".ssh" / "known"
    known.mkdir()
    lower = Fence(level=SandboxLevel.BUBBLEWRAP, writable=(str(known),))
    assert out(at(lower).bash("echo x >../.ssh/known/new; test -f ../.ssh/id || echo hidden")) == "hidden\n"
    assert (known / "new").exists()


@walled
def test_the_environment_cannot_make_bubblewrap_run_other_code(at: At, tmp_path: Path) -> None:
    """Bubblewrap is outside until it has made the sandbox, and so would be any code that the loader adds to it. Here
    the environment makes the loader write a log file for each program."""
    env = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(tmp_path / "asked")}
    look = f"mkdir -p {tmp_path}; /bin/true; ls {tmp_path}/asked* >/dev/null && echo it was asked"
    outcome = at(WALLED).bash(look, policy=Policy(env=env))
    assert list(tmp_path.glob("asked*")) == []
    assert "it was asked\n" in outcome.output, "the command itself has the environment that it was given"


@walled
def test_environment_values_are_not_in_the_command_line(tmp_path: Path) -> None:
    given = {"LD_LIBRARY_PATH": "/opt/lib", "PASSWORD": "s3cr3t", "TMPDIR": str(tmp_path)}
    command = Sandbox(WALLED).around(ProcessCommand(argv=("true",), env=given))
    assert command.env == {"PASSWORD": "s3cr3t", "TMPDIR": "/tmp"}
    assert "s3cr3t" not in command.argv


@walled
def test_an_isolated_function_runs_in_the_sandbox_and_its_events_arrive(at: At, tmp_path: Path) -> None:
    bench = at(WALLED)
    shown = Path(__file__).parent  # The folder of the function's file.
    outcome = bench.isolate("looks_around", kwargs={"folder": str(shown)})
    assert out(outcome) == "Read-only file system\n"
    assert bench.progress == [(1, 2)]


@walled
def test_a_function_with_its_file_in_tmp_is_found(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's folder is ``/tmp`` itself, which is not shown."""
    monkeypatch.chdir("/tmp")
    with tempfile.NamedTemporaryFile("w", dir="/tmp", prefix="sluice_", suffix=".py") as file:
        file.write("from pathlib import Path\ndef look(job):\n    print(*Path('/tmp').glob('*.py'))\n")
        file.flush()
        bench = at(WALLED)
        app = replace(isolated_app("look"), function_path=f"{file.name}:look")
        assert out(bench.run(bench.assign(app))) == f"{file.name}\n"


@walled
def test_capabilities_are_dropped_and_no_sandbox_can_be_created_inside(at: At) -> None:
    told = out(at(WALLED).bash("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; ulimit -H -c")).split()
    assert told == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1", "0"]
    assert at(WALLED).bash("unshare --user true").ending is Ending.ERROR


@walled
def test_a_command_in_the_sandbox_reports_its_end_and_leaves_no_process(at: At) -> None:
    bench = at(WALLED)
    assert bench.bash("exit 3").exit_code == 3
    assert bench.bash("kill -9 $$").exit_code == 128 + signal.SIGKILL
    lost = bench.bash("sleep 600 & setsid sleep 600 & echo done")
    assert (lost.ending, lost.output) == (Ending.DONE, "done\n")


@walled
def test_a_command_in_the_sandbox_may_clean_up_within_the_grace_period(
    at: At, clock: Clock, tmp_path: Path
) -> None:
    bench = at(Fence(level=SandboxLevel.BUBBLEWRAP, writable=(str(tmp_path),)))
    command = f"trap 'echo tidied; exit 0' TERM; echo x >{tmp_path}/ready; sleep 600 & wait"
    running = bench.meanwhile(partial(bench.bash, command, policy=HOUR))
    eventually((tmp_path / "ready").exists, within_s=30)
    clock.ahead_s = 3600
    outcome = running.result(timeout=60)
    assert (outcome.ending, outcome.output) == (Ending.TIMED_OUT, "tidied\n")


@walled
def test_a_command_in_the_sandbox_that_ignores_sigterm_is_killed_with_its_children(
    at: At, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.2)
    bench = at(Fence(level=SandboxLevel.BUBBLEWRAP, writable=(str(tmp_path),)))
    command = f"trap '' TERM; setsid sleep 600 & echo x >{tmp_path}/ready; while :; do sleep 0.1; done"
    running = bench.meanwhile(partial(bench.bash, command, policy=HOUR))
    eventually((tmp_path / "ready").exists, within_s=30)
    clock.ahead_s = 3600
    assert running.result(timeout=60).ending is Ending.TIMED_OUT  # ``conftest`` checks for leftovers.


@walled
@pytest.mark.parametrize(
    ("limits", "command", "error"),
    [
        ({"cpu_s": 1}, "while :; do :; done", "used more than its cpu limit of 1 s"),
        ({"processes": 3}, "for n in 1 2 3 4 5 6; do sleep 600 & done; wait", "more than 3 processes"),
    ],
)
def test_limits_apply_in_the_sandbox(limits: dict[str, Any], command: str, error: str, at: At) -> None:
    outcome = at(WALLED).bash(command, policy=Policy(limits=Allowance(**limits), timeout_s=60))
    assert error in (outcome.error or "")
    few = Policy(limits=Allowance(processes=3), timeout_s=60)
    assert out(at(WALLED).bash("sleep 0.3 & wait; echo fine", policy=few)) == "fine\n"


@pytest.mark.parametrize("kind", ["bash", "program", "isolate"])
def test_without_bubblewrap_a_job_is_not_run_and_fails_with_the_reason(
    kind: str, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "KeptGroup", lambda *_, **__: pytest.fail("it was started"))
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "bwrap" else real(name))
    bench = at(WALLED)
    runs: dict[str, Callable[[], Outcome]] = {
        "bash": lambda: bench.bash("true"),
        "program": lambda: Programs(bench).run("true"),
        "isolate": lambda: bench.isolate("nothing"),
    }
    outcome = runs[kind]()
    assert outcome.ending is Ending.ERROR
    wanted = (
        "SLUICE_SANDBOX=bubblewrap is set, but this worker cannot use it: the program bwrap is not installed"
    )
    assert wanted in (outcome.error or "")


def test_a_refusal_of_the_kernel_is_quoted_and_the_next_run_tries_again(
    at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script named ``bwrap`` simulates the refusal, because this machine's kernel may allow it."""
    words = "bwrap: No permissions to create new namespace"
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    fake.chmod(0o755)
    real = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{fake.parent}:{real}")
    bench = at(WALLED)
    assert words in (bench.bash("true").error or "")
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    assert bench.bash("echo since").output == "since\n"
