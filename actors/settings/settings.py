"""Settings, in order of precedence: the command line, the environment, ``.env``, ``sluice.toml``, a default.

Only this module reads the environment; ``sources`` has the texts from all places. The error for a wrong value names the
variable and its fault, and gives an example.
"""

import os
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from sluice.actors.code_version import commit_of
from sluice.actors.settings import sources
from sluice.actors.settings import sources as places
from sluice.actors.settings.sources import OF_A_FILE, PREFIX, FoundSettings
from sluice.actors.settings.tenants import read_tenants
from sluice.broker.signing import NO_KEYS, Keyring, parse_keys
from sluice.jobs.model.submission import UNKNOWN_APP_GRACE_S
from sluice.jobs.observe.failpoints import CrashOrder, read_crash
from sluice.jobs.observe.log_context import DEFAULT_REPORTS, RunReports
from sluice.jobs.policy.sandbox_settings import Fence, SandboxLevel
from sluice.jobs.policy.tenants import NO_SETTINGS, Tenants
from sluice.jobs.programs.source import Rules
from sluice.jobs.text.server_address import schema_name
from sluice.jobs.text.units import duration_s, parse_size_bytes

#: Folder with the settings of systemd units.
_ETC = Path("/etc/sluice")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class LineageServer(Struct, frozen=True):
    """Server that receives lineage. ``token`` is sent if there is one. ``jobs`` and ``tables`` are the namespaces."""

    url: str
    token: str | None
    jobs: str
    tables: str


class NotifySettings(Struct, frozen=True):
    """Hosts outside of the public internet that may receive events, and the address of the console for their links."""

    hosts: tuple[str, ...] = ()
    console_url: str | None = None


