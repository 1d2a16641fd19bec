"""Composition root: creates the objects that a process or a command needs from its settings."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache, partial
from time import monotonic

from msgspec.structs import replace

from sluice.actors.settings import tls
from sluice.actors.settings.settings import Settings
from sluice.actors.telemetry.observers import Observer
from sluice.actors.worker import notify_listener
from sluice.actors.worker.publish_buffer import PublishBuffer
from sluice.broker.connect import connect
from sluice.broker.interface import Broker, Carrier
from sluice.broker.messages import Message
from sluice.broker.owner import ID_CHARS, InstallationOwner
from sluice.jobs.blobs import BlobStore
from sluice.jobs.catalogue.sources.functions import find_object
from sluice.jobs.errors import BadSetting, ForeignBroker, SluiceError, Unreachable
from sluice.jobs.model.app import App
from sluice.jobs.observe.outages import OWNER_UNCHECKED, OutageLog, missed
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.runners.function.started_hooks import StartedHooks
from sluice.jobs.runners.process.sandbox import Sandbox
from sluice.jobs.runners.resources import Stores
from sluice.jobs.text.server_address import in_schema, named, without_password
from sluice.ledger import installation
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.connection_pool import ConnectionLimits
from sluice.ledger.embedded import EmbeddedUnavailable, has_postgres, start
from sluice.ledger.schema import migrate

#: Number of leases after which Postgres ends a transaction in which its process does nothing.
IDLE_LEASES = 4
#: Name of the messaging system in traces, by the scheme of the broker's address.
_SYSTEMS = {
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "redis": "redis",
    "rediss": "redis",
    "memory": "memory",
}


class NoLedger(SluiceError):
    """Raised when no ledger is configured and none can be started here."""

    exit_code = 3


@contextmanager
def ledger_address(settings: Settings, *, may_make: bool = True) -> Iterator[str]:
    """Yield the address of the ledger for the duration of the block.

    If none is configured, an embedded Postgres is started. If that does not exist either, it is created, or NoLedger is
    raised if ``may_make`` is false.
    """
    if settings.ledger_url is not None:
        tls.require(settings, "SLUICE_LEDGER_URL")
        yield _with_names(settings.ledger_url, settings)
        return
    if not may_make and not has_postgres(settings.home):
        raise NoLedger(
            "There is no ledger here yet.",
            where=str(settings.home.absolute()),
            advice="`sluice up`, `sluice run` and `sluice submit` create one. Or set SLUICE_LEDGER_URL to a Postgres.",
        )
    try:
        postgres = start(settings.home)
    except EmbeddedUnavailable as error:
        raise NoLedger(str(error), advice="Set SLUICE_LEDGER_URL to a running Postgres.") from error
    with postgres:
        yield _with_names(postgres.url, settings)


def _with_names(url: str, settings: Settings) -> str:
    return named(in_schema(url, settings.ledger_schema), settings.process)


@contextmanager
def open_ledger(
    settings: Settings,
    *,
    connections: int | ConnectionLimits = 8,
    steady: bool = False,
    may_make: bool = True,
) -> Iterator[Ledger]:
    """Open the ledger and require the schema of this code. ``steady`` is for a process that works for a long time.

    An embedded ledger is created if it does not exist yet and ``may_make`` is true. BadSetting if the pooler leads to
    another ledger.
    """
    with ledger_address(settings, may_make=may_make) as url:
        migrate.require(url, make=may_make and settings.ledger_url is None)
        idle_s_max = IDLE_LEASES * settings.lease_s
        pooler_url = _pooler_address(settings)
        ledger = Ledger(
            url,
            connections=connections,
            idle_s_max=idle_s_max,
            steady=steady,
            pooler_url=pooler_url,
        )
        try:
            if pooler_url is not None:
                _require_same(ledger, pooler_url)
            yield ledger
        finally:
            ledger.close()


def _pooler_address(settings: Settings) -> str | None:
    """Return the address of the pooler, or None if there is none."""
    if settings.ledger_pooler_url is None:
        return None
    tls.require(settings, "SLUICE_LEDGER_POOLER_URL")
    if settings.ledger_url is None:
        raise BadSetting(
            "SLUICE_LEDGER_POOLER_URL is set and SLUICE_LEDGER_URL is not.",
            advice="Set SLUICE_LEDGER_URL to the address of the database behind the pooler.",
        )
    return named(settings.ledger_pooler_url, settings.process)


def _require_same(ledger: Ledger, pooler_url: str) -> None:
    """Raise BadSetting if the pooler leads to another ledger, for example because a command line names its own."""
    with ledger.apart() as (_, begin):
        identity = installation.identity(begin())
    if not installation.is_behind(ledger, identity):
        raise BadSetting(
            "SLUICE_LEDGER_POOLER_URL leads to another ledger than SLUICE_LEDGER_URL.",
            where=without_password(pooler_url),
            advice="Correct the wrong address, or remove SLUICE_LEDGER_POOLER_URL.",
        )


def stores(settings: Settings) -> Stores:
    """Return the stores of programs and blobs, and the sandbox for processes. Nothing is opened before a job needs it.

    The sandbox hides the folders of this installation, because they contain the socket of the embedded ledger.
    """
    kept = [str(each.absolute()) for each in (settings.home, settings.programs) if each is not None]
    return Stores(
        programs=ProgramStore(
            (settings.programs or settings.home / "programs").absolute(), settings.program_rules
        ),
        blobs=blobs(settings),
        sandbox=Sandbox(replace(settings.fence, hidden=(*settings.fence.hidden, *kept))),
        # Half of the time between the moment when the lease is no longer trusted and its end.
        grace_s_max=settings.lease_s / 6,
        hooks=StartedHooks(find_object, [settings.hooks] if settings.hooks else []),
    )


def blobs(settings: Settings) -> BlobStore:
    return BlobStore(settings.blobs_url or str((settings.home / "blobs").absolute()))


@contextmanager
def connect_broker(settings: Settings, owner: InstallationOwner | None = None) -> Iterator[Broker]:
    """Yield the broker without connecting to it. If an ``owner`` is given, it is compared with the broker's mark at the
    first use."""
    tls.require(settings, "SLUICE_BROKER_URL")
    broker = connect(
        settings.broker_url,
        namespace=settings.broker_namespace,
        queue_type=settings.queue_type,
        keys=settings.message_keys,
        owner=owner,
        process=settings.process,
    )
    if isinstance(broker, Carrier):
        broker.outages = _outages_of(without_password(settings.broker_url))
    try:
        yield broker
    finally:
        broker.close()


@cache
def _outages_of(broker: str) -> OutageLog:
    """Return the log of a broker's outages: one for the process, which may have several connections to it."""
    return OutageLog(f"the broker {broker}", monotonic)


