"""Definitions that are stored in Redis: ``redis://user:password@host:port/db/key``, or ``rediss://`` for TLS.

The key holds JSON as in a file, or it is a hash: app → JSON of that app. Options follow a ``?``, as in a broker's
address. In a key, and in a password, ``?``, ``#`` and ``@`` are written ``%3F``, ``%23`` and ``%40``.
"""

from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

import redis
from msgspec import Struct
from redis.backoff import NoBackoff
from redis.retry import Retry

from sluice.broker.log import one_line
from sluice.jobs.catalogue.sources.remote import Stored, Unread

CONNECT_S_MAX = 3.0
ANSWER_S_MAX = 5.0
_EXAMPLE = "write redis://host:6379/0/key (rediss for TLS)"


def fetch(address: str) -> Stored | Unread:
    """Return the definitions at the address, or why they cannot be read. No answer contains the password."""
    try:
        place = _parse(address)
        with _connect(place.server) as client:
            return _read(client, place.key)
    except _Unusable as error:
        return Unread(str(error))
    except redis.AuthenticationError:
        return Unread("Redis does not know the user or the password; correct the address")
    except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
        return Unread(f"Redis does not answer: {_reason(error)}; start it, or correct the address")
    except redis.RedisError as error:
        return Unread(f"Redis refuses: {_reason(error)}; correct the address, or the user's rights")


class _Unusable(ValueError):
    """Raised when the address, or the data there, is unusable."""


class _Place(Struct, frozen=True):
    """Location of definitions. ``server`` is a URL as redis-py reads it."""

    server: str
    key: bytes


def _parse(address: str) -> _Place:
    """Parse an address. An error repeats nothing of it, because any part may belong to the password."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _Unusable(f"its host or port cannot be read; {_EXAMPLE}") from None
    database, _, key = parts.path.removeprefix("/").partition("/")
    if parts.scheme not in {"redis", "rediss"}:
        raise _Unusable(f"definitions are not read from {parts.scheme}://; {_EXAMPLE}")
    if not host:
        raise _Unusable(f"it names no host; {_EXAMPLE}")
    if not (database.isascii() and database.isdigit()):
        raise _Unusable(f"its database is no number; {_EXAMPLE}")
    if not key:
        raise _Unusable(f"it names no key; {_EXAMPLE}")
    if parts.fragment:
        raise _Unusable("it has a '#', which has no meaning here; write %23 in a key or password")
    return _Place(urlunsplit(parts._replace(path=f"/{database}")), unquote_to_bytes(key))


def _connect(server: str) -> Any:
    try:
        client: Any = redis.Redis.from_url(
            server,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=ANSWER_S_MAX,
            socket_connect_timeout=CONNECT_S_MAX,
        )
        # Unknown options are detected only when a connection is created.
        client.connection_pool.connection_class(**client.connection_pool.connection_kwargs)
    except (TypeError, ValueError) as error:
        raise _Unusable(f"its options cannot be used: {_reason(error)}") from None
    return client


def _read(client: Any, key: bytes) -> Stored:
    kind = client.type(key).decode()
    if kind == "string":
        return _text(client.get(key) or b"")
    if kind == "hash":
        return {_text(app): _text(words) for app, words in client.hgetall(key).items()}
    if kind == "none":
        raise _Unusable("there is no such key; SET it to the JSON text, or HSET it app by app")
    raise _Unusable(f"the key holds a {kind}; it must hold a text, or a hash app -> JSON")


def _reason(error: Exception) -> str:
    return one_line(error).rstrip(".")


def _text(read: bytes) -> str:
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Unusable(f"the text is not UTF-8 at byte {error.start}") from None
