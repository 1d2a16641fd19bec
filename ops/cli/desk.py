"""What a command has to hand, made when it is first asked for: settings, definitions, ledger, broker.

The imports stand where something is first needed: drivers for a database and three brokers take longer to
import than most commands take to run.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from actors.logs import set_up_logs
from actors.settings import Settings
from jobs.errors import BadRequest
from jobs.submission import Submission
from ops.cli.output import Output

if TYPE_CHECKING:
    from actors.client import Client
    from broker.carrier import Broker
    from broker.messages import Message
    from jobs.catalogue import Catalogue
    from ledger.connection import Ledger, Tx

T = TypeVar("T")


class Desk:
    """A context manager: leaving it closes what was opened."""

    def __init__(self, settings: Settings, output: Output, *, verbose: bool) -> None:
        self.settings = settings
        self.output = output
        self._opened = ExitStack()
        set_up_logs(settings.log, verbose=verbose)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    @cached_property
    def catalogue(self) -> "Catalogue":
        """The user's definitions; BadRequest where none were named."""
        from jobs.catalogue import load

        if not self.settings.apps:
            raise BadRequest(
                "No definitions were given.",
                advice="Name a source with --apps FILE, or set SLUICE_APPS.",
            )
        settings = self.settings
        return load(settings.apps, default_job_id=settings.default_job_id, delimiter=settings.key_delimiter)

    @cached_property
    def ledger(self) -> "Ledger":
        from actors.assembly import open_ledger

        return self._opened.enter_context(open_ledger(self.settings))

    @cached_property
    def ledger_url(self) -> str:
        """Where the ledger is, whatever its schema."""
        from actors.assembly import ledger_address

        return self._opened.enter_context(ledger_address(self.settings))

    @cached_property
    def broker(self) -> "Broker":
        from actors.assembly import connect_broker

        return self._opened.enter_context(connect_broker(self.settings))

    @cached_property
    def client(self) -> "Client":
        from actors.client import Client

        return Client(self.ledger, self._publish)

    @property
    def shares_a_broker(self) -> bool:
        """Whether other processes can be reached; the in-process broker of another one cannot."""
        return not self.settings.broker_url.startswith("memory:")

    def ask(self, question: "Callable[[Tx], T]") -> T:
        """Read something from the ledger."""
        return self.ledger.transact(question)

    def check(self, submission: Submission) -> None:
        """Say at once what the planner would refuse it for. It reads the definitions alone, no ledger."""
        from planner.walk import Walk

        Walk(self.catalogue, 0, submission)

    def _publish(self, messages: "Sequence[Message]") -> None:
        """Where nobody can be told, the groomer of whoever works looks by itself."""
        if self.shares_a_broker:
            self.broker.publish(messages)
