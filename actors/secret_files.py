"""The files with secrets that settings name: keys and passwords, by which others would be let in where we are."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qs, unquote, urlsplit

from sluice.actors.found import PREFIX

#: What libpq is told by an address, and by the environment. An authority's certificate is no secret.
_OF_POSTGRES = re.compile(r"[?&](?:sslkey|passfile|servicefile)=([^&]*)")
_IN_ENVIRONMENT = ("PGSSLKEY", "PGPASSFILE", "PGSERVICEFILE", "CREDENTIALS_DIRECTORY")
#: What a broker's client is told by an address, and by the dictionary in RabbitMQ's. A certificate's file holds the key
#: as well where no other is named, and often where one is.
_OF_BROKERS = ("ssl_keyfile", "ssl_certfile")
_IN_SSL_OPTIONS = ("keyfile", "certfile")
_FILE = "file:"


def named(texts: Mapping[str, str], apps: Sequence[str]) -> Iterator[str]:
    """Each path as it is written, by the texts of settings and environment and the sources of definitions."""
    yield from filter(None, [of_keys(texts.get(f"{PREFIX}MESSAGE_KEYS", ""))])
    yield from filter(None, map(texts.get, _IN_ENVIRONMENT))
    # This address is not taken apart: libpq takes many that are none to others.
    yield from filter(None, map(unquote, _OF_POSTGRES.findall(texts.get(f"{PREFIX}LEDGER_URL", ""))))
    for url in (texts.get(f"{PREFIX}BROKER_URL", ""), *apps):
        yield from _of_broker(url)


def of_keys(text: str) -> str | None:
    """Where the keys of messages are, if they are in a file."""
    return text.removeprefix(_FILE) if text.startswith(_FILE) else None


def _of_broker(url: str) -> Iterator[str]:
    """None of an address at fault: whoever connects says what is wrong with it."""
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
