"""The only error of the embedded server."""


class EmbeddedUnavailable(Exception):
    """Raised when no embedded Postgres can be used. The message has the cause and the remedy."""
