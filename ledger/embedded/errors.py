"""The one error of the embedded server."""


class EmbeddedUnavailable(Exception):  # noqa: N818 - named for what the caller meets
    """There is no embedded Postgres to use. The message says what happened and what to do."""
