"""Whether what is said to the ledger can be read, or changed, by whoever is on the way."""

import psycopg
from psycopg import conninfo, pq

from sluice.jobs.address import is_here

#: With these Postgres has to show a certificate that somebody vouches for; with ``prefer``, which is libpq's default,
#: and ``require``, anybody on the way may show one of his own.
_PROVEN = ("verify-ca", "verify-full")


def weakness(url: str) -> str:
    """Why it can; empty where it cannot, or where it never leaves this machine."""
    try:
        words = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return ""  # Whoever connects says what is wrong with it.
    usual = {each.keyword.decode(): (each.val or b"").decode() for each in pq.Conninfo.get_defaults()}
    hosts = str(words.get("hostaddr") or words.get("host") or usual["hostaddr"] or usual["host"])
    mode = str(words.get("sslmode") or usual["sslmode"])
    if mode in _PROVEN or all(map(_is_here, hosts.split(","))):
        return ""
    return f"sslmode is {mode}, which asks for no proof of who answers"


def _is_here(host: str) -> bool:
    """A socket too, which is what Postgres takes a path for, and no host at all."""
    return host == "" or host.startswith(("/", "@")) or is_here(host)
