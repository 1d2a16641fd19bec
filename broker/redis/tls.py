"""Proof of identity that Redis's client requires with the options of an address."""

from ssl import CERT_REQUIRED

import redis

from sluice.broker.tls import Proof


def asked(url: str) -> Proof | None:
    """Return the required proof, or None if the client rejects these options. No connection is made."""
    try:
        pool = redis.Redis.from_url(url).connection_pool
        connection = pool.connection_class(**pool.connection_kwargs)
    except (AttributeError, TypeError, ValueError, redis.RedisError):
        return None
    return Proof(connection.cert_reqs == CERT_REQUIRED, bool(connection.check_hostname))