def owner_of(settings: Settings, ledger: Ledger) -> InstallationOwner | None:
    """Return the identity of this installation for brokers, or None if its messages never leave the process."""
    if not is_shared(settings):
        return None
    identity = ledger.transact(installation.identity)
    return InstallationOwner(identity.hex[:ID_CHARS], without_password(ledger.url))


@contextmanager
def own_broker(settings: Settings, ledger: Ledger) -> Iterator[Broker]:
    """Yield the broker of a process that runs jobs. ForeignBroker if it belongs to another installation. A broker that
    is unreachable is compared when it is back."""
    with connect_broker(settings, owner_of(settings, ledger)) as broker:
        try:
            broker.require_own()
        except ForeignBroker:
            raise
        except Unreachable as error:
            missed(error, OWNER_UNCHECKED)
        yield broker


def observers(settings: Settings, definition: Callable[[str], App | None]) -> list[Observer]:
    """Return the observers of this process (traces, lineage). ``definition`` returns the current definition of an
    app."""
    found = [_tracing(settings)] if settings.trace else []
    if settings.lineage:
        # Imported only here, because loading an HTTP client takes longer than many commands run.
        from sluice.actors.telemetry.openlineage.reporter import lineage_of  # noqa: PLC0415 - it is loaded where it is asked for, and only there

        found.append(lineage_of(settings.lineage, definition))
    return found


@contextmanager
def tracing(settings: Settings) -> Iterator[None]:
    """While the block lasts, trace the submissions of a process that runs no jobs."""
    if not settings.trace:
        yield
        return
    made = _tracing(settings)
    try:
        yield
    finally:
        made.close()


def _tracing(settings: Settings) -> Observer:
    try:
        # Without traces, OpenTelemetry is neither loaded nor required.
        from sluice.actors.telemetry.tracing import Tracing  # noqa: PLC0415 - it is loaded where it is asked for, and only there
    except ModuleNotFoundError as error:
        raise BadSetting(
            f"SLUICE_TRACE: {error.name}, which traces need, is not installed.",
            advice="Install it: pip install 'sluice-jobs[trace]', or set SLUICE_TRACE=off",
        ) from None
    return Tracing(_SYSTEMS[settings.broker_url.partition(":")[0]], settings.trace_headers)


@contextmanager
def telling(settings: Settings, ledger: Ledger) -> Iterator[Callable[[Sequence[Message]], None]]:
    """Yield the function by which a process that runs no jobs notifies processes that do.

    The broker is connected to at the first message. The end of the block waits until every message was sent or has
    failed.
    """
    with ExitStack() as opened:

        @cache
        def publish_buffer() -> PublishBuffer:
            if not is_shared(settings):
                return opened.enter_context(
                    closing(PublishBuffer(partial(notify_listener.notify_through, ledger)))
                )
            broker = opened.enter_context(connect_broker(settings, owner_of(settings, ledger)))
            return opened.enter_context(closing(PublishBuffer(broker.publish)))

        def tell(messages: Sequence[Message]) -> None:
            publish_buffer().publish(messages)

        yield tell


def is_shared(settings: Settings) -> bool:
    """Return whether the broker reaches other processes. The in-memory broker of another process cannot be reached."""
    return not settings.broker_url.startswith("memory:")
