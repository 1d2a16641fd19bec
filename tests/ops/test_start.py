"""Imports of a command. Each command imports only the modules that it uses, because drivers and displays take longer to
load than the command runs.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ops.typist import ROOT, Typist

SLOW = {
    "alembic",
    "apscheduler",
    "dramatiq",
    "networkx",
    "pika",
    "psycopg",
    "redis",
    "rich",
    "shtab",
    "sqlalchemy",
    "yaml",
}
PROBE = """
import json, sys
from sluice.ops.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
json.dump(sorted({name.partition(".")[0] for name in sys.modules}), sys.stderr)
"""


@pytest.mark.parametrize(
    "typed",
    [
        "--help",
        "plan --help",
        "submit --help",
        "parents report 20261120",
        "apps show",
        "apps check",
        "graph",
        "plan report 1 --facts f",
    ],
)
def test_commands_without_a_ledger_import_no_driver(offline: Typist, typed: str) -> None:
    (offline.folder / "f").write_text("{}")
    assert imported(offline, typed.replace(" 1 ", " 20261120 ")) & SLOW == set()


def test_ls_imports_no_progress_bars(desk: Typist) -> None:
    assert imported(desk, "ls") & {"alembic", "apscheduler", "rich", "sqlalchemy", "yaml"} == set()


def test_a_worker_imports_no_migrations_and_no_broker_driver() -> None:
    probe = (
        "import sys, sluice.actors.worker.command; print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"sluice", "psycopg"} <= {*done.stdout.split()}
    assert {*done.stdout.split()} & {
        "alembic",
        "networkx",
        "pika",
        "redis",
        "rich",
        "sqlalchemy",
        "yaml",
    } == set()


def imported(typist: Typist, typed: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *typed.split()],
        cwd=typist.folder,
        env=typist.environment | {"PYTHONPATH": str(Path(ROOT))},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))
