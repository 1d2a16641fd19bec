"""``sluice config show``: the value and the source of each setting, without secrets."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sluice.actors.settings.settings import process_found
from sluice.ops.cli.main import main
from sluice.ops.documents.setting_document import SECRETS
from sluice.ops.tools.reference.settings_page import known

#: Settings whose names have a word for secrets, and whose values are none.
NO_SECRETS = {"SLUICE_KEY_DELIMITER", "SLUICE_CONSOLE_TOKENS", "SLUICE_CONSOLE_PROXY_HEADER"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in known():
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def shown(capfd: pytest.CaptureFixture[str], *words: str) -> dict[str, tuple[Any, str]]:
    assert main([*words, "config", "show", "--json"]) == 0
    return {each["name"]: (each["value"], each["origin"]) for each in json.loads(capfd.readouterr().out)}


def test_each_setting_has_its_value_and_its_source(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "sluice.toml").write_text('lease = "30s"\ntick = "2s"\n')
    (folder / ".env").write_text("SLUICE_TICK=3s\n")
    monkeypatch.setenv("SLUICE_LOG", "text")
    found = shown(capfd, "--apps", "a.json", "--apps", "b.json")
    assert list(found) == known()
    assert found["SLUICE_APPS"] == ("a.json,b.json", "the command line")
    assert found["SLUICE_LEASE"] == ("30s", "sluice.toml")
    assert found["SLUICE_TICK"] == ("3s", ".env")
    assert found["SLUICE_LOG"] == ("text", "the environment")
    assert found["SLUICE_PROGRAM_SIZE"] == ("512MiB", "default")
    assert found["SLUICE_LEDGER_URL"] == (None, "default")


def test_a_default_without_a_value_is_described(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show"]) == 0
    lines = [re.split(" {2,}", line) for line in capfd.readouterr().out.splitlines()]
    assert lines[0] == ["setting", "value", "from"]
    assert ["SLUICE_LEDGER_URL", "embedded Postgres", "default"] in lines
    assert ["SLUICE_KEEP_HISTORY", "90d", "default"] in lines


def test_secrets_are_masked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "token").write_text("s3cret-s3cret-s3cret")
    monkeypatch.setenv("SLUICE_CONSOLE_TOKEN_FILE", "token")
    monkeypatch.setenv("SLUICE_BROKER_URL", "amqp://me:s3cret,more@host/v?x=s3cret")
    monkeypatch.setenv("SLUICE_TRACE_HEADERS", "authorization=s3cret")
    found = shown(capfd, "--ledger", "postgresql://me:s3cret@host/sluice?password=s3cret")
    assert "s3cret" not in str(found)
    assert found["SLUICE_CONSOLE_TOKEN"] == ("***", f"the file {folder / 'token'}")
    assert found["SLUICE_BROKER_URL"] == ("amqp://***@host/v?***", "the environment")
    assert found["SLUICE_LEDGER_URL"] == ("postgresql://***@host/sluice?***", "the command line")


def test_each_setting_that_is_named_like_a_secret_is_masked(folder: Path) -> None:
    named = {each for each in process_found().asked if re.search("TOKEN|KEY|SECRET|PASSWORD|HEADERS", each)}
    assert named - NO_SECRETS == SECRETS
