"""Connection settings of the database: addresses, time limits, and transport security.

The settings include the time after which either side drops a silent connection (``SILENT_S_MAX``). A machine that is
gone, or that the network does not reach any more, sends no notice. With the defaults of TCP a client would wait a
quarter of an hour for its answer. If it has nothing to send itself, it would wait two hours. The database would keep
the connections of a lost worker, and the rows that the worker had locked. The brokers' connections have similar limits
of their own. None of this applies to a server that is reached by a socket file, because it cannot fall silent like
that.

``weakness`` determines whether connections to the ledger could be read or altered on the network.
"""

import re
from collections.abc import Mapping
from typing import Final

import psycopg
from psycopg import conninfo, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sluice.jobs.errors import BadSetting, Unreachable
from sluice.jobs.observe.outages import OutageLog
from sluice.jobs.text.server_address import is_here, without_password

#: Seconds without an answer after which the other side counts as gone.
SILENT_S_MAX = 10
#: Keepalive: seconds without traffic before the first probe, seconds between probes, and number of probes.
_IDLE_S, _PAUSE_S, _ASKED = 4, 2, 3

#: Schema of the ledger's tables, unless the address names another schema (``jobs.text.server_address.in_schema``).
SCHEMA: Final = "sluice"
#: Settings of the client. The address overrides these and ``_THE_SERVERS``, but not the settings passed to
#: ``complete``.
_OURS: dict[str, str | int] = {
    "connect_timeout": SILENT_S_MAX,
    "tcp_user_timeout": SILENT_S_MAX * 1000,
    "keepalives_idle": _IDLE_S,
    "keepalives_interval": _PAUSE_S,
    "keepalives_count": _ASKED,
    "fallback_application_name": "sluice",
}
_SEARCH_PATH = re.compile(r"search_path=(\w+)")
#: A setting in the options of an address, and a character in its value that Postgres reads as it is.
_SETTING = re.compile(r"(?:-c\s*|--)([\w.]+)=((?:\\.|[^\s\\])*)")
_ESCAPED = re.compile(r"\\(.)")
_THE_SERVERS = {
    # No object of a user can replace a table of the ledger, not even a temporary table.
    "search_path": f"{SCHEMA},pg_temp",
    "tcp_user_timeout": SILENT_S_MAX * 1000,
    "tcp_keepalives_idle": _IDLE_S,
    "tcp_keepalives_interval": _PAUSE_S,
    "tcp_keepalives_count": _ASKED,
}


def complete(url: str, **settings: object) -> str:
    """Return the connection string: the address, and the settings of the server for these connections."""
    try:
        said = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # libpq quotes the part that it cannot read, which may be the password. So neither it nor the cause is shown.
        raise BadSetting(
            "The ledger's address cannot be read: it is not a Postgres address, or a character in it is not escaped.",
            advice="Write it like postgresql://user:password@host/sluice; in a password write %40 for @, %25 for %",
        ) from None
    options = " ".join([_written(_THE_SERVERS), str(said.get("options", "")), _written(settings)])
    return make_conninfo("", **_OURS | said | {"options": options})


def complete_for_pooler(url: str) -> str:
    """Return the connection string of a pooler.

    It has no settings of the server: a pooler passes them to no server, and may refuse the connection because of them.
    Each transaction makes them itself (``opening``).
    """
    said = {name: value for name, value in conninfo_to_dict(complete(url)).items() if name != "options"}
    return make_conninfo("", **said)


def opening(url: str, **settings: object) -> str:
    """Return the statement that makes the settings of ``complete`` until the end of a transaction.

    The time limits of a TCP connection are left out, because the server's connection is the pooler's.
    """
    written = str(conninfo_to_dict(complete(url, **settings))["options"])
    found = {name: _ESCAPED.sub(r"\1", value) for name, value in _SETTING.findall(written)}
    calls = [
        f"set_config({_quoted(name)}, {_quoted(value)}, true)"
        for name, value in found.items()
        if not name.startswith("tcp_")
    ]
    return f"SELECT {', '.join(calls)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def schema_of(url: str) -> str:
    """Return the schema of the ledger at this address."""
    options = str(conninfo_to_dict(complete(url)).get("options", ""))
    return str(_SEARCH_PATH.findall(options)[-1])


#: Messages of Postgres about a wrong address, with texts on which people can act. libpq has no code for these.
_WRONG_ADDRESSES = (
    (
        re.compile(r'password authentication failed for user "(.+?)"|no password supplied()'),
        "The ledger's database refuses the password of the role {0}.",
        "Correct the password in SLUICE_LEDGER_URL.",
    ),
    (
        re.compile(r'role "(.+?)" does not exist'),
        "The ledger's server has no role {0}.",
        "Correct the name in SLUICE_LEDGER_URL, or create the roles: `sluice db roles`.",
    ),
    (
        re.compile(r'database "(.+?)" does not exist'),
        "The ledger's server has no database {0}.",
        "Create it, or correct its name in SLUICE_LEDGER_URL; then `sluice db upgrade`.",
    ),
    (
        re.compile(r"unsupported startup parameter()"),
        "SLUICE_LEDGER_URL leads to a connection pooler, which takes no settings of a session.",
        "Move this address to SLUICE_LEDGER_POOLER_URL, and give the server's own address in SLUICE_LEDGER_URL.",
    ),
)


def unreachable(url: str, error: Exception, outages: OutageLog | None = None) -> Unreachable:
    """Return the error in the form that is shown to people. ``outages`` is the log of the server's outages."""
    found = _explained(url, error)
    found.outages = outages
    return found


def _explained(url: str, error: Exception) -> Unreachable:
    said = " ".join(str(error).split())
    for pattern, what, advice in _WRONG_ADDRESSES:
        if found := pattern.search(said):
            name = found[1] or "that it names"
            refused = Unreachable(what.format(name), where=without_password(url), advice=advice)
            refused.needs_action = True
            return refused
    return Unreachable(
        f"The ledger does not answer: {said}",
        where=without_password(url),
        advice="Start the database, or point SLUICE_LEDGER_URL at a running database.",
    )


def _written(settings: Mapping[str, object]) -> str:
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


#: With these modes Postgres must show a certificate that an authority has signed. With ``prefer``, libpq's default, and
#: ``require``, any machine on the network path may show its own.
_PROVEN = ("verify-ca", "verify-full")


def weakness(url: str) -> str:
    """Return why a connection to this address can be intercepted. Empty if it cannot, or if it never leaves this
    machine."""
    try:
        words = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return ""  # The connection itself reports the error.
    usual = {each.keyword.decode(): (each.val or b"").decode() for each in pq.Conninfo.get_defaults()}
    hosts = str(words.get("hostaddr") or words.get("host") or usual["hostaddr"] or usual["host"])
    mode = str(words.get("sslmode") or usual["sslmode"])
    if mode in _PROVEN or all(map(_is_here, hosts.split(","))):
        return ""
    return f"sslmode is {mode}, which does not verify the server"


def _is_here(host: str) -> bool:
    """Return whether the host is this machine. A path is a Unix socket to Postgres, and so is a missing host."""
    return host == "" or host.startswith(("/", "@")) or is_here(host)
