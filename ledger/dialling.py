"""How the database is reached, and when a line that has gone silent is given up, which is the same on either side.

A machine that is gone, or that the network no longer leads to, says nothing of it. Whoever waits for its answer would
wait for a quarter of an hour by the ways of TCP, and for two hours if he has nothing to say himself; and of a worker
that is gone the database would keep the connections, and the rows that it had locked. The brokers' connections have
such limits of their own. A server that is reached by a file cannot go silent so, and knows none of this.
"""

from collections.abc import Mapping

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sluice.jobs.errors import BadSetting

#: Who has not answered for so long counts as gone.
SILENT_S_MAX = 10
#: Where nothing has passed for so long the other side is asked, again after each pause, and so often.
_IDLE_S, _PAUSE_S, _ASKED = 4, 2, 3

#: What the address says itself goes before these, and before what the server is to do; not before what is a ledger's.
_OURS: dict[str, str | int] = {
    "connect_timeout": SILENT_S_MAX,
    "tcp_user_timeout": SILENT_S_MAX * 1000,
    "keepalives_idle": _IDLE_S,
    "keepalives_interval": _PAUSE_S,
    "keepalives_count": _ASKED,
}
_THE_SERVERS = {
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


def _written(settings: Mapping[str, object]) -> str:
    return " ".join(f"-c {name}={value}" for name, value in settings.items())
