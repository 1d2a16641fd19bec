"""Where a server is, as people may see it."""


def without_password(url: str) -> str:
    """The address for people: no user, no password, no options."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
