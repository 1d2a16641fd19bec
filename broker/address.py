"""Address of a broker. It is printed without user, password and options."""

import re
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from sluice.broker.tls import Proof
from sluice.jobs.errors import BadSetting
from sluice.jobs.text.server_address import is_here

SCHEMES = ("memory", "amqp", "amqps", "redis", "rediss")
_EXAMPLE = (
    "Write memory://, amqp://user:password@host:5672/vhost or redis://host:6379/0 (amqps, rediss for TLS)."
)


class Address(Struct, frozen=True):
    """A broker's URL as it was given. ``str()`` of it is the part that may be shown."""

    url: str
    scheme: str
    place: str
    options: frozenset[str]

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}"


def weakness(url: str) -> str:
    """Return why others on the network can read or change the traffic to this broker. Empty if they cannot, or if the
    traffic never leaves this machine.

    The client itself interprets its options, because it accepts several spellings of "no" and has more than one option
    for it.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""  # Connecting to it fails and reports the fault.
    if parts.scheme == "memory" or is_here(parts.hostname or ""):
        return ""
    if parts.scheme in ("amqp", "redis"):
        return f"{parts.scheme}:// is plain text"
    proof = _asked(parts.scheme, url)
    if proof is None:
        return "its options cannot be used, so it is unknown whether they verify the server"
    if not proof.vouched:
        return "its options do not verify the server"
    return "" if proof.named else "its options accept the certificate of any host"


def _asked(scheme: str, url: str) -> Proof | None:
    if scheme == "rediss":
        from sluice.broker.redis import tls as redis  # noqa: PLC0415 - a driver is imported for who has its broker

        return redis.asked(url)
    from sluice.broker.rabbitmq import tls as rabbitmq  # noqa: PLC0415 - as it is above

    return rabbitmq.asked(url)


def parse_address(url: str, *, setting: str) -> Address:
    """Parse a broker's URL. BadSetting names ``setting`` if it is not a URL, or belongs to an unknown kind of
    broker."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = "" if parts.port is None else f":{parts.port}"
        options = frozenset(parse_qs(parts.query))
    except ValueError:
        # The reason would quote a part of the URL, which may be a part of the password.
        raise BadSetting(
            f"{setting} is not a URL: its host or port cannot be read."
            " In a password write %23 for #, %2F for / and %3F for ?.",
            advice=_EXAMPLE,
        ) from None
    if parts.scheme not in SCHEMES:
        found = f"the scheme {parts.scheme!r}" if parts.scheme else "no scheme"
        raise BadSetting(f"{setting} has {found}; known are {', '.join(SCHEMES)}.", advice=_EXAMPLE)
    if parts.scheme != "memory" and not host:
        raise BadSetting(f"{setting} names no host.", advice=_EXAMPLE)
    if parts.scheme.startswith("redis") and not re.fullmatch(r"/?|/\d+", parts.path):
        raise BadSetting(f"{setting} names the database {parts.path!r}, which is no number.", advice=_EXAMPLE)
    return Address(url=url, scheme=parts.scheme, place=f"{host}{port}{parts.path}", options=options)
