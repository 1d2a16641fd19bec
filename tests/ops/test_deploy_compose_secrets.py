"""Secrets of ``docker-compose.yml``: which part gets which secret, how they are made, and which rights the parts
have.
"""

import json
import re
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import conninfo

from sluice.broker import roles as users
from sluice.broker.connect import connect
from sluice.broker.messages import Plan
from sluice.jobs.errors import SluiceError
from sluice.ledger.schema import roles
from tests import private_servers
from tests.homes import started_ledger
from tests.ops.composed import read_secrets, read_services, text
from tests.ops.typist import ROOT

COMPOSE = ROOT / "ops" / "deploy" / "compose"
PARTS = ("control", "worker", "console")
#: Addresses without a password, and the path of a file with digests of tokens. They are passed on unchanged.
OPEN = {"SLUICE_BLOBS_URL", "SLUICE_CONSOLE_TOKENS", "SLUICE_LINEAGE_URL"}
_SECRET = re.compile("URL|PASS|TOKEN|KEYS|HEADERS|AUTH")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return read_services()


def _made(folder: Path, *words: str) -> dict[str, str]:
    """Run the script that makes secrets in this folder, and return them by name."""
    script = str(COMPOSE / "secrets.sh")
    subprocess.run(["sh", script, words[0] if words else "rabbitmq", str(folder)], check=True, timeout=60)
    return {each.name: each.read_text().rstrip("\n") for each in folder.iterdir()}


