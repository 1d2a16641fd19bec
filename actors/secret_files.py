"""Files with secrets that settings name: keys and passwords. They give access to the servers of this installation."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qs, unquote, urlsplit

from sluice.actors.found import PREFIX

#: Secret files in a Postgres address and in the environment of libpq. An authority's certificate is not secret.
_OF_POSTGRES = re.compile(r"[?&](?:sslkey|passfile|servicefile)=([^&]*)")
_IN_ENVIRONMENT = ("PGSSLKEY", "PGPASSFILE", "PGSERVICEFILE", "CREDENTIALS_DIRECTORY")
#: Secret files in a broker's address, and in the dictionary that RabbitMQ's address may contain. The file of a
#: certificate also has the key if no key file is named, and often if one is.
_OF_BROKERS = ("ssl_keyfile", "ssl_certfile")
_IN_SSL_OPTIONS = ("keyfile", "certfile")
_FILE = "file:"


def named(texts: Mapping[str, str], apps: Sequence[str]) -> Iterator[str]:
    """Yield each path as it is written in the settings, the environment, and the sources of definitions."""
    yield from filter(None, [of_keys(texts.get(f"{PREFIX}MESSAGE_KEYS", ""))])
    yield from filter(None, map(texts.get, _IN_ENVIRONMENT))
    # Searched as a text and not parsed, because libpq accepts addresses that URL parsers do not.
    yield from filter(None, map(unquote, _OF_POSTGRES.findall(texts.get(f"{PREFIX}LEDGER_URL", ""))))
    for url in (texts.get(f"{PREFIX}BROKER_URL", ""), *apps):
        yield from _of_broker(url)


def of_keys(text: str) -> str | None:
    """Return the path of the file with the message keys, or None if they are not in a file."""
    return text.removeprefix(_FILE) if text.startswith(_FILE) else None


def _of_broker(url: str) -> Iterator[str]:
    """Yield the secret files of a broker's address. An invalid address has none; connecting to it reports the fault."""
    try:
        words = parse_qs(urlsplit(url).query)
    except ValueError:
        return
    for name in _OF_BROKERS:
        yield from words.get(name, ())
    for text in words.get("ssl_options", ()):
        yield from _in_ssl_options(text)


def _in_ssl_options(text: str) -> Iterator[str]:
    try:
        options = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return
    if isinstance(options, dict):
        yield from (str(options[name]) for name in _IN_SSL_OPTIONS if options.get(name))