class ConsoleAccess(Struct, frozen=True):
    """File with named tokens and the roles of a proxy's users; and the proxies whose headers are trusted, with the
    names of these headers."""

    tokens: Path | None = None
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    user_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of a process.

    ``ledger_url`` None means the embedded Postgres under ``home``; ``ledger_pooler_url`` is the address of a pooler in
    transaction mode before the same database. ``code_version`` None means unknown. Default of ``blobs_url`` and
    ``programs``: a folder under ``home``. ``keep_history_s`` or ``keep_jobs_s`` None means indefinitely. ``failpoint``
    is the failpoint at which the process kills itself, for tests. ``traceparent`` is the span that this process was
    started in, if its caller passes one. ``process`` is the name of this process's connections in the ledger's server.
    ``run_reports``: what a worker logs and shows of its runs. A command that prints failures itself logs none.
    """

    apps: tuple[str, ...] = ()
    hooks: str | None = None
    ledger_url: str | None = None
    ledger_schema: str = "sluice"
    ledger_pooler_url: str | None = None
    broker_url: str = "memory://"
    home: Path = Path(".sluice")
    lease_s: float = 15.0
    tick_s: float = 1.0
    grace_s: float = 20.0
    health_path: Path | None = None
    startup_timeout_s: float = 20.0
    unknown_app_grace_s: float = UNKNOWN_APP_GRACE_S
    process: str = "sluice"
    log: str = "text"
    run_reports: RunReports = DEFAULT_REPORTS
    trace: bool = False
    trace_headers: dict[str, str] = {}
    traceparent: str | None = None
    lineage: LineageServer | None = None
    key_delimiter: str = "_"
    default_job_id: str | None = None
    code_version: str | None = None
    queue_type: str = "quorum"
    broker_namespace: str = ""
    plaintext: str = "warn"
    message_keys: Keyring = NO_KEYS
    blobs_url: str | None = None
    keep_history_s: float | None = 90 * 86400.0
    keep_jobs_s: float | None = None
    console_token: str | None = None
    console_view_token: str | None = None
    console_access: ConsoleAccess = ConsoleAccess()
    tenants: Tenants = NO_SETTINGS
    programs: Path | None = None
    program_rules: Rules = Rules()
    notify: NotifySettings = NotifySettings()
    fence: Fence = Fence()
    failpoint: CrashOrder | None = None


def read_settings(
    environment: Mapping[str, str],
    *,
    folder: Path,
    apps: tuple[str, ...] = (),
    ledger_url: str | None = None,
    broker_url: str | None = None,
) -> Settings:
    """Return the settings of this process. The command line has precedence. BadSetting for an invalid value."""
    given = {f"{PREFIX}LEDGER_URL": ledger_url, f"{PREFIX}BROKER_URL": broker_url}
    found = places.find(environment, folder=folder, given=given)
    return settings_of(found, folder=folder, apps=apps, traceparent=environment.get("TRACEPARENT"))


def settings_of(
    found: FoundSettings, *, folder: Path, apps: tuple[str, ...] = (), traceparent: str | None = None
) -> Settings:
    """Return the settings from the texts found. All are taken, so that ``sources.asked`` is complete."""
    defaults, take = Settings(), found.take
    return Settings(
        apps=(apps := apps or take("APPS", _sources, (), "apps.json,acme.pipelines")),
        hooks=take("HOOKS", str, None, "acme.hooks:metrics"),
        **_ledger(found, defaults),
        broker_url=take("BROKER_URL", _broker_url, defaults.broker_url, "amqp://user:password@host"),
        home=take("HOME", Path, defaults.home, ".sluice"),
        lease_s=take("LEASE", _positive_s, defaults.lease_s, "15s"),
        tick_s=take("TICK", _positive_s, defaults.tick_s, "1s"),
        grace_s=take("SHUTDOWN_GRACE", duration_s, defaults.grace_s, "20s"),
        health_path=take("HEALTH_PATH", Path, None, "/run/sluice/health"),
        startup_timeout_s=take("STARTUP_TIMEOUT", duration_s, defaults.startup_timeout_s, "10m"),
        trace=take("TRACE", _one_of("on", "off"), "off", "on") == "on",
        trace_headers=take("TRACE_HEADERS", _headers, defaults.trace_headers, "authorization=Bearer%20TOKEN"),
        traceparent=traceparent,
        lineage=_lineage(found),
        unknown_app_grace_s=take("UNKNOWN_APP_GRACE", duration_s, defaults.unknown_app_grace_s, "5m"),
        log=take("LOG", _one_of("text", "json"), defaults.log, "json"),
        key_delimiter=take("KEY_DELIMITER", str, defaults.key_delimiter, "_"),
        default_job_id=take("JOB_ID_DEFAULT_TEMPLATE", str, None, "{date}_{client_id}"),
        code_version=take("CODE_VERSION", str, commit_of(folder), "3f2a9c1"),
        queue_type=take("QUEUE_TYPE", _one_of("quorum", "classic"), defaults.queue_type, "quorum"),
        broker_namespace=take("BROKER_NAMESPACE", str, defaults.broker_namespace, "staging"),
        plaintext=take("PLAINTEXT", _one_of("warn", "refuse", "allow"), defaults.plaintext, "refuse"),
        message_keys=take("MESSAGE_KEYS", _keys, NO_KEYS, "file:/run/secrets/message-keys"),
        blobs_url=take("BLOBS_URL", str, None, "s3://bucket/sluice"),
        keep_history_s=take("KEEP_HISTORY", keep_s, defaults.keep_history_s, "30d"),
        keep_jobs_s=take("KEEP_JOBS", keep_s, defaults.keep_jobs_s, "365d"),
        **_console(found, folder),
        tenants=take("TENANTS", read_tenants, defaults.tenants, "/etc/sluice/tenants.yaml"),
        programs=take("PROGRAMS_DIR", Path, None, "/var/lib/sluice/programs"),
        program_rules=_rules(found, defaults.program_rules),
        notify=_notify(found),
        fence=_fence(found, folder, apps),
        failpoint=take("FAILPOINT", read_crash, None, "claim.committed@3"),
    )


def _ledger(found: FoundSettings, defaults: Settings) -> dict[str, Any]:
    """Return the settings of the ledger's database."""
    take = found.take
    return {
        "ledger_url": take("LEDGER_URL", _ledger_url, None, "postgresql://user:password@host/sluice"),
        "ledger_schema": take("LEDGER_SCHEMA", schema_name, defaults.ledger_schema, "sluice_staging"),
        "ledger_pooler_url": take("LEDGER_POOLER_URL", _pooler_url, None, "postgresql://pooler:6432/sluice"),
    }


