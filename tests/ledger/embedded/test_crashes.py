"""An embedded Postgres after a crash, an interruption, or damage to its home."""

import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from sluice.ledger.embedded import EmbeddedUnavailable, server, start
from tests.ledger.embedded.homes import ask, is_stopped, postmaster, word


def test_the_next_start_replaces_a_killed_postmaster_and_keeps_committed_data(home: Path) -> None:
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


def test_a_stale_pid_file_with_the_pid_of_another_program_is_ignored(home: Path) -> None:
    with start(home, durable=False):
        pid_file = (home / "postgres/data/postmaster.pid").read_text()
        stale = pid_file.replace(str(postmaster(home).pid), str(os.getppid()), 1)
    (home / "postgres/data/postmaster.pid").write_text(stale)
    with start(home, durable=False) as postgres:
        assert word(postgres.url) == "kept"
    assert psutil.pid_exists(os.getppid())


def test_an_interrupted_first_start_is_repeated(fresh: Path, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(server, "launch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            start(fresh, durable=False)
    (fresh / "postgres/data.new").mkdir()
    (fresh / "postgres/data.new/half").touch()
    with start(fresh, durable=False) as postgres:
        assert ask(postgres.url, "SELECT current_database()") == "sluice"


def test_an_interrupted_start_stops_its_server(home: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(server, "_with_database", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(home, durable=False)
    assert is_stopped(home)


def test_a_home_removed_while_in_use_can_be_created_again_at_once(copy: Path) -> None:
    with start(copy, durable=False) as lost:
        first = postmaster(copy)
        shutil.rmtree(copy)
        with start(copy, durable=False) as postgres:
            assert postgres.url != lost.url
            assert ask(postgres.url, "SELECT current_database()") == "sluice"
    first.kill()  # It would notice the loss by itself, within a minute.


def test_the_error_of_a_server_that_cannot_start_shows_its_log(copy: Path) -> None:
    with (copy / "postgres/data/postgresql.conf").open("a") as conf:
        conf.write("no_such_setting = on\n")
    with pytest.raises(EmbeddedUnavailable, match=r'(?s)ended as soon.*"no_such_setting"'):
        start(copy)


def test_data_of_another_postgres_version_are_refused(copy: Path) -> None:
    (copy / "postgres/data/PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedUnavailable, match=r"(?s)written by Postgres 9.*is Postgres \d\d.*pg_upgrade"):
        start(copy)


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
