"""Transport security: whether connections to the ledger could be read or altered on the network."""

import psycopg
from psycopg import conninfo, pq

from sluice.jobs.address import is_here

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
