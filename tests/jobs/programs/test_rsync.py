"""Programs from other machines by rsync: real rsync at both ends, and a fake ssh that stays on this machine."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sluice.jobs.programs.errors import FetchStopped
from tests.jobs.programs.archives import RUN_SH, Member, archive
from tests.jobs.programs.fake_ssh import FakeSsh
from tests.jobs.programs.installed import need
from tests.jobs.programs.shop import NOT_PUBLIC, Shop
from tests.jobs.programs.test_several_processes import Other, eventually

ZIP = archive("zip")
V2 = archive("zip", [Member("run.sh", b"#!/bin/sh\necho second\n", mode=0o755)])
THERE = ("there",)


@pytest.fixture
def ssh(
    shop: Shop, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeSsh]:
    need("rsync")
    folder = tmp_path_factory.mktemp("bin")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    before = set(psutil.Process().children(recursive=True))
    yield FakeSsh(folder, shop.files)
    eventually(lambda: set(psutil.Process().children(recursive=True)) <= before)


@pytest.mark.parametrize("source", ["rsync:there:a.zip", "rsync:me@there:a.zip", "rsync:there:{files}/a.zip"])
def test_an_archive_of_another_machine_is_fetched(shop: Shop, ssh: FakeSsh, source: str) -> None:
    shop.put("a.zip", ZIP)
    assert shop.run(source.format(files=shop.files), hosts=THERE) == "ran\n"
    assert "BatchMode=yes" in ssh.calls[0]


def test_a_bare_run_sh_keeps_its_mode(shop: Shop, ssh: FakeSsh) -> None:
    shop.put("run.sh", RUN_SH.content, mode=0o744)
    assert shop.run("rsync:there:run.sh", hosts=THERE) == "ran\n"
    (shop.files / "run.sh").chmod(0o644)
    shop.refuses("rsync:there:run.sh", "it is not executable", hosts=THERE)


def test_only_a_changed_archive_is_fetched_again(shop: Shop, ssh: FakeSsh) -> None:
    shop.put("a.zip", ZIP)
    os.utime(shop.files / "a.zip", (1_000_000_000, 1_000_000_000))
    for calls in (2, 3, 4):
        assert shop.run("rsync:there:a.zip", hosts=THERE) == "ran\n"
        assert len(ssh.calls) == calls
    shop.put("a.zip", V2)
    assert shop.run("rsync:there:a.zip", hosts=THERE) == "second\n"


def test_the_remote_shell_does_not_evaluate_the_path(shop: Shop, ssh: FakeSsh) -> None:
    name = "a $(touch evil) `touch evil` ; touch evil * ' b.zip"
    shop.put(name, ZIP)
    assert shop.run(f"rsync:there:{name}", hosts=THERE) == "ran\n"
    assert not (shop.files / "evil").exists()


def test_a_missing_remote_file_is_reported_and_not_run_any_more(shop: Shop, ssh: FakeSsh) -> None:
    shop.put("a.zip", ZIP)
    shop.run("rsync:there:a.zip", hosts=THERE)
    (shop.files / "a.zip").unlink()
    line = shop.refusal("rsync:there:a.zip", hosts=THERE)
    assert line.startswith("could not fetch program 'prog' from rsync:there:a.zip: rsync: ")
    assert "No such file or directory" in line


def test_a_remote_folder_is_refused(shop: Shop, ssh: FakeSsh) -> None:
    (shop.files / "folder.zip").mkdir()
    shop.refuses("rsync:there:folder.zip", "it is no file", hosts=THERE)


def test_a_remote_file_above_the_size_limit_is_not_fetched(shop: Shop, ssh: FakeSsh) -> None:
    shop.put("a.zip", bytes(5000))
    why = "it has 5000 bytes, more than the 4999 that are allowed"
    shop.refuses("rsync:there:a.zip", why, hosts=THERE, bytes_max=4999)
    assert len(ssh.calls) == 1


def test_a_remote_file_that_grows_during_the_fetch_is_cut(
    shop: Shop, ssh: FakeSsh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing is not trusted. The written file has a limit of its own."""
    monkeypatch.setattr("sluice.jobs.programs.fetch.rsync._check_listing", lambda *_: None)
    shop.put("a.zip", os.urandom(8_000_000))
    line = shop.refusal("rsync:there:a.zip", hosts=THERE, bytes_max=4999)
    assert line.startswith("could not fetch program 'prog' from rsync:there:a.zip: ")
    assert "that are allowed" not in line  # The limit ended the fetch; it is not a check afterwards.


