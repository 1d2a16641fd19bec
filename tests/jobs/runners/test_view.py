"""View of the machine for a process in bubblewrap, whatever folder its worker runs in."""

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sluice.jobs.model.job import Ending
from sluice.jobs.policy.sandbox_settings import Fence, SandboxLevel
from sluice.jobs.runners.process import sandbox
from sluice.jobs.runners.process.group import ProcessCommand
from sluice.jobs.runners.process.sandbox import Sandbox
from tests.jobs.runners.sandboxes import LIMITS, WALLED, At, out, walled

#: Command that lists the files in ``/proc`` that could be opened for writing. It does not open them.
WRITABLE = """find /proc -writable 2>&- |
while read -r path; do [ -f "$path" ] && [ ! -L "$path" ] && echo "$path"; done; true"""
#: Names in bubblewrap's own ``/dev``.
DEVICES = {
    *("full", "null", "random", "tty", "urandom", "zero"),
    *("console", "core", "fd", "ptmx", "pts", "shm", "stderr", "stdin", "stdout"),
}
BELOW_RUN, BELOW_TMP = "below /run", "below /tmp"
FOLDERS = ("/", "/run", BELOW_RUN, "/tmp", BELOW_TMP, "/var", "/var/tmp", "/dev", "/dev/shm", "/proc")


@pytest.fixture(params=FOLDERS)
def standing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to a folder that the sandbox replaces, that contains such a folder, or that is in one. Yield it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as below_tmp:
        below_run = next((str(each) for each in sorted(Path("/run").iterdir()) if each.is_dir()), None)
        folder = {BELOW_RUN: below_run, BELOW_TMP: below_tmp}.get(request.param, request.param)
        if folder is None or not Path(folder).is_dir():
            pytest.skip("this machine has no such folder")
        monkeypatch.chdir(folder)
        yield Path(folder)


@walled
def test_no_kernel_file_can_be_written_to(at: At, standing: Path) -> None:
    """A worker that is root owns these files, and a process that writes to some of them controls the machine."""
    if os.getuid() == 0:
        assert out(at(LIMITS).bash("[ -w /proc/sys/kernel/core_pattern ]; echo $?")) == "0\n"
    assert out(at(WALLED).bash(WRITABLE)) == ""


@walled
@pytest.mark.parametrize("fence", [replace(WALLED, network=True), replace(WALLED, writable=("/",))])
def test_kernel_files_stay_read_only_with_a_network_or_a_writable_root(at: At, fence: Fence) -> None:
    assert out(at(fence).bash(WRITABLE)) == ""


@walled
def test_kernel_files_that_only_root_may_read_are_hidden(at: At) -> None:
    private = (
        "find /proc -maxdepth 1 ! -perm -004 | while read -r path; do [ -f $path ] && echo $path; done; true"
    )
    assert out(at(WALLED).bash(private)) == ""


@walled
def test_the_bubblewrap_executable_cannot_be_opened_for_writing(at: At) -> None:
    """A process inside can name it as ``/proc/1/exe``. The file is root's, and outside nothing is read-only."""
    assert at(WALLED).bash("exec 3>>/proc/1/exe && echo opened").output == ""


@walled
def test_kernel_files_are_read_only_for_a_worker_that_is_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() != 0:
        pytest.skip("this one is not, so every other test shows it")
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.chdir("/")
    look = f"id -u; {WRITABLE}; [ -w /proc/self/comm ] || echo so are its own"
    command = Sandbox(WALLED).around(ProcessCommand(argv=("/bin/sh", "-c", look), env={}))
    nobody: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
    done = subprocess.run(command.argv, capture_output=True, text=True, check=False, **nobody)
    if "namespace" in done.stderr:
        pytest.skip(f"this kernel creates namespaces for root only: {done.stderr}")
    assert (done.stdout, done.stderr) == ("65534\nso are its own\n", "")


