"""Where a server is, as people may see it, and whether a network lies between."""

from ipaddress import ip_address


def without_password(url: str) -> str:
    """The address for people: no user, no password, no options."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def is_here(host: str) -> bool:
    """Whether what is said to this host never leaves the machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
