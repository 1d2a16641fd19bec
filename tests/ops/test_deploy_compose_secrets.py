"""Which part of ``docker-compose.yml`` is given which secret, and what none of them can do."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import conninfo

from ledger import roles
from tests.homes import started_ledger
from tests.ops.composed import GIVEN, read_services
from tests.ops.typist import ROOT


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return read_services()


def test_no_part_can_get_more_rights_or_all_of_the_memory(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
    for name in ("migrate", "control", "worker", "console"):
        assert services[name]["cap_drop"] == ["ALL"]


def test_no_password_is_in_a_command(services: dict[str, Any]) -> None:
    commands = json.dumps([each.get("command") for each in services.values()])
    assert [name for name, word in GIVEN.items() if "PASSWORD" in name and word in commands] == []


def test_the_superuser_of_the_ledger_is_known_to_those_alone_who_migrate(services: dict[str, Any]) -> None:
    password = GIVEN["SLUICE_PASSWORD"]
    assert {name for name, each in services.items() if password in json.dumps(each)} == {
        "postgres",
        "migrate",
        "roles",
    }
    users = {
        name: urlsplit(services[name]["environment"]["SLUICE_LEDGER_URL"]).username
        for name in ("migrate", "control", "worker", "console")
    }
    assert users == {
        "migrate": "sluice",
        "control": "sluice_control",
        "worker": "sluice_control",  # It serves every queue, that of retention too.
        "console": "sluice_worker",
    }
    assert _parts(services, GIVEN["SLUICE_BROKER_PASSWORD"]) == {
        *("rabbitmq", "redis", "control", "worker", "console"),
    }


def _parts(services: dict[str, Any], word: str) -> set[str]:
    return {name for name, each in services.items() if word in json.dumps(each)}


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql, a program of Postgres, is not installed here")
def test_the_roles_are_made_with_their_passwords_and_again(tmp_path: Path) -> None:
    """Under a password that a statement could be made of."""
    with started_ledger(tmp_path / "home") as url:
        sql = tmp_path / "roles.sql"
        sql.write_text(roles.script())
        words = conninfo.conninfo_to_dict(url)
        environment = {
            "PATH": "/usr/bin:/bin",
            "PGHOST": str(words["host"]),
            "PGUSER": str(words["user"]),
            "PGDATABASE": str(words["dbname"]),
            "PGPASSWORD": str(words.get("password", "")),
            "LEDGER_PASSWORD": "it's; a \\ password",
        }
        for _ in range(2):
            script = ROOT / "ops" / "deploy" / "compose" / "roles.sh"
            subprocess.run(["sh", script, sql], env=environment, check=True, timeout=60)
        for role in ("sluice_control", "sluice_worker"):
            theirs = {**words, "user": role, "password": environment["LEDGER_PASSWORD"]}
            with psycopg.connect(**theirs) as connection:
                assert connection.execute("SELECT count(*) FROM job").fetchone() == (0,)


def test_redis_reads_its_password_from_standard_input(services: dict[str, Any], tmp_path: Path) -> None:
    """The entry point of the image starts what it is given; here that is a server that takes one look and ends."""
    redis = shutil.which("redis-server")
    if redis is None:
        pytest.skip("there is no redis-server on this machine")
    entry = tmp_path / "docker-entrypoint.sh"
    entry.write_text('#!/bin/sh\ncat >"$SEEN"; echo "$@" >>"$SEEN"\n')
    entry.chmod(0o755)
    command = [word.replace("$$", "$") for word in services["redis"]["command"]]
    seen = tmp_path / "seen"
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "SEEN": str(seen),
        **services["redis"]["environment"],
    }
    subprocess.run(command, env=environment, check=True)
    config, started = seen.read_text().splitlines()
    assert config == f"requirepass {GIVEN['SLUICE_BROKER_PASSWORD']}"
    assert started == "redis-server - --appendonly yes --appendfsync always"