@walled
def test_other_processes_and_their_environments_are_invisible(at: At, standing: Path) -> None:
    see = f"cat /proc/{os.getpid()}/environ | tr -d '\\0' | wc -c; kill -0 {os.getpid()}; echo $?"
    assert at(LIMITS).bash(see).output.split() != ["0", "1"]
    assert at(WALLED).bash(f"({see}) 2>/dev/null").output.split() == ["0", "1"]
    numbers = out(at(WALLED).bash("ls -d /proc/[0-9]* | wc -l"))
    assert int(numbers) < 10


@walled
def test_only_devices_that_any_user_may_have_exist(at: At, standing: Path) -> None:
    assert set(out(at(WALLED).bash("ls /dev")).split()) <= DEVICES | {standing.name}
    assert set(out(at(replace(WALLED, writable=("/",))).bash("ls /dev")).split()) <= DEVICES


@walled
def test_only_the_workers_own_folder_is_visible_among_private_folders(at: At, standing: Path) -> None:
    """A command starts in that folder, even if the folder is shown empty."""
    with tempfile.TemporaryDirectory(dir="/tmp") as other:
        (Path(other) / "file").touch()
        seen = out(
            at(WALLED).bash(f"pwd; test -e {other}/file && echo other; test -e /tmp/mine || echo none")
        )
        assert seen == f"{standing}\nnone\n"
    if standing.parent == Path("/tmp"):
        (standing / "definitions").touch()
        assert out(at(WALLED).bash("ls; touch x 2>/dev/null; ls")) == "definitions\ndefinitions\n"


@walled
def test_the_network_is_reachable_only_if_it_is_allowed(at: At) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ask = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        assert at(WALLED).bash(ask).ending is Ending.ERROR
        assert out(at(Fence(level=SandboxLevel.BUBBLEWRAP, network=True)).bash(ask)) == "reached\n"
        assert out(at(LIMITS).bash(ask)) == "reached\n"


@walled
def test_sockets_of_services_are_hidden(at: At, standing: Path) -> None:
    place = (
        standing if Path("/run") in standing.parents else Path("/run")
    ) / f"sluice-sandbox-test-{os.getpid()}"
    if not os.access("/run", os.W_OK):
        pytest.skip("only root can make a socket in /run")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        try:
            look = f"test -S {place} && echo there; find /run ! -type d"
            assert at(LIMITS).bash(look).output.startswith("there\n")
            for network in (False, True):
                assert at(replace(WALLED, network=network)).bash(look).output == ""
        finally:
            place.unlink()


@walled
def test_both_folders_of_service_sockets_are_hidden(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    """On some machines the two names mean two folders. Here ``/etc`` replaces ``/var/run``."""
    monkeypatch.setattr(sandbox, "SERVICES", ("/run", "/etc"))
    assert out(at(WALLED).bash("ls -A /etc")) == ""


@walled
def test_with_a_network_the_resolver_configuration_is_visible_beside_sockets(
    at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On many machines ``/etc/resolv.conf`` is a link into ``/run``. Here another link replaces it."""
    file = next((each for each in sorted(Path("/run").rglob("*")) if each.is_file()), None)
    if file is None:
        pytest.skip("this machine has no file in /run")
    (tmp_path / "resolv.conf").symlink_to(file)
    monkeypatch.setattr(sandbox, "RESOLVER", str(tmp_path / "resolv.conf"))
    look = "find /run ! -type d"
    assert out(at(replace(WALLED, network=True)).bash(look)) == f"{file}\n"
    assert out(at(WALLED).bash(look)) == ""


def test_a_process_that_ends_meanwhile_does_not_prevent_a_command_from_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    names = [path.name for path in Path("/proc").iterdir()]
    monkeypatch.setattr(os, "listdir", lambda _: [str(ended.pid), *names])
    assert not [word for word in sandbox.words(WALLED) if f"/{ended.pid}" in word]
