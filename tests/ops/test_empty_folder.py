"""Commands that need an existing ledger, in a folder without one. They create none, and advise how to create one."""

import json
from pathlib import Path

import pytest

from sluice.ops.cli.commands import COMMANDS
from sluice.ops.cli.main import main

APPS = {"a": {"job_id": "{n}", "bash_cmd": "true"}}
LOOKING = [
    "ls",
    "show a 1",
    "logs a 1",
    "why a 1",
    "submissions",
    "freshness a",
    "workers",
    "audit",
    "metrics",
    "db check",
    "partitions ls",
    "cancel a 1",
    "retry a 1",
]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "apps.json").write_text(json.dumps(APPS))
    monkeypatch.chdir(tmp_path)
    for name in ("SLUICE_LEDGER_URL", "SLUICE_BROKER_URL", "SLUICE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLUICE_APPS", "apps.json")
    return tmp_path


@pytest.mark.parametrize("typed", LOOKING)
def test_a_command_that_needs_a_ledger_creates_none(
    empty: Path, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    assert main(typed.split()) == 3
    said = capsys.readouterr().err
    assert "There is no ledger here yet." in said
    assert "sluice up" in said
    assert [path.name for path in empty.iterdir()] == ["apps.json"]


def test_a_plan_is_made_without_a_ledger(empty: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "a", "1"]) == 0
    said = capfd.readouterr()
    assert "1 job would run" in said.out
    assert "There is no ledger here yet, so nothing counts as done." in said.err
    assert [path.name for path in empty.iterdir()] == ["apps.json"]


def test_doctor_creates_no_ledger(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    assert "An embedded ledger is created" in capsys.readouterr().out
    assert not (empty / ".sluice" / "postgres").exists()


def test_only_these_commands_create_a_ledger() -> None:
    making = {
        f"{entry.word} {each.word}" if each is not entry else entry.word
        for entry in COMMANDS
        for each in getattr(entry, "commands", (entry,))
        if each.makes_ledger
    }
    assert making == {"up", "run", "submit", "console", "bench", "apps sync", "db upgrade", "partitions land"}
