"""How the database is reached, and when a line that has gone silent is given up, which is the same on either side.

A machine that is gone, or that the network no longer leads to, says nothing of it. Whoever waits for its answer would
wait for a quarter of an hour by the ways of TCP, and for two hours if he has nothing to say himself; and of a worker
that is gone the database would keep the connections, and the rows that it had locked. The brokers' connections have
such limits of their own. A server that is reached by a file cannot go silent so, and knows none of this.
"""

import re
from collections.abc import Mapping
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sluice.jobs.address import without_password
from sluice.jobs.errors import BadSetting, Unreachable

#: Who has not answered for so long counts as gone.
SILENT_S_MAX = 10
#: Where nothing has passed for so long the other side is asked, again after each pause, and so often.
_IDLE_S, _PAUSE_S, _ASKED = 4, 2, 3

#: Where the ledger's tables are, unless the address names another schema (``jobs.address.in_schema``).
SCHEMA: Final = "sluice"
#: What the address says itself goes before these, and before what the server is to do; not before what is a ledger's.
_OURS: dict[str, str | int] = {
    "connect_timeout": SILENT_S_MAX,
    "tcp_user_timeout": SILENT_S_MAX * 1000,
    "keepalives_idle": _IDLE_S,
    "keepalives_interval": _PAUSE_S,
    "keepalives_count": _ASKED,
    "fallback_application_name": "sluice",
}
_THE_SERVERS = {
    # Nothing of a user's stands in for a table of ours, not even a temporary table.
    "search_path": f"{SCHEMA},pg_temp",
    "tcp_user_timeout": SILENT_S_MAX * 1000,
    "tcp_keepalives_idle": _IDLE_S,
    "tcp_keepalives_interval": _PAUSE_S,
    "tcp_keepalives_count": _ASKED,
}


def dialled(url: str, **settings: object) -> str:
    """What to connect by: the address, and how the server is to be set for these connections."""
    try:
        said = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # libpq quotes the part that it cannot read, which may be the password; so neither it nor the cause is shown.
        raise BadSetting(
            "The ledger's address cannot be read: it is not a Postgres address, or a character in it is not escaped.",
            advice="Write it like postgresql://user:password@host/sluice; in a password write %40 for @, %25 for %",
        ) from None
    options = " ".join([_written(_THE_SERVERS), str(said.get("options", "")), _written(settings)])
    return make_conninfo("", **_OURS | said | {"options": options})


#: What Postgres says of an address that is wrong, in words that people can act on. libpq has no code for these.
_WRONG_ADDRESSES = (
    (
        re.compile(r'password authentication failed for user "(.+?)"|no password supplied()'),
        "The ledger's database refuses the password of the role {0}.",
        "Correct the password in SLUICE_LEDGER_URL.",
    ),
    (
        re.compile(r'role "(.+?)" does not exist'),
        "The ledger's server has no role {0}.",
        "Correct the name in SLUICE_LEDGER_URL, or make the roles: `sluice db roles`.",
    ),
    (
        re.compile(r'database "(.+?)" does not exist'),
        "The ledger's server has no database {0}.",
        "Create it, or correct its name in SLUICE_LEDGER_URL; then `sluice db upgrade`.",
    ),
)


def unreachable(url: str, error: Exception) -> Unreachable:
    """The error as it is told to people."""
    said = " ".join(str(error).split())
    for pattern, what, advice in _WRONG_ADDRESSES:
        if found := pattern.search(said):
            name = found[1] or "that it names"
            return Unreachable(what.format(name), where=without_password(url), advice=advice)
    return Unreachable(
        f"The ledger does not answer: {said}",
        where=without_password(url),
        advice="Start the database, or point SLUICE_LEDGER_URL at one that runs.",
    )


def _written(settings: Mapping[str, object]) -> str:
    return " ".join(f"-c {name}={value}" for name, value in settings.items())