def process_settings(**given: object) -> Settings:
    """Return the settings of this process, from its environment and its working directory."""
    return read_settings(os.environ, folder=Path.cwd(), **given)  # type: ignore[arg-type] # its own options, passed on


def process_found(
    *, apps: Sequence[str] = (), ledger_url: str | None = None, broker_url: str | None = None
) -> FoundSettings:
    """Return the texts found for this process, with every setting taken. BadSetting for an invalid value."""
    given = {
        f"{PREFIX}APPS": ",".join(apps) or None,
        f"{PREFIX}LEDGER_URL": ledger_url,
        f"{PREFIX}BROKER_URL": broker_url,
    }
    found = places.find(os.environ, folder=Path.cwd(), given=given)
    settings_of(found, folder=Path.cwd())
    return found


def hand_on(
    environment: MutableMapping[str, str],
    *,
    apps: Sequence[str],
    ledger_url: str | None,
    broker_url: str | None,
) -> None:
    """Set the options of this process's command line in an environment for child processes, and nothing else.

    The children read all other settings where this process read them. So a secret that is in a file stays there.
    """
    given = {"APPS": ",".join(apps), "LEDGER_URL": ledger_url, "BROKER_URL": broker_url}
    for name, text in given.items():
        if text:
            environment[PREFIX + name] = text
            environment.pop(PREFIX + name + OF_A_FILE, None)


def keep_s(text: str) -> float | None:
    """Return a retention time in seconds, or None for ``off``, which means indefinitely. ValueError for any other text
    that is not a duration."""
    return None if text == "off" else _positive_s(text)


def _console(found: FoundSettings, folder: Path) -> dict[str, Any]:
    """Return the settings of access to the console."""
    take, usual = found.take, ConsoleAccess()
    operate = take("CONSOLE_TOKEN", str, None, "a long random word")
    view = take("CONSOLE_VIEW_TOKEN", str, None, "another long word")
    access = ConsoleAccess(
        tokens=take("CONSOLE_TOKENS", lambda text: folder / text, None, "/etc/sluice/tokens.yaml"),
        proxies=take("CONSOLE_PROXY", _networks, (), "10.0.0.7,10.1.0.0/16"),
        user_header=take("CONSOLE_PROXY_HEADER", _header, usual.user_header, "X-Auth-Request-User"),
        groups_header=take(
            "CONSOLE_PROXY_GROUPS_HEADER", _header, usual.groups_header, "X-Auth-Request-Groups"
        ),
    )
    return {"console_token": operate, "console_view_token": view, "console_access": access}


def _lineage(found: FoundSettings) -> LineageServer | None:
    url = found.take("LINEAGE_URL", _http_url, None, "http://lineage.internal:5000")
    token = found.take("LINEAGE_TOKEN", str, None, "a key of that server")
    jobs = found.take("LINEAGE_NAMESPACE", str, "sluice", "warehouse")
    tables = found.take("LINEAGE_DATASET_NAMESPACE", str, jobs, "s3://warehouse")
    return LineageServer(url, token, jobs, tables) if url else None


def _rules(found: FoundSettings, usual: Rules) -> Rules:
    """Return the rules for programs: their hosts, their sizes, and the time to fetch them."""
    return Rules(
        hosts=found.take("PROGRAM_HOSTS", _sources, usual.hosts, "artifacts.internal,10.0.0.7"),
        fetch_timeout_s=found.take("PROGRAM_FETCH_TIMEOUT", _positive_s, usual.fetch_timeout_s, "5m"),
        bytes_max=found.take("PROGRAM_SIZE", parse_size_bytes, usual.bytes_max, "512MiB"),
        unpacked_bytes_max=found.take(
            "PROGRAM_UNPACKED_SIZE", parse_size_bytes, usual.unpacked_bytes_max, "2GiB"
        ),
        dir_bytes_max=found.take("PROGRAMS_DIR_SIZE", parse_size_bytes, usual.dir_bytes_max, "10GiB"),
    )


