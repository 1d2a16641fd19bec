"""Where a server is, as people may see it, and whether a network lies between."""

import re
from ipaddress import ip_address
from urllib.parse import quote, unquote

_OPTIONS = "options="
#: Postgres cuts longer ones.
APPLICATION_NAME_MAX = 63
#: Names that Postgres takes without quotes.
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def without_password(url: str) -> str:
    """The address for people: no user, no password, no options."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def schema_name(text: str) -> str:
    """ValueError for a name that Postgres would have quoted, or keeps for itself."""
    if not _SCHEMA.fullmatch(text) or text.startswith("pg_"):
        raise ValueError(f"{text!r} is not made of up to 63 small letters, digits and _, or begins with pg_")
    return text


def in_schema(url: str, schema: str) -> str:
    """The address of the ledger that is in this schema of the database."""
    place, _, query = url.partition("?")
    parts = [part for part in query.split("&") if part]
    options = [unquote(part.removeprefix(_OPTIONS)) for part in parts if part.startswith(_OPTIONS)]
    # The other parts stay as they are written: Postgres does not read a plus sign as a space.
    others = [part for part in parts if not part.startswith(_OPTIONS)]
    path = f"-c search_path={schema},pg_temp"
    return f"{place}?{'&'.join([*others, _OPTIONS + quote(' '.join([*options, path]), safe='')])}"


def named(url: str, process: str) -> str:
    """The address for connections that the server lists under this name, unless the address has another."""
    separator = "&" if "?" in url else "?"
    name = quote(process[:APPLICATION_NAME_MAX], safe="")
    return f"{url}{separator}fallback_application_name={name}"


def is_here(host: str) -> bool:
    """Whether what is said to this host never leaves the machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
