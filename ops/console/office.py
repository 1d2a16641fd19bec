"""What calls have to hand."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct, field

from actors.client import Client
from jobs.catalogue import Catalogue
from ledger.connection import Ledger, Tx
from ops.cli.desk import Desk
from ops.cli.installation import Installation
from ops.console.pictures import Pictures
from ops.console.streams import Streams

T = TypeVar("T")


class Office(Struct, frozen=True, kw_only=True):
    """A desk, as commands have it, for many who ask at once."""

    desk: Desk
    installation: Installation
    streams: Streams
    pictures: Pictures = field(default_factory=Pictures)

    @property
    def catalogue(self) -> Catalogue:
        """BadRequest where no definitions were named."""
        return self.desk.catalogue

    @property
    def has_definitions(self) -> bool:
        return bool(self.desk.settings.apps)

    @property
    def ledger(self) -> Ledger:
        return self.installation.ledger

    @property
    def client(self) -> Client:
        return self.installation.client

    def ask(self, question: Callable[[Tx], T]) -> T:
        """Read something from the ledger."""
        return self.installation.ask(question)
