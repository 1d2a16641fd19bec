"""Connection settings of the database, among them the time after which a silent connection is dropped."""

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from sluice.jobs.errors import BadSetting
from sluice.jobs.text.server_address import in_schema, named
from sluice.ledger.database.conninfo import SCHEMA, SILENT_S_MAX, complete
from tests.network import S_MAX, runs_alone


def _words(url: str, **settings: object) -> dict[str, str]:
    return {name: str(value) for name, value in conninfo_to_dict(complete(url, **settings)).items()}


@pytest.mark.timeout(S_MAX + 60)
def test_both_sides_drop_the_connection_when_the_network_fails(tmp_path: Path) -> None:
    runs_alone("tests.ledger.cut_off", str(tmp_path / "home"))


def test_the_time_to_connect_to_a_server_is_limited() -> None:
    assert _words("postgresql://a:b@db/c")["connect_timeout"] == str(SILENT_S_MAX)


def test_the_address_overrides_our_settings() -> None:
    words = _words("postgresql://a:b@db/c?connect_timeout=3&keepalives=0&sslmode=require")
    assert (words["connect_timeout"], words["keepalives"], words["sslmode"]) == ("3", "0", "require")
    assert (words["host"], words["dbname"], words["user"], words["password"]) == ("db", "c", "a", "b")


def test_server_settings_are_ours_then_of_the_address_then_of_the_ledger() -> None:
    options = _words("postgresql://db/c?options=-c%20work_mem%3D8MB", timezone="UTC")["options"]
    assert options.split("-c ")[-2:] == ["work_mem=8MB ", "timezone=UTC"]
    assert "tcp_keepalives_idle=" in options.partition("work_mem")[0]


def _schema(url: str) -> str:
    """Return the schema that an address selects. Of several settings, the last one counts."""
    return _words(url)["options"].rpartition("search_path=")[2].split()[0]


def test_a_ledger_is_in_the_default_schema_or_the_named_schema() -> None:
    url = "postgresql://a:b@h1:1,h2:2/c?sslmode=require&options=-c%20search_path%3Dtheirs"
    assert _schema("postgresql://db/c") == f"{SCHEMA},pg_temp"
    assert _schema(in_schema(url, "ours")) == "ours,pg_temp"
    assert _words(in_schema(url, "ours"))["sslmode"] == "require"
    assert _words(in_schema("postgresql:///c?host=/a%20folder", "ours"))["host"] == "/a folder"


@pytest.mark.parametrize("part", ["password=a+b", "password=", "sslrootcert=/a%20b", "host=h1&host=h2"])
def test_adding_a_schema_leaves_the_rest_of_the_address_unchanged(part: str) -> None:
    assert in_schema(f"postgresql://db/c?{part}", "ours").startswith(f"postgresql://db/c?{part}&options=")


@pytest.mark.parametrize("url", ["postgresql://db/c", "postgresql://db/c?application_name=mine"])
def test_the_server_lists_a_connection_by_the_name_of_its_process(url: str) -> None:
    words = _words(named(url, "sluice worker a,b & " + "c" * 80))
    assert words["fallback_application_name"] == "sluice worker a,b & " + "c" * 43
    assert words.get("application_name") == ("mine" if "mine" in url else None)


def test_an_unreadable_address_is_reported_as_a_bad_setting() -> None:
    with pytest.raises(BadSetting, match="The ledger's address cannot be read"):
        complete("postgresql://[")
