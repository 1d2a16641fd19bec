"""Signed messages: one line before the envelope proves to the receiver that the sender has a key.

    HMAC-SHA256 <key id> <64 hexadecimal digits>\\n<the envelope, byte for byte as it is signed>

The signature is over bytes and not over JSON, so senders may write JSON in their own way. The line is in the body,
because Redis has no other place for it, and neither have dead letters that are examined a week later.

Invariants: with keys, only messages that are signed by a known key are read, and all others go to the dead letters
unread. Without keys everything is read, and a signature is ignored, so that publishers may begin to sign before
receivers require it. The first key signs and all of them verify. To replace a key, add the new one behind it, then move
the new one to the front. Remove the old one when it is no longer used. A signature proves the author of a message and
not the time: an intercepted message can be sent again. It then finds its submission in the ledger already, or jobs that
have moved on.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping

from sluice.jobs.errors import BadMessage

ALGORITHM = "HMAC-SHA256"
#: Minimum length of a secret in characters. A shorter one can be guessed by anyone with one signed message.
SECRET_LENGTH_MIN = 32
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LINE = re.compile(rb"HMAC-SHA256 ([A-Za-z0-9._-]{1,64}) ([0-9a-f]{64})\n")


class Keyring:
    """Secrets by the ids of their keys. Its ``repr`` contains no secret."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        # A hash that already contains the key is copied for each message, which is cheaper than a new one.
        self._begun = {
            id_.encode(): hmac.new(secret.encode(), digestmod=hashlib.sha256)
            for id_, secret in secrets.items()
        }
        self._first = next(iter(self._begun), None)

    def __repr__(self) -> str:
        return f"Keyring({', '.join(map(bytes.decode, self._begun))})"

    def __bool__(self) -> bool:
        return bool(self._begun)

    def sign(self, envelope: bytes) -> bytes:
        """Return the body to send. Without keys it is the envelope itself."""
        if self._first is None:
            return envelope
        return b"HMAC-SHA256 %b %b\n%b" % (self._first, self._digest(self._first, envelope), envelope)

    def open(self, body: bytes) -> bytes:
        """Return the envelope in a body. BadMessage if there are keys and none of them has signed it."""
        line = _LINE.match(body)
        if not self._begun:
            return body[line.end() :] if line else body
        if line is None:
            raise BadMessage("it is not signed, and SLUICE_MESSAGE_KEYS is set here")
        id_, signature = line.groups()
        if id_ not in self._begun:
            raise BadMessage(f"it is signed by the key {id_.decode()!r}, which is not known here")
        envelope = body[line.end() :]
        if not hmac.compare_digest(self._digest(id_, envelope), signature):
            raise BadMessage(f"its signature by the key {id_.decode()!r} is not right")
        return envelope

    def signer(self, body: bytes) -> str | None:
        """Return the id of the key that has signed a body which ``open`` has accepted. None without keys."""
        line = _LINE.match(body) if self._begun else None
        return line[1].decode() if line else None

    def _digest(self, id_: bytes, envelope: bytes) -> bytes:
        digest = self._begun[id_].copy()
        digest.update(envelope)
        return digest.hexdigest().encode()


NO_KEYS = Keyring({})


def parse_keys(text: str) -> Keyring:
    """Parse ``id:secret,id:secret``, or one pair on each line. A ValueError contains no part of a secret."""
    secrets: dict[str, str] = {}
    for number, part in enumerate(filter(None, (each.strip() for each in re.split(r"[,\n]", text))), start=1):
        id_, colon, secret = part.partition(":")
        if not (colon and _ID.fullmatch(id_)):
            raise ValueError(f"key {number} has no id before a colon, of letters, digits and . _ -")
        if id_ in secrets:
            raise ValueError(f"the key {id_!r} is given twice")
        if len(secret) < SECRET_LENGTH_MIN:
            raise ValueError(f"the secret of the key {id_!r} is shorter than {SECRET_LENGTH_MIN} characters")
        secrets[id_] = secret
    if not secrets:
        raise ValueError("it contains no key")
    return Keyring(secrets)
