"""Where a server is, as people may see it, and whether a network lies between."""

import re
from ipaddress import ip_address
from urllib.parse import parse_qsl, quote, urlencode

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
    said = parse_qsl(query)
    options = [text for name, text in said if name == "options"] + [f"-c search_path={schema},pg_temp"]
    others = [(name, text) for name, text in said if name != "options"]
    return f"{place}?{urlencode([*others, ('options', ' '.join(options))], quote_via=quote)}"


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
