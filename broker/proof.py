"""What a broker's client asks of whoever answers, before it tells him anything."""

from msgspec import Struct


class Proof(Struct, frozen=True):
    """``vouched``: a certificate that an authority known here vouches for. ``named``: that it is this host's."""

    vouched: bool
    named: bool
