"""What Redis's client makes of the options of an address, as far as proof is concerned."""

from ssl import CERT_REQUIRED

import redis

from sluice.broker.proof import Proof


def asked(url: str) -> Proof | None:
    """None where nobody knows, for the client will not have these options. Nothing is connected to."""
    try:
        pool = redis.Redis.from_url(url).connection_pool
        connection = pool.connection_class(**pool.connection_kwargs)
    except (AttributeError, TypeError, ValueError, redis.RedisError):
        return None
    return Proof(connection.cert_reqs == CERT_REQUIRED, bool(connection.check_hostname))
