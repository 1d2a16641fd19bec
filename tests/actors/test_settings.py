"""Settings: their sources and precedence, and the errors for wrong values."""

from pathlib import Path

import pytest

from sluice.actors.assembly import stores
from sluice.actors.settings.settings import hand_on, read_settings, settings_of
from sluice.actors.settings.sources import find
from sluice.broker.address import parse_address
from sluice.jobs.errors import BadSetting
from sluice.jobs.policy.sandbox_settings import Fence, SandboxLevel
from sluice.jobs.programs.source import Rules
from sluice.jobs.runners.command.environment import is_withheld
from sluice.ledger.database.conninfo import complete

SECRET = "s" * 32


def test_without_settings_the_ledger_is_embedded_and_the_broker_in_memory(tmp_path: Path) -> None:
    settings = read_settings({}, folder=tmp_path)
    assert settings.ledger_url is None
    assert settings.broker_url == "memory://"
    assert settings.lease_s == 15


def test_the_command_line_overrides_the_environment_which_overrides_files(tmp_path: Path) -> None:
    (tmp_path / "sluice.toml").write_text('apps = ["toml.json"]\nlease = "1s"\ntick = "3s"\n')
    (tmp_path / ".env").write_text("# local\nexport SLUICE_LEASE='2s'\nSLUICE_APPS=env.json\n")
    settings = read_settings({"SLUICE_APPS": "a.json, b.json"}, folder=tmp_path, broker_url="redis://here")
    assert settings.apps == ("a.json", "b.json")
    assert settings.lease_s == 2
    assert settings.tick_s == 3
    assert settings.broker_url == "redis://here"


def test_limits_of_programs_and_storage_places_are_read(tmp_path: Path) -> None:
    usual = read_settings({}, folder=tmp_path)
    assert (usual.blobs_url, usual.programs, usual.program_rules) == (None, None, Rules())
    given = {
        "SLUICE_BLOBS_URL": "s3://bucket/x",
        "SLUICE_PROGRAMS_DIR": "/cache",
        "SLUICE_PROGRAM_HOSTS": "inner, 10.0.0.7",
        "SLUICE_PROGRAM_FETCH_TIMEOUT": "1m",
        "SLUICE_PROGRAM_SIZE": "1MiB",
        "SLUICE_PROGRAM_UNPACKED_SIZE": "3MB",
        "SLUICE_PROGRAMS_DIR_SIZE": "5GiB",
    }
    settings = read_settings(given, folder=tmp_path)
    assert (settings.blobs_url, settings.programs) == ("s3://bucket/x", Path("/cache"))
    assert settings.program_rules == Rules(
        hosts=("inner", "10.0.0.7"),
        fetch_timeout_s=60.0,
        bytes_max=2**20,
        unpacked_bytes_max=3_000_000,
        dir_bytes_max=5 * 2**30,
    )


def test_the_sandbox_is_configured_and_hides_the_files_of_sluice(tmp_path: Path) -> None:
    ours = (str(tmp_path / ".env"), str(tmp_path / "sluice.toml"))
    assert read_settings({}, folder=tmp_path).fence == Fence(hidden=ours)
    environment = {
        "SLUICE_SANDBOX": "bubblewrap",
        "SLUICE_SANDBOX_NETWORK": "on",
        "SLUICE_SANDBOX_WRITE": "/data/out, /scratch",
        "SLUICE_SANDBOX_HIDE": "/etc/secrets",
        "SLUICE_PROGRAMS_DIR": "/programs",
    }
    settings = read_settings(environment, folder=tmp_path)
    hidden = ("/etc/secrets", *ours)
    written = ("/data/out", "/scratch")
    asked = Fence(level=SandboxLevel.BUBBLEWRAP, network=True, writable=written, hidden=hidden)
    assert settings.fence == asked
    assert stores(settings).sandbox.fence.hidden == (*hidden, str(Path(".sluice").absolute()), "/programs")


SSL_OPTIONS = "{'ca_certs': '/etc/ca.pem', 'certfile': '/etc/rabbit.pem', 'keyfile': '/etc/rabbit.key'}"


