"""What a command has to hand, made when it is first asked for: settings, definitions, ledger, broker."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from types import TracebackType
from typing import Self

from actors.assembly import connect_broker, ledger_address, load_catalogue, open_ledger
from actors.client import Client
from actors.settings import Settings
from broker.carrier import Broker
from broker.messages import Message
from jobs.catalogue import Catalogue
from jobs.errors import BadRequest
from jobs.submission import Submission
from ledger.connection import Ledger
from ops.cli.output import Output
from planner.walk import Walk


class Desk:
    """A context manager: leaving it closes what was opened."""

    def __init__(self, settings: Settings, output: Output) -> None:
        self.settings = settings
        self.output = output
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    @cached_property
    def catalogue(self) -> Catalogue:
        """The user's definitions; BadRequest where the command line named none."""
        if not self.settings.apps:
            raise BadRequest(
                "No definitions were given.",
                advice="Name a source with --apps FILE, or set SLUICE_APPS.",
            )
        return load_catalogue(self.settings)

    @cached_property
    def ledger(self) -> Ledger:
        return self._opened.enter_context(open_ledger(self.settings))

    @cached_property
    def ledger_url(self) -> str:
        """Where the ledger is, whatever its schema."""
        return self._opened.enter_context(ledger_address(self.settings))

    @cached_property
    def broker(self) -> Broker:
        return self._opened.enter_context(connect_broker(self.settings))

    @cached_property
    def client(self) -> Client:
        return Client(self.ledger, self._publish)

    def check(self, submission: Submission) -> None:
        """Say at once what the planner would refuse it for. It reads the definitions alone, no ledger."""
        Walk(self.catalogue, 0, submission)

    def _publish(self, messages: Sequence[Message]) -> None:
        """The in-process broker of another process cannot be reached; its groomer looks by itself."""
        if not self.settings.broker_url.startswith("memory:"):
            self.broker.publish(messages)