def _notify(found: FoundSettings) -> NotifySettings:
    return NotifySettings(
        hosts=found.take("NOTIFY_HOSTS", _sources, (), "alerts.internal,127.0.0.1"),
        console_url=found.take("CONSOLE_URL", _http_url, None, "https://sluice.example.org"),
    )


def _fence(found: FoundSettings, folder: Path, apps: tuple[str, ...]) -> Fence:
    """Return the sandbox for processes of jobs.

    It hides the files of these settings, and the secret files that they name. A service manager may have read the
    settings from an ``*.env`` in the worker's folder or in ``/etc/sluice``, so these are hidden too.
    """
    usual = Fence()
    ours = (
        places.DOTENV,
        places.TOML,
        *sources.named(found.texts, apps),
        *map(str, found.files),
    )
    of_services = (str(each) for place in (folder, _ETC) for each in sorted(place.glob("*.env")))
    hidden = found.take("SANDBOX_HIDE", _paths, usual.hidden, "/etc/secrets,/home/sluice")
    return Fence(
        level=SandboxLevel(
            found.take("SANDBOX", _one_of(*SandboxLevel), str(usual.level), str(SandboxLevel.BUBBLEWRAP))
        ),
        network=found.take("SANDBOX_NETWORK", _one_of("on", "off"), "off", "on") == "on",
        writable=found.take("SANDBOX_WRITE", _paths, usual.writable, "/data/out,/scratch"),
        hidden=tuple(
            dict.fromkeys((*hidden, *(str((folder / name).absolute()) for name in (*ours, *of_services))))
        ),
    )


def _paths(text: str) -> tuple[str, ...]:
    found = _sources(text)
    for each in found:
        if not each.startswith("/"):
            raise ValueError(f"{each!r} does not begin with a slash")
    return found


def _sources(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def _ledger_url(text: str) -> str | None:
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError(f"{_kind(text)} is not a kind of ledger; give a Postgres address")
    return text


def _pooler_url(text: str) -> str | None:
    if "options=" in text.partition("?")[2]:
        raise ValueError("a pooler takes no options; give them in SLUICE_LEDGER_URL")
    return _ledger_url(text)


def _broker_url(text: str) -> str:
    schemes = ("memory://", "amqp://", "amqps://", "redis://", "rediss://")
    if not text.startswith(schemes):
        raise ValueError(f"{_kind(text)} is none of {', '.join(schemes)}")
    return text


def _kind(text: str) -> str:
    """Return the scheme of an address, for messages. A text without a scheme is not repeated: a password may be
    anywhere in it."""
    found = re.match(r"[A-Za-z][A-Za-z0-9+.-]{0,20}(?=://)", text)
    return repr(found[0]) if found else "an address without a scheme"


def _keys(text: str) -> Keyring:
    """Return the message keys, from the text itself or from a file. No error shows any part of them."""
    path = sources.of_keys(text)
    if path is None:
        return parse_keys(text)
    try:
        return parse_keys(Path(path).read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"the file {path} cannot be read: {getattr(error, 'strerror', 'it is no text')}"
        ) from None


def _http_url(text: str) -> str | None:
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"{_kind(text)} is neither http nor https")
    return text


def _headers(text: str) -> dict[str, str]:
    """Return headers that are written as in OpenTelemetry's own variables, with a percent sign for special characters.
    No error shows any part of them."""
    headers = {}
    for pair in _sources(text):
        name, _, value = (unquote(part).strip() for part in pair.partition("="))
        if not _HEADER.fullmatch(name) or not value.isprintable() or not value:
            raise ValueError("a header is NAME=VALUE, and headers are separated by commas")
        headers[name.lower()] = value
    return headers


def _header(text: str) -> str:
    if not _HEADER.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a header")
    return text


def _networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return addresses and networks. A network of all addresses is refused: each client could name any user."""
    found = tuple(ip_network(each) for each in _sources(text))
    if any(network.prefixlen == 0 for network in found):
        raise ValueError("it has all addresses, so each client could name any user")
    return found


def _positive_s(text: str) -> float:
    seconds = duration_s(text)
    if seconds <= 0:
        raise ValueError(f"{text!r} is not longer than 0s")
    return seconds


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return text

    return parse