@pytest.mark.parametrize(
    ("name", "text", "secrets"),
    [
        (
            "SLUICE_LEDGER_URL",
            "postgresql://a,b/s?sslrootcert=/etc/ca.pem&sslkey=/etc/pg%20key",
            ["/etc/pg key"],
        ),
        ("SLUICE_LEDGER_URL", "postgresql://u:a?b@h/s?passfile=pgpass&sslmode=verify-full", ["pgpass"]),
        ("SLUICE_LEDGER_POOLER_URL", "postgresql://h/s?sslkey=/etc/pooler.key", ["/etc/pooler.key"]),
        (
            "SLUICE_BROKER_URL",
            "rediss://h/0?ssl_ca_certs=/etc/ca.pem&ssl_keyfile=/etc/redis.key",
            ["/etc/redis.key"],
        ),
        ("SLUICE_BROKER_URL", "rediss://h/0?ssl_certfile=/etc/key+and+all", ["/etc/key and all"]),
        ("SLUICE_BROKER_URL", f"amqps://h?ssl_options={SSL_OPTIONS}", ["/etc/rabbit.key", "/etc/rabbit.pem"]),
        ("SLUICE_BROKER_URL", "amqps://h?ssl_options={'keyfile'", []),
        (
            "SLUICE_APPS",
            "apps.json,rediss://h/0/key?ssl_keyfile=/etc/apps.key,redis://[h/0",
            ["/etc/apps.key"],
        ),
        ("PGPASSFILE", "/etc/pgpass", ["/etc/pgpass"]),
        ("PGSSLKEY", "/etc/pg.key", ["/etc/pg.key"]),
    ],
)
def test_the_sandbox_hides_secret_files_that_settings_name(
    tmp_path: Path, name: str, text: str, secrets: list[str]
) -> None:
    _, _, *hidden = read_settings({name: text}, folder=tmp_path).fence.hidden
    assert hidden == [str(tmp_path / each) for each in secrets]


def test_the_sandbox_hides_secret_files_that_the_command_line_names(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"new:{SECRET}\n")
    settings = read_settings(
        {"SLUICE_MESSAGE_KEYS": f"file:{tmp_path / 'keys'}"},
        folder=tmp_path,
        apps=("rediss://h/0/key?ssl_keyfile=apps.key",),
        ledger_url="postgresql://h/s?sslkey=pg.key",
        broker_url="rediss://h/0?ssl_keyfile=redis.key",
    )
    _, _, *hidden = settings.fence.hidden
    assert hidden == [str(tmp_path / each) for each in ("keys", "pg.key", "redis.key", "apps.key")]


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("SLUICE_LEDGER_URL", "mysql://x", "mysql"),
        ("SLUICE_LEDGER_POOLER_URL", "redis://x", "redis"),
        ("SLUICE_LEDGER_POOLER_URL", "postgresql://h/s?options=-c%20a%3Db", "SLUICE_LEDGER_URL"),
        ("SLUICE_BROKER_URL", "kafka://x", "kafka"),
        ("SLUICE_LEASE", "soon", "soon"),
        ("SLUICE_TICK", "0s", "longer than 0s"),
        ("SLUICE_LEASE", "15", "no unit"),
        ("SLUICE_TICK", "1", "no unit"),
        ("SLUICE_SHUTDOWN_GRACE", "20", "no unit"),
        ("SLUICE_STARTUP_TIMEOUT", "600", "no unit"),
        ("SLUICE_KEEP_HISTORY", "90", 'has no unit; write "90s", "90m", "90h" or "90d"'),
        ("SLUICE_LOG", "xml", "text, json"),
        ("SLUICE_PROGRAM_SIZE", "huge", "not a size"),
        ("SLUICE_PROGRAM_FETCH_TIMEOUT", "0s", "longer than 0s"),
        ("SLUICE_PROGRAM_FETCH_TIMEOUT", "300", "no unit"),
        ("SLUICE_SANDBOX", "bwrap", "off, limits, bubblewrap"),
        ("SLUICE_SANDBOX_NETWORK", "yes", "on, off"),
        ("SLUICE_SANDBOX_WRITE", "data", "begin with a slash"),
    ],
)
def test_the_error_for_a_wrong_value_names_the_variable_and_an_example(
    tmp_path: Path, name: str, value: str, what: str
) -> None:
    with pytest.raises(BadSetting, match=what) as caught:
        read_settings({name: value}, folder=tmp_path)
    assert name in caught.value.what
    assert f"{name}=" in caught.value.advice