def test_while_the_other_machine_is_away_the_earlier_version_is_run(shop: Shop, ssh: FakeSsh) -> None:
    shop.put("a.zip", ZIP)
    ssh.behave("refuses")
    shop.refuses("rsync:there:a.zip", "Permission denied (publickey).", hosts=THERE)
    ssh.behave("refuses", on=False)
    shop.run("rsync:there:a.zip", hosts=THERE)
    ssh.behave("refuses")
    assert shop.run("rsync:there:a.zip", hosts=THERE) == "ran\n"
    assert "Permission denied (publickey).; using the copy fetched at" in shop.said[-1]


def test_a_fetch_from_a_silent_machine_times_out_and_can_be_stopped(shop: Shop, ssh: FakeSsh) -> None:
    ssh.behave("hangs")
    shop.refuses("rsync:there:a.zip", "it took longer than 1 s", hosts=THERE, fetch_timeout_s=1)

    def stop_once_called() -> None:
        eventually(lambda: len(ssh.calls) == 2)
        shop.stop.set()

    threading.Thread(target=stop_once_called, daemon=True).start()
    with pytest.raises(FetchStopped):
        shop.run("rsync:there:a.zip", hosts=THERE, fetch_timeout_s=3600)


def test_a_fetch_ends_when_its_worker_is_killed(shop: Shop, ssh: FakeSsh) -> None:
    place = f"there:{shop.files}/a.zip"

    def fetching() -> list[list[str]]:
        found = (each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"]))
        return [words for words in found if place in words]

    ssh.behave("hangs")
    other = Other(shop.folder, f"rsync:{place}", host="there")
    try:
        eventually(lambda: len(ssh.calls) == 1 and fetching() != [])
        other.end(signal.SIGKILL)
        eventually(lambda: fetching() == [])
    finally:
        other.close()
    ssh.behave("hangs", on=False)
    shop.put("a.zip", ZIP)
    assert shop.run(f"rsync:{place}", hosts=THERE) == "ran\n"
    assert shop.leftovers() == []


def test_an_rsync_host_is_checked_like_a_web_server(shop: Shop, ssh: FakeSsh) -> None:
    shop.put("a.zip", ZIP)
    shop.refuses("rsync:127.0.0.1:a.zip", NOT_PUBLIC.format("127.0.0.1"), hosts=())
    assert "cannot be resolved" in shop.refusal("rsync:no-such-name.invalid:a.zip")
    assert ssh.calls == []


@pytest.mark.parametrize(("there", "missing"), [((), "rsync"), (("rsync",), "ssh")])
def test_the_error_names_a_program_that_must_be_installed(
    shop: Shop,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    there: tuple[str, ...],
    missing: str,
) -> None:
    folder = tmp_path_factory.mktemp("bin")
    for name in there:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    why = f"the program {missing} is not installed on this machine"
    shop.refuses("rsync:there:a.zip", why, hosts=THERE)


def test_a_file_of_this_machine_needs_no_rsync(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.put("a.zip", ZIP)
    source = f"rsync:{shop.files}/a.zip"
    monkeypatch.setattr("shutil.which", lambda *_: None)
    assert shop.run(source) == "ran\n"
    monkeypatch.chdir(shop.files)
    assert shop.run("rsync:a.zip") == "ran\n"


def test_the_folder_has_the_name_of_the_program_for_any_path(shop: Shop) -> None:
    path = Path(shop.put("deep/below/run.sh", RUN_SH.content, mode=0o755).removeprefix("file:"))
    with shop.program(f"rsync:{path}", name="blafasel") as folder:
        assert (folder.name, folder.is_absolute()) == ("blafasel", True)
