"""Settings: where they come from, and what a wrong one says."""

from pathlib import Path

import pytest

from actors.settings import read_settings
from jobs.errors import BadSetting
from jobs.programs import Rules


def test_nothing_configured_is_the_embedded_default(tmp_path: Path) -> None:
    settings = read_settings({}, folder=tmp_path)
    assert settings.ledger_url is None
    assert settings.broker_url == "memory://"
    assert settings.lease_s == 15


def test_the_command_line_wins_over_the_environment_and_that_over_files(tmp_path: Path) -> None:
    (tmp_path / "sluice.toml").write_text('apps = ["toml.json"]\nlease = "1s"\ntick = "3s"\n')
    (tmp_path / ".env").write_text("# local\nexport SLUICE_LEASE='2s'\nSLUICE_APPS=env.json\n")
    settings = read_settings({"SLUICE_APPS": "a.json, b.json"}, folder=tmp_path, broker_url="redis://here")
    assert settings.apps == ("a.json", "b.json")
    assert settings.lease_s == 2
    assert settings.tick_s == 3
    assert settings.broker_url == "redis://here"


def test_what_programs_may_cost_and_where_things_are_kept(tmp_path: Path) -> None:
    usual = read_settings({}, folder=tmp_path)
    assert (usual.blobs_url, usual.programs, usual.program_rules) == (None, None, Rules())
    given = {
        "SLUICE_BLOBS_URL": "s3://bucket/x",
        "SLUICE_PROGRAMS_DIR": "/cache",
        "SLUICE_PROGRAM_HOSTS": "inner, 10.0.0.7",
        "SLUICE_PROGRAM_FETCH_TIMEOUT": "1m",
        "SLUICE_PROGRAM_SIZE": "1MiB",
        "SLUICE_PROGRAM_UNPACKED_SIZE": "3MB",
    }
    settings = read_settings(given, folder=tmp_path)
    assert (settings.blobs_url, settings.programs) == ("s3://bucket/x", Path("/cache"))
    assert settings.program_rules == Rules(
        hosts=("inner", "10.0.0.7"), fetch_timeout_s=60.0, bytes_max=2**20, unpacked_bytes_max=3_000_000
    )


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("SLUICE_LEDGER_URL", "mysql://x", "mysql"),
        ("SLUICE_BROKER_URL", "kafka://x", "kafka"),
        ("SLUICE_LEASE", "soon", "soon"),
        ("SLUICE_TICK", "0", "longer than nothing"),
        ("SLUICE_LOG", "xml", "text, json"),
        ("SLUICE_PROGRAM_SIZE", "huge", "not a size"),
        ("SLUICE_PROGRAM_FETCH_TIMEOUT", "0", "longer than nothing"),
    ],
)
def test_a_wrong_value_names_the_variable_what_was_found_and_an_example(
    tmp_path: Path, name: str, value: str, what: str
) -> None:
    with pytest.raises(BadSetting, match=what) as caught:
        read_settings({name: value}, folder=tmp_path)
    assert name in caught.value.what
    assert f"{name}=" in caught.value.advice
