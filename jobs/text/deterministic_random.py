"""Deterministic random numbers: the same text always draws the same number, so that a replay draws it, too."""

import hashlib


def fraction(text: str) -> float:
    """Return a number in [0, 1) that depends only on the text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest()) / 2**56
