"""Proof of identity that a broker's client requires from a server before it sends anything."""

from msgspec import Struct


class Proof(Struct, frozen=True):
    """Required proof. ``vouched``: a certificate of a known authority. ``named``: a certificate with this host's
    name."""

    vouched: bool
    named: bool
