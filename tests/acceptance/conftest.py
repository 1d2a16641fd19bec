"""Fixtures: a typist of commands in an empty folder, with a ledger or with none that answers."""

import os
import sys
from pathlib import Path

import pytest

from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from tests.acceptance.command_typist import Clerk
from tests.ops.typist import NO_LEDGER


@pytest.fixture
def clerk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Clerk:
    """Return a typist with definitions only. Commands that open the ledger get no answer."""
    for name in [*os.environ]:
        if name.startswith("SLUICE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SLUICE_LEDGER_URL", NO_LEDGER)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    return Clerk(tmp_path, capfd)


@pytest.fixture
def office(clerk: Clerk, ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> Clerk:
    """Return a typist with an empty ledger."""
    monkeypatch.setenv("SLUICE_LEDGER_URL", ledger_url)
    ledger = Ledger(ledger_url, connections=1)
    try:
        ledger.transact(empty)
    finally:
        ledger.close()
    return clerk
