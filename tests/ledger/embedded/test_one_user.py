"""One user of an embedded Postgres: the files it creates, access to the server, and the place of the socket."""

import os
import tempfile
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sluice.ledger.embedded import EmbeddedUnavailable, start
from sluice.ledger.embedded.binaries import Machine
from sluice.ledger.embedded.server import open_postgres
from tests.ledger.embedded.homes import ask, is_stopped, postmaster, word
from tests.ledger.embedded.users import AS_ROOT, NOBODY


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


def test_a_connection_without_the_right_password_is_refused(home: Path) -> None:
    with start(home, durable=False) as postgres:
        password = (home / "postgres/password").read_text()
        for other in ("", ":wrong"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(postgres.url.replace(f":{password}", other))


def test_the_server_has_no_tcp_socket_and_no_terminal(home: Path) -> None:
    with start(home, durable=False):
        first = postmaster(home)
        assert first.net_connections("inet") == []
        assert first.terminal() is None
        assert os.getsid(first.pid) != os.getsid(0)


def test_the_port_in_the_environment_affects_neither_server_nor_client(home: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PGPORT", "5999")
    with start(home, durable=False) as postgres:
        assert word(postgres.url) == "kept"


def test_closing_a_second_time_does_not_stop_another_users_server(home: Path) -> None:
    postgres = start(home, durable=False)
    postgres.close()
    with start(home, durable=False) as other:
        postgres.close()
        assert word(other.url) == "kept"


def test_a_home_with_a_long_or_unusual_name_has_a_socket(copy: Path) -> None:
    home = copy
    for name in ("a" * 120, "a,b", 'sp ace "quoted" %41'):
        home = home.rename(home.with_name(name))
        with start(home, durable=False) as postgres:
            assert word(postgres.url) == "kept"
            folder = (home / "postgres/socket").resolve()
            assert folder.stat().st_mode & 0o777 == 0o700
        assert not folder.exists()


@AS_ROOT
def test_a_socket_folder_of_another_user_or_a_symlink_is_refused(copy: Path) -> None:
    home = copy.rename(copy.with_name("a" * 120))
    machine = Machine(temp=Path(tempfile.mkdtemp(dir=home.parent)))
    with open_postgres(home, machine, durable=False):
        folder = (home / "postgres/socket").resolve()
        assert folder.parent == machine.temp
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY.pw_uid, NOBODY.pw_gid)
    with pytest.raises(EmbeddedUnavailable, match="another user"):
        open_postgres(home, machine, durable=False)
    folder.rename(machine.temp / "elsewhere")
    folder.symlink_to("elsewhere")
    with pytest.raises(EmbeddedUnavailable, match="another user"):
        open_postgres(home, machine, durable=False)
