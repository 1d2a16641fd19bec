"""Entry point for users' own programs: ``with connect() as client``."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from sluice.actors.assembly import blobs, open_ledger, telling, tracing
from sluice.actors.client import Client
from sluice.actors.settings.settings import process_settings
from sluice.actors.worker.definitions import Definitions
from sluice.jobs.observe.failpoints import arm


@contextmanager
def connect(
    *, apps: tuple[str, ...] = (), ledger_url: str | None = None, broker_url: str | None = None
) -> Iterator[Client]:
    """Yield a client that can be used until the block ends: ``with connect() as client``.

    ``apps`` are the sources of definitions, as ``--apps`` has them; with them, submissions are checked before they are
    stored. ``ledger_url`` is the Postgres database of the ledger, and ``broker_url`` the broker. Values that are not
    given come from the places that commands read: the environment, ``.env`` and ``sluice.toml``. Default: no
    definitions, and the embedded ledger of this folder. The broker is connected to at the first message.
    """
    settings = process_settings(apps=apps, ledger_url=ledger_url, broker_url=broker_url)
    arm(settings.failpoint)
    definitions = Definitions(settings) if settings.apps else None
    with tracing(settings), open_ledger(settings) as ledger, telling(settings, ledger) as tell:
        current = (lambda: definitions.current) if definitions else None
        client = Client(
            ledger, tell, current, blobs=blobs(settings), within=settings.traceparent, checks=True
        )
        with closing(client):
            yield client
