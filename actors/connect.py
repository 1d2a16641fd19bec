"""The way in for programs of one's own: ``with connect() as client``."""

from collections.abc import Iterator
from contextlib import contextmanager

from sluice.actors.assembly import open_ledger, telling, tracing
from sluice.actors.client import Client
from sluice.actors.definitions import Definitions
from sluice.actors.settings import process_settings
from sluice.jobs.places import arm


@contextmanager
def connect(
    *, apps: tuple[str, ...] = (), ledger_url: str | None = None, broker_url: str | None = None
) -> Iterator[Client]:
    """A client for as long as the block lasts. What is not given here is read from where commands read it: the
    environment, ``.env`` and ``sluice.toml``; where they say nothing it is the embedded ledger of this folder.

    The broker is connected to when there is something to tell.
    """
    settings = process_settings(apps=apps, ledger_url=ledger_url, broker_url=broker_url)
    arm(settings.crash_at)
    definitions = Definitions(settings) if settings.apps else None
    with tracing(settings), open_ledger(settings) as ledger, telling(settings, ledger) as tell:
        current = (lambda: definitions.current) if definitions else None
        yield Client(ledger, tell, current, within=settings.traceparent)
