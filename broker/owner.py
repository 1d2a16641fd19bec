"""The installation that a virtual host of RabbitMQ, or a Redis database, belongs to.

Two installations (two ledgers) in one place would take each other's messages. So the first installation that connects
leaves a mark there, and every process compares it with its own when it connects. Leaving it is one atomic operation of
the broker, so of two first users one is refused. A broker that lost everything is marked again by the next process that
connects.
"""

from typing import Self

from msgspec import Struct

from sluice.jobs.errors import ForeignBroker

#: Maximum characters of a ledger's address in a mark. RabbitMQ quotes a mark in an error of 255 bytes. Of these, 125
#: and the name of the virtual host are used by the error itself.
LEDGER_CHARS_MAX = 80
#: Hexadecimal digits of an installation's identity that are kept: 12, enough to distinguish 16 million of them.
ID_CHARS = 12


class InstallationOwner(Struct, frozen=True):
    """Identity of an installation. ``id`` is the beginning of its identity in the ledger; ``ledger`` is the ledger's
    address without its password, for people."""

    id: str
    ledger: str

    @classmethod
    def read(cls, text: str) -> Self:
        id, _, ledger = text.partition(" ")
        return cls(id, ledger)

    @property
    def text(self) -> str:
        """Mark of this installation. Characters that RabbitMQ would not quote unchanged are left out."""
        kept = "".join(char for char in self.ledger if char.isascii() and char.isprintable() and char != "'")
        return f"{self.id} {kept[:LEDGER_CHARS_MAX]}"

    @property
    def marks(self) -> tuple[str, str]:
        """The mark, and the shortest mark that certainly belongs to this installation."""
        return self.text, self.id

    def require(self, found: str, *, where: str) -> None:
        """Raise ForeignBroker if the mark that was found at the broker is another installation's."""
        other = self.read(found)
        if other.id != self.id:
            raise self.refused_by(other, where=where)

    def refused_by(self, other: "InstallationOwner", *, where: str) -> ForeignBroker:
        """Return the error that names both installations."""
        return ForeignBroker(
            other.text,
            f"The broker belongs to another installation: that of the ledger {other} and not of {self}.",
            where=where,
            advice="Use another virtual host or Redis database, or set SLUICE_BROKER_NAMESPACE. If this installation"
            " replaces the other one, stop that one and run `sluice broker take`.",
        )

    def __str__(self) -> str:
        return f"{self.ledger or 'of an unknown address'} (installation {self.id or 'unknown'})"