def test_no_part_can_get_more_rights_or_all_of_the_memory(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
        assert service["cap_drop"] == ["ALL"], name
    added = {name for name, service in services.items() if "cap_add" in service}
    assert added == {"postgres", "rabbitmq", "redis"}, "their images start as root"


def test_no_secret_is_in_an_environment_or_a_command(services: dict[str, Any]) -> None:
    for name, service in services.items():
        named = {each for each in service.get("environment", {}) if _SECRET.search(each)}
        assert {each for each in named if not each.endswith("_FILE")} <= OPEN, name
    variables = {each for each in re.findall(r"\$\{?(\w+)", text()) if _SECRET.search(each)}
    assert variables == set(), "nothing secret comes from the environment of docker compose"
    commands = [(each.get("command"), each.get("healthcheck")) for each in services.values()]
    assert "pass" not in json.dumps(commands).lower()


def test_each_part_has_its_own_secrets_and_no_other(services: dict[str, Any]) -> None:
    mounted = [_sources(service) for service in services.values()]
    assert sorted(each for names in mounted for each in names) == sorted(read_secrets()), "each is one part's"
    for name, service in services.items():
        files = {each for key, each in service.get("environment", {}).items() if key.endswith("FILE")}
        assert {each.removeprefix("/run/secrets/") for each in files} <= {*_sources(service)}, name
    for part in PARTS:
        own = {"ledger-url", "broker-url"} | ({"token", "view-token"} if part == "console" else set())
        assert {*_sources(services[part])} == {f"{part}-{each}" for each in own}


def _sources(service: dict[str, Any]) -> list[str]:
    return [each if isinstance(each, str) else each["source"] for each in service.get("secrets", [])]


def test_the_script_makes_all_secrets_and_keeps_existing_ones(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    made = _made(folder)
    assert {f"./secrets/{name}" for name in made} > {*read_secrets().values()}
    assert folder.stat().st_mode & 0o777 == 0o700, "no other user of the machine gets at the files"
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o444}
    passwords = {name: word for name, word in made.items() if name.endswith(("-password", "-token"))}
    assert len({*passwords.values()}) == len(passwords) == 9
    assert min(map(len, passwords.values())) >= 32

    (folder / "worker-password").unlink()
    again = _made(folder)
    changed = {name for name in passwords if again[name] != made[name]}
    assert changed == {"worker-password"}
    assert again["worker-password"] in again["worker-ledger-url"]


def test_an_invalid_password_is_refused_without_being_printed(tmp_path: Path) -> None:
    (tmp_path / "worker-password").write_text("S3CRET@host\n")
    script = ["sh", str(COMPOSE / "secrets.sh"), "rabbitmq", str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "worker-password: use letters and digits" in done.stderr
    assert "S3CRET" not in done.stderr


@pytest.mark.parametrize("broker", ["rabbitmq", "redis"])
def test_each_part_has_a_database_role_and_a_broker_user(broker: str, tmp_path: Path) -> None:
    made = _made(tmp_path, broker)
    names = {
        name: urlsplit(url).username
        for name, url in made.items()
        if name.endswith(("ledger-url", "broker-url"))
    }
    assert names == {
        "owner-ledger-url": "sluice",
        "control-ledger-url": "sluice_control",
        "worker-ledger-url": "sluice_worker",
        "console-ledger-url": "sluice_worker",
        "control-broker-url": "sluice_control" if broker == "rabbitmq" else "sluice_worker",
        "worker-broker-url": "sluice_worker",
        "console-broker-url": "sluice_operator",
    }


def test_users_of_the_broker_have_the_rights_that_sluice_prints(tmp_path: Path) -> None:
    made = _made(tmp_path)
    found = {each["user"]: each for each in json.loads(made["rabbitmq-users"])["permissions"]}
    for role, rights in users.permissions().items():
        if role != "submitter":
            one = found[f"sluice_{role}"]
            assert (one["configure"], one["write"], one["read"]) == rights, role
    lines = {line.split()[1]: line.split()[4:] for line in made["redis.conf"].splitlines() if "user " in line}
    printed = {line.split()[2]: line.split()[4:] for line in users.redis("sluice").splitlines()}
    for role in ("worker", "operator"):
        assert lines[f"sluice_{role}"] == printed[f"sluice_{role}"]


def _at(url: str, server: private_servers.PrivateServer) -> str:
    """Return the address of a part on this server."""
    parts = urlsplit(url)
    port = urlsplit(server.url).port
    return parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}").geturl()


@pytest.mark.skipif(
    not private_servers.DEBIAN_RABBITMQ.exists(), reason="a RabbitMQ is started that is installed here"
)
def test_rabbitmq_starts_with_these_users_and_policies(tmp_path: Path) -> None:
    made = _made(tmp_path / "secrets")
    definitions = tmp_path / "definitions"
    definitions.mkdir()
    (definitions / "10-users.json").write_text(made["rabbitmq-users"])
    shutil.copy(ROOT / "ops/deploy/rabbitmq/definitions.json", definitions / "20-policies.json")
    for path in (tmp_path, definitions):
        path.chmod(0o755)
    conf = (COMPOSE / "rabbitmq.conf").read_text().replace("/etc/rabbitmq/definitions.d", str(definitions))
    with private_servers.rabbitmq(conf=[conf]) as server:
        _parts_work(made, server)
        with (
            closing(connect(_at(made["worker-broker-url"], server))) as worker,
            pytest.raises(SluiceError, match="refused"),
        ):
            worker.ensure(["planner"])
        with (
            closing(connect(server.url)) as guest,
            pytest.raises(SluiceError),
        ):
            guest.ensure(["fetch"])


def test_redis_starts_with_these_users(tmp_path: Path) -> None:
    made = _made(tmp_path, "redis")
    lines = [line.split() for line in made["redis.conf"].splitlines()]
    with private_servers.redis(
        conf=[word for line in lines for word in (f"--{line[0]}", *line[1:])]
    ) as server:
        _parts_work(made, server)
        with closing(connect(server.url)) as nobody, pytest.raises(SluiceError):
            nobody.publish([Plan(submissions=("one",))])


def _parts_work(made: dict[str, str], server: private_servers.PrivateServer) -> None:
    """Check that each part can do its work with its address."""
    queues = {"control": ["planner", "fetch"], "worker": ["fetch"]}
    for part in PARTS:
        with closing(connect(_at(made[f"{part}-broker-url"], server))) as broker:
            if part in queues:
                broker.ensure(queues[part])
            broker.publish([Plan(submissions=("one",))])


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql, a program of Postgres, is not installed here")
def test_the_roles_are_made_with_their_passwords_also_repeatedly(tmp_path: Path) -> None:
    """One password has characters that could end a string in SQL."""
    passwords = {"sluice_control": "it's; a \\ password", "sluice_worker": "another"}
    with started_ledger(tmp_path / "home") as url:
        sql = tmp_path / "roles.sql"
        sql.write_text(roles.script())
        words = conninfo.conninfo_to_dict(url)
        service = [f"{name}={word}" for name, word in words.items()]
        (tmp_path / "postgres-service").write_text("\n".join(["[sluice]", *service, ""]))
        for role, password in passwords.items():
            (tmp_path / f"{role.removeprefix('sluice_')}-password").write_text(f"{password}\n")
        environment = {
            "PATH": "/usr/bin:/bin",
            "PGSERVICE": "sluice",
            "PGSERVICEFILE": str(tmp_path / "postgres-service"),
        }
        for _ in range(2):
            script = ["sh", str(COMPOSE / "roles.sh"), str(sql), str(tmp_path)]
            subprocess.run(script, env=environment, check=True, timeout=60)
        for role, password in passwords.items():
            theirs = {**words, "user": role, "password": password}
            with psycopg.connect(**theirs) as connection:
                assert connection.execute("SELECT count(*) FROM job").fetchone() == (0,)