def test_message_keys_are_given_in_a_file_or_directly(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"new:{SECRET}\nold:{SECRET}x\n")
    for text in (f"new:{SECRET},old:{SECRET}x", f"file:{tmp_path / 'keys'}"):
        settings = read_settings({"SLUICE_MESSAGE_KEYS": text}, folder=tmp_path)
        assert settings.message_keys
        assert SECRET not in repr(settings)
        assert "Keyring(new, old)" in repr(settings)
    assert not read_settings({}, folder=tmp_path).message_keys


@pytest.mark.parametrize("text", [SECRET, f"a b:{SECRET}", "k:short-s3cret", "file:/nowhere/keys"])
def test_the_error_for_wrong_message_keys_does_not_show_them(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting, match="SLUICE_MESSAGE_KEYS: ") as caught:
        read_settings({"SLUICE_MESSAGE_KEYS": text}, folder=tmp_path)
    assert SECRET not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_trace_headers_are_written_as_in_opentelemetry(tmp_path: Path) -> None:
    given = {"SLUICE_TRACE_HEADERS": "Authorization=Bearer%20a=b, x-team=one"}
    settings = read_settings(given, folder=tmp_path)
    assert settings.trace_headers == {"authorization": "Bearer a=b", "x-team": "one"}


@pytest.mark.parametrize(
    "text", ["Bearer SECRETPW", "a b=SECRETPW", "=SECRETPW", "a=SECRETPW%0d%0ab:c", "SECRETPW="]
)
def test_the_error_for_wrong_trace_headers_does_not_show_them(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting, match="SLUICE_TRACE_HEADERS: a header is NAME=VALUE") as caught:
        read_settings({"SLUICE_TRACE_HEADERS": text}, folder=tmp_path)
    assert "SECRETPW" not in f"{caught.value.what}{caught.value.advice}"


def test_every_setting_is_withheld_from_jobs(tmp_path: Path) -> None:
    """The variable that names a setting's file is also withheld. ``sources.asked`` has every setting that was read."""
    found = find({}, folder=tmp_path)
    settings_of(found, folder=tmp_path)
    names = [*found.asked, *(f"{name}_FILE" for name in found.asked)]
    assert len(names) > 60
    assert [name for name in names if not is_withheld(name)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SLUICE_LEDGER_URL", "host=db user=u password=SECRETPW"),
        ("SLUICE_LEDGER_URL", "SECRETPW:5432"),
        ("SLUICE_BROKER_URL", "guest SECRETPW host"),
        ("SLUICE_BROKER_URL", "SECRETPW:x@host"),
        ("SLUICE_LINEAGE_URL", "SECRETPW"),
    ],
)
def test_the_error_for_an_address_without_a_scheme_does_not_show_it(
    name: str, text: str, tmp_path: Path
) -> None:
    with pytest.raises(BadSetting, match=f"{name}: an address without a scheme is") as caught:
        read_settings({name: text}, folder=tmp_path)
    assert "SECRETPW" not in f"{caught.value.what}{caught.value.advice}"


@pytest.mark.parametrize("password", ["SECRET PW", "SECRET%zzPW", "SECRET%00PW"])
def test_the_error_for_an_address_that_libpq_cannot_read_does_not_show_it(password: str) -> None:
    with pytest.raises(BadSetting, match="address cannot be read") as caught:
        complete(f"postgresql://me:{password}@host/d")
    assert caught.value.__cause__ is None
    assert "SECRET" not in f"{caught.value.what}{caught.value.advice}"


@pytest.mark.parametrize("password", ["SECRET#PW", "SECRET?PW", "SECRET/PW"])
def test_the_error_for_an_unreadable_broker_address_does_not_show_it(password: str) -> None:
    with pytest.raises(BadSetting, match="SLUICE_BROKER_URL is not a URL") as caught:
        parse_address(f"amqp://me:{password}@host", setting="SLUICE_BROKER_URL")
    assert "SECRET" not in f"{caught.value.what}{caught.value.advice}"


def test_a_setting_may_be_read_from_a_file(tmp_path: Path) -> None:
    url = tmp_path / "ledger-url"
    url.write_text("postgresql://u:p@host/sluice\n")
    given = {"SLUICE_LEDGER_URL_FILE": str(url)}
    settings = read_settings(given, folder=tmp_path)
    assert settings.ledger_url == "postgresql://u:p@host/sluice"
    assert str(url) in settings.fence.hidden
    (tmp_path / ".env").write_text("SLUICE_LEDGER_URL_FILE=ledger-url")
    assert read_settings({}, folder=tmp_path).ledger_url == "postgresql://u:p@host/sluice"
    stronger = {"SLUICE_LEDGER_URL": "postgresql://other/sluice"}
    overridden = read_settings(stronger, folder=tmp_path)
    assert overridden.ledger_url == "postgresql://other/sluice"
    assert str(url) in overridden.fence.hidden
    assert read_settings({"SLUICE_CONSOLE_TOKEN_FILE": ""}, folder=tmp_path).console_token is None


