"""Addresses of servers: how to show them to people, and whether a network is between."""

import re
from ipaddress import ip_address
from urllib.parse import quote, unquote

_OPTIONS = "options="
#: Longest application name in characters. Postgres truncates longer names.
APPLICATION_NAME_MAX = 63
#: Schema names that Postgres accepts without quotes.
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def without_password(url: str) -> str:
    """Return the address without user, password and options, to be shown to people."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def schema_name(text: str) -> str:
    """Return the text if it can be the name of a schema. Raises ValueError otherwise.

    Refused are names that Postgres requires to be quoted, and the prefix ``pg_``, which it reserves.
    """
    if not _SCHEMA.fullmatch(text) or text.startswith("pg_"):
        raise ValueError(f"{text!r} is not made of up to 63 small letters, digits and _, or begins with pg_")
    return text


def in_schema(url: str, schema: str) -> str:
    """Return the address of the ledger that is in this schema of the database."""
    place, _, query = url.partition("?")
    parts = [part for part in query.split("&") if part]
    options = [unquote(part.removeprefix(_OPTIONS)) for part in parts if part.startswith(_OPTIONS)]
    # The other parts stay as they are written: Postgres does not read a plus sign as a space.
    others = [part for part in parts if not part.startswith(_OPTIONS)]
    path = f"-c search_path={schema},pg_temp"
    return f"{place}?{'&'.join([*others, _OPTIONS + quote(' '.join([*options, path]), safe='')])}"


def named(url: str, process: str) -> str:
    """Return the address with this name for its connections, as the server lists them.

    A name that the address already sets takes precedence.
    """
    separator = "&" if "?" in url else "?"
    name = quote(process[:APPLICATION_NAME_MAX], safe="")
    return f"{url}{separator}fallback_application_name={name}"


def is_here(host: str) -> bool:
    """Return whether data sent to this host never leaves the machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
