"""What a process in bubblewrap finds of the machine, wherever its worker stands."""

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sluice.jobs.fence import Fence, Level
from sluice.jobs.outcome import Ending
from sluice.jobs.runners import view
from sluice.jobs.runners.group import Command
from sluice.jobs.runners.sandbox import Sandbox
from tests.jobs.runners.fences import LIMITS, WALLED, At, out, walled

#: What could be opened for writing, and is not opened.
WRITABLE = """find /proc -writable 2>&- |
while read -r path; do [ -f "$path" ] && [ ! -L "$path" ] && echo "$path"; done; true"""
#: What there is in ``/dev`` of bubblewrap's own.
DEVICES = {
    *("full", "null", "random", "tty", "urandom", "zero"),
    *("console", "core", "fd", "ptmx", "pts", "shm", "stderr", "stdin", "stdout"),
}
BELOW_RUN, BELOW_TMP = "below /run", "below /tmp"
FOLDERS = ("/", "/run", BELOW_RUN, "/tmp", BELOW_TMP, "/var", "/var/tmp", "/dev", "/dev/shm", "/proc")


@pytest.fixture(params=FOLDERS)
def standing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The worker's folder: such as the sandbox has of its own, what holds one, and what lies in one."""
    with tempfile.TemporaryDirectory(dir="/tmp") as below_tmp:
        below_run = next((str(each) for each in sorted(Path("/run").iterdir()) if each.is_dir()), None)
        folder = {BELOW_RUN: below_run, BELOW_TMP: below_tmp}.get(request.param, request.param)
        if folder is None or not Path(folder).is_dir():
            pytest.skip("this machine has no such folder")
        monkeypatch.chdir(folder)
        yield Path(folder)


@walled
def test_no_file_of_the_kernels_can_be_written_to(at: At, standing: Path) -> None:
    """A worker that is root owns them all, and who writes to some of them has the machine."""
    if os.getuid() == 0:
        assert out(at(LIMITS).bash("[ -w /proc/sys/kernel/core_pattern ]; echo $?")) == "0\n"
    assert out(at(WALLED).bash(WRITABLE)) == ""


@walled
@pytest.mark.parametrize("fence", [replace(WALLED, network=True), replace(WALLED, writable=("/",))])
def test_nor_with_a_network_or_where_all_else_can_be(at: At, fence: Fence) -> None:
    assert out(at(fence).bash(WRITABLE)) == ""


@walled
def test_what_the_kernel_tells_root_alone_is_told_to_nobody(at: At) -> None:
    private = (
        "find /proc -maxdepth 1 ! -perm -004 | while read -r path; do [ -f $path ] && echo $path; done; true"
    )
    assert out(at(WALLED).bash(private)) == ""


@walled
def test_the_program_that_makes_the_sandbox_cannot_be_opened_for_writing(at: At) -> None:
    """From inside it can be named. It is outside, where nothing is read only, and root's."""
    assert at(WALLED).bash("exec 3>>/proc/1/exe && echo opened").output == ""


@walled
def test_a_worker_that_is_not_root_has_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() != 0:
        pytest.skip("this one is not, so every other test shows it")
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.chdir("/")
    look = f"id -u; {WRITABLE}; [ -w /proc/self/comm ] || echo so are its own"
    command = Sandbox(WALLED).around(Command(argv=("/bin/sh", "-c", look), env={}))
    nobody: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}
    done = subprocess.run(command.argv, capture_output=True, text=True, check=False, **nobody)
    if "namespace" in done.stderr:
        pytest.skip(f"this kernel gives none to who is not root: {done.stderr}")
    assert (done.stdout, done.stderr) == ("65534\nso are its own\n", "")


@walled
def test_neither_other_processes_nor_their_environments_are_seen(at: At, standing: Path) -> None:
    see = f"cat /proc/{os.getpid()}/environ | tr -d '\\0' | wc -c; kill -0 {os.getpid()}; echo $?"
    assert at(LIMITS).bash(see).output.split() != ["0", "1"]
    assert at(WALLED).bash(f"({see}) 2>/dev/null").output.split() == ["0", "1"]
    numbers = out(at(WALLED).bash("ls -d /proc/[0-9]* | wc -l"))
    assert int(numbers) < 10


@walled
def test_no_device_is_there_but_those_that_anybody_may_have(at: At, standing: Path) -> None:
    assert set(out(at(WALLED).bash("ls /dev")).split()) <= DEVICES | {standing.name}
    assert set(out(at(replace(WALLED, writable=("/",))).bash("ls /dev")).split()) <= DEVICES


@walled
def test_a_worker_is_shown_its_own_folder_of_those_that_are_private(at: At, standing: Path) -> None:
    """And commands begin where it stands, though nothing be there."""
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
def test_no_network_is_there_unless_it_is_allowed(at: At) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ask = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        assert at(WALLED).bash(ask).ending is Ending.ERROR
        assert out(at(Fence(level=Level.BUBBLEWRAP, network=True)).bash(ask)) == "reached\n"
        assert out(at(LIMITS).bash(ask)) == "reached\n"


@walled
def test_a_socket_where_services_listen_is_not_there(at: At, standing: Path) -> None:
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
def test_both_names_of_where_services_listen_count(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    """On some machines they are two places."""
    monkeypatch.setattr(view, "SERVICES", ("/run", "/etc"))
    assert out(at(WALLED).bash("ls -A /etc")) == ""


@walled
def test_who_looks_up_names_is_told_though_it_stand_beside_sockets(
    at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``/etc/resolv.conf`` is a link into ``/run`` on many a machine; here another link stands in for it."""
    file = next((each for each in sorted(Path("/run").rglob("*")) if each.is_file()), None)
    if file is None:
        pytest.skip("this machine has no file in /run")
    (tmp_path / "resolv.conf").symlink_to(file)
    monkeypatch.setattr(view, "RESOLVER", str(tmp_path / "resolv.conf"))
    look = "find /run ! -type d"
    assert out(at(replace(WALLED, network=True)).bash(look)) == f"{file}\n"
    assert out(at(WALLED).bash(look)) == ""


def test_a_process_that_ends_meanwhile_does_not_keep_a_command_from_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    names = [path.name for path in Path("/proc").iterdir()]
    monkeypatch.setattr(os, "listdir", lambda _: [str(ended.pid), *names])
    assert not [word for word in view.words(WALLED) if f"/{ended.pid}" in word]
