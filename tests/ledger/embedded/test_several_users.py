"""Several users share one embedded Postgres: processes at once, forks, and users of different names."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from sluice.ledger.embedded import start
from sluice.ledger.embedded.binaries import Machine
from sluice.ledger.embedded.server import open_postgres
from tests.ledger.embedded.homes import ask, has_ended, is_stopped, postmaster, word
from tests.ledger.embedded.users import AS_ROOT, NOBODY, killed_at_end, url_of, used_by_nobody, user


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


def test_the_next_user_finds_the_server_of_a_killed_user(home: Path) -> None:
    with killed_at_end(user(home)) as other:
        assert url_of(other)
    first = postmaster(home)
    with start(home, durable=False) as postgres:
        assert postmaster(home) == first
        assert word(postgres.url) == "kept"
    assert has_ended(first)


def test_two_concurrent_first_starts_make_one_server(fresh: Path) -> None:
    with killed_at_end(user(fresh)) as one, killed_at_end(user(fresh)) as two:
        url = url_of(one)
        assert url == url_of(two)
        assert ask(url, "SELECT current_database()") == "sluice"
        assert [errors for _, errors in (one.communicate(), two.communicate())] == ["", ""]
    assert is_stopped(fresh)


def test_a_fork_that_closes_does_not_stop_the_server(home: Path) -> None:
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
def test_root_joins_or_starts_the_server_as_the_owner_of_the_home(fresh: Path, ground: Path) -> None:
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