def test_an_unusable_file_of_a_setting_is_an_error_without_its_text(tmp_path: Path) -> None:
    with pytest.raises(
        BadSetting, match=r"SLUICE_CONSOLE_TOKEN_FILE: the file .*/none cannot be read: No such"
    ):
        read_settings({"SLUICE_CONSOLE_TOKEN_FILE": "none"}, folder=tmp_path)
    (tmp_path / "token").write_text("SECRET")
    given = {"SLUICE_CONSOLE_TOKEN_FILE": "token", "SLUICE_CONSOLE_TOKEN": "SECRET"}
    with pytest.raises(
        BadSetting, match="SLUICE_CONSOLE_TOKEN and SLUICE_CONSOLE_TOKEN_FILE are both set"
    ) as both:
        read_settings(given, folder=tmp_path)
    (tmp_path / "token").write_text("host=h password=SECRET")
    with pytest.raises(BadSetting, match="SLUICE_LEDGER_URL: an address without a scheme") as wrong:
        read_settings({"SLUICE_LEDGER_URL_FILE": "token"}, folder=tmp_path)
    assert wrong.value.where == f"the file {tmp_path / 'token'}"
    assert "SECRET" not in f"{both.value.what}{wrong.value.what}{wrong.value.advice}"


def test_the_sandbox_hides_the_files_of_a_service_manager(tmp_path: Path) -> None:
    for name in ("sluice.env", "worker-fetch.env", "apps.json"):
        (tmp_path / name).touch()
    hidden = read_settings({"CREDENTIALS_DIRECTORY": "/run/credentials/w"}, folder=tmp_path).fence.hidden
    assert {str(tmp_path / "sluice.env"), str(tmp_path / "worker-fetch.env"), "/run/credentials/w"} <= {
        *hidden
    }
    assert str(tmp_path / "apps.json") not in hidden


@pytest.mark.parametrize("text", ["", "\n", " \n"])
def test_an_empty_file_of_a_setting_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger-url").write_text(text)
    with pytest.raises(BadSetting, match=r"SLUICE_LEDGER_URL_FILE: the file .*/ledger-url is empty"):
        read_settings({"SLUICE_LEDGER_URL_FILE": "ledger-url"}, folder=tmp_path)


def test_a_child_process_gets_command_line_options_and_no_text_of_a_file() -> None:
    environment = {"SLUICE_LEDGER_URL_FILE": "ledger-url", "SLUICE_BROKER_URL_FILE": "broker-url"}
    hand_on(environment, apps=["a.json", "b.py"], ledger_url=None, broker_url="redis://typed")
    assert environment == {
        "SLUICE_LEDGER_URL_FILE": "ledger-url",
        "SLUICE_APPS": "a.json,b.py",
        "SLUICE_BROKER_URL": "redis://typed",
    }


def test_tenants_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tenants.yaml"
    file.write_text("risk:\n  weight: 3\n")
    tenants = read_settings({"SLUICE_TENANTS": str(file)}, folder=tmp_path).tenants
    assert [tenants.of(name).weight for name in ("risk", "growth")] == [3, 1]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("risk: {weight: 0}", "Expected `float` > 0"),
        ("risk: {wait: 1}", "unknown field `wait`"),
        ("Risk: {}", "'Risk' is no name"),
        ("risk: {prefix: a.}\ngrowth: {prefix: a.}", "risk and growth have the same prefix"),
        ("- risk", "Expected `object`"),
        ("{", "not YAML"),
        (None, "cannot be read"),
    ],
)
def test_the_error_for_a_wrong_file_of_tenants_names_the_file(
    tmp_path: Path, text: str | None, fault: str
) -> None:
    file = tmp_path / "tenants.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(BadSetting, match=fault) as raised:
        read_settings({"SLUICE_TENANTS": str(file)}, folder=tmp_path)
    assert str(file) in str(raised.value)
