"""Plain-text connections to servers on other machines: warned of, refused, or allowed."""

import logging
from pathlib import Path

import pytest

from sluice.actors.assembly import connect_broker, ledger_address
from sluice.actors.checkup import main as checkup
from sluice.actors.settings import tls
from sluice.actors.settings.settings import Settings, read_settings
from sluice.actors.worker.definitions import Definitions
from sluice.jobs.errors import BadSetting
from tests.unheard import unheard

LEDGER, BROKER = "postgresql://sluice:secret@far/sluice", "amqp://guest:secret@far"
APPS = "apps.json,redis://u:secret@far/0/apps,rediss://u:secret@far/0/more?ssl_check_hostname=no,branch://b"


def _settings(folder: Path, **words: str) -> Settings:
    given = {"LEDGER_URL": LEDGER, "BROKER_URL": BROKER} | words
    return read_settings({f"SLUICE_{name}": text for name, text in given.items()}, folder=folder)


def test_each_insecure_address_is_warned_of_without_its_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="sluice.transport"):
        tls.warn(_settings(tmp_path, APPS=APPS))
    ledger, broker, apps, more = (record.getMessage() for record in caplog.records)
    assert ledger.startswith("SLUICE_LEDGER_URL (postgresql://far/sluice): sslmode is prefer")
    assert broker.startswith("SLUICE_BROKER_URL (amqp://far): amqp:// is plain text")
    assert apps.startswith("SLUICE_APPS (redis://far/0/apps): redis:// is plain text. Use rediss://")
    assert more.startswith(
        "SLUICE_APPS (rediss://far/0/more): its options accept the certificate of any host."
    )
    assert "secret" not in caplog.text


def test_an_insecure_ledger_or_broker_is_not_connected_to_if_refused(tmp_path: Path) -> None:
    settings = _settings(tmp_path, PLAINTEXT="refuse")
    with pytest.raises(BadSetting, match="SLUICE_LEDGER_URL: sslmode is prefer"), ledger_address(settings):
        pass
    with (
        pytest.raises(BadSetting, match="SLUICE_BROKER_URL: amqp:// is plain text"),
        connect_broker(settings),
    ):
        pass


def test_definitions_are_not_read_from_an_insecure_server_if_refused(tmp_path: Path) -> None:
    with unheard() as place:
        settings = _settings(tmp_path, APPS=f"redis://u:secret@{place}/0/apps", PLAINTEXT="refuse")
        with pytest.raises(BadSetting, match="SLUICE_APPS: redis:// is plain text") as caught:
            Definitions(settings)
    assert caught.value.where == f"redis://{place}/0/apps"


def test_the_checkup_does_not_connect_to_an_insecure_ledger_if_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_PLAINTEXT", "refuse")
    monkeypatch.setattr("sluice.ledger.database.connection.PATIENCE_S", 0.2)
    with unheard() as place:
        assert checkup(["--ledger", f"postgresql://u:secret@{place}/sluice", "--alive"]) == 2
    assert "SLUICE_LEDGER_URL: sslmode is prefer" in capsys.readouterr().err


def test_servers_with_verified_certificates_are_not_refused(tmp_path: Path) -> None:
    words = {
        "LEDGER_URL": f"{LEDGER}?sslmode=verify-full",
        "BROKER_URL": "amqps://far",
        "APPS": "apps.json,rediss://far/0/apps,branch://b",
        "PLAINTEXT": "refuse",
    }
    settings = _settings(tmp_path, **words)
    assert [*tls.weak(settings)] == []
    with ledger_address(settings) as url:
        assert url.startswith(words["LEDGER_URL"])


@pytest.mark.parametrize(
    ("ledger", "broker"),
    [
        ("postgresql://sluice@127.0.0.1/sluice", "amqp://localhost"),
        ("postgresql:///sluice?host=/run/postgresql", "redis://[::1]:6379/0"),
    ],
)
def test_connections_within_the_machine_are_not_warned_of(tmp_path: Path, ledger: str, broker: str) -> None:
    words = {"LEDGER_URL": ledger, "BROKER_URL": broker, "APPS": "redis://localhost/0/apps"}
    assert [*tls.weak(_settings(tmp_path, **words))] == []


def test_no_address_is_warned_of_if_plain_text_is_allowed(tmp_path: Path) -> None:
    assert [*tls.weak(_settings(tmp_path, PLAINTEXT="allow", APPS=APPS))] == []
