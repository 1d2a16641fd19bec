"""The one error of the embedded server."""


class EmbeddedUnavailable(Exception):
    """There is no embedded Postgres to use. The message says what happened and what to do."""
