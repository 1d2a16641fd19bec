"""The composition root: from settings to what a process or a command works with."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache, partial

from msgspec.structs import replace

from sluice.actors import doorbell, transport
from sluice.actors.onlooker import Onlooker
from sluice.actors.settings import Settings
from sluice.actors.teller import Teller
from sluice.broker.carrier import Broker
from sluice.broker.connect import connect
from sluice.broker.messages import Message
from sluice.broker.owner import ID_CHARS, Owner
from sluice.jobs.address import in_schema, named, without_password
from sluice.jobs.app import App
from sluice.jobs.blobs import BlobStore
from sluice.jobs.errors import BadSetting, ForeignBroker, SluiceError, Unreachable
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.runners.sandbox import Sandbox
from sluice.jobs.runners.stores import Stores
from sluice.ledger import installation, migrate
from sluice.ledger.connection import Ledger
from sluice.ledger.embedded import EmbeddedUnavailable, has_postgres, start

_LOG = logging.getLogger("sluice.broker")

#: A process that does nothing for so many leases in the middle of a transaction has its transaction ended.
IDLE_LEASES = 4
#: What carries messages, by the scheme of its address, as traces call it.
_SYSTEMS = {
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "redis": "redis",
    "rediss": "redis",
    "memory": "memory",
}


class NoLedger(SluiceError):
    """None is configured, and none can be started here."""

    exit_code = 3


@contextmanager
def ledger_address(settings: Settings, *, may_make: bool = True) -> Iterator[str]:
    """Where the ledger is, for as long as the block lasts; without one configured an embedded Postgres is started, and
    made if it ``may_make`` one."""
    if settings.ledger_url is not None:
        transport.require(settings, "SLUICE_LEDGER_URL")
        yield _with_names(settings.ledger_url, settings)
        return
    if not may_make and not has_postgres(settings.home):
        raise NoLedger(
            "There is no ledger here yet.",
            where=str(settings.home.absolute()),
            advice="`sluice up`, `sluice run` and `sluice submit` make one. Or set SLUICE_LEDGER_URL to a Postgres.",
        )
    try:
        postgres = start(settings.home)
    except EmbeddedUnavailable as error:
        raise NoLedger(str(error), advice="Set SLUICE_LEDGER_URL to a Postgres that runs.") from error
    with postgres:
        yield _with_names(postgres.url, settings)


def _with_names(url: str, settings: Settings) -> str:
    return named(in_schema(url, settings.ledger_schema), settings.process)


@contextmanager
def open_ledger(
    settings: Settings, *, connections: int = 8, steady: bool = False, may_make: bool = True
) -> Iterator[Ledger]:
    """The ledger at this code's schema; an embedded one is made if there is none yet and ``may_make`` is set. A process
    that works for long is ``steady``."""
    with ledger_address(settings, may_make=may_make) as url:
        migrate.require(url, make=may_make and settings.ledger_url is None)
        idle_s_max = IDLE_LEASES * settings.lease_s
        ledger = Ledger(url, connections=connections, idle_s_max=idle_s_max, steady=steady)
        try:
            yield ledger
        finally:
            ledger.close()


def stores(settings: Settings) -> Stores:
    """Where programs and blobs are, and what is around processes. Nothing is opened before a job has use for it.

    What this machine keeps of ours is hidden from a process that is kept away from anything: the socket of the
    embedded ledger is there.
    """
    kept = [str(each.absolute()) for each in (settings.home, settings.programs) if each is not None]
    return Stores(
        programs=ProgramStore(
            (settings.programs or settings.home / "programs").absolute(), settings.program_rules
        ),
        blobs=blobs(settings),
        sandbox=Sandbox(replace(settings.fence, hidden=(*settings.fence.hidden, *kept))),
        # Half of the time between the moment at which the lease is not trusted any more and its end.
        grace_s_max=settings.lease_s / 6,
    )


def blobs(settings: Settings) -> BlobStore:
    return BlobStore(settings.blobs_url or str((settings.home / "blobs").absolute()))


@contextmanager
def connect_broker(settings: Settings, owner: Owner | None = None) -> Iterator[Broker]:
    """The broker, as yet unasked. With an ``owner`` it is compared with the mark there at its first use."""
    transport.require(settings, "SLUICE_BROKER_URL")
    broker = connect(
        settings.broker_url,
        namespace=settings.broker_namespace,
        queue_type=settings.queue_type,
        keys=settings.message_keys,
        owner=owner,
    )
    try:
        yield broker
    finally:
        broker.close()


def owner_of(settings: Settings, ledger: Ledger) -> Owner | None:
    """This installation as brokers know it; None if its messages never leave the process."""
    if not is_shared(settings):
        return None
    identity = ledger.transact(installation.identity)
    return Owner(identity.hex[:ID_CHARS], without_password(ledger.url))


@contextmanager
def own_broker(settings: Settings, ledger: Ledger) -> Iterator[Broker]:
    """The broker of a process that works. ForeignBroker if it is another installation's. One that is away is compared
    when it is back."""
    with connect_broker(settings, owner_of(settings, ledger)) as broker:
        try:
            broker.require_own()
        except ForeignBroker:
            raise
        except Unreachable as error:
            _LOG.warning("the broker is away, and compared when it is back: %s", error)
        yield broker


def onlookers(settings: Settings, definition: Callable[[str], App | None]) -> list[Onlooker]:
    """Who looks on while this process works, by the definitions of the moment."""
    found = [_tracing(settings)] if settings.trace else []
    if settings.lineage:
        # A client of HTTP takes longer to load than many a command takes to run.
        from sluice.actors.lineage.lineage import lineage_of  # noqa: PLC0415 - it is loaded where it is asked for, and only there

        found.append(lineage_of(settings.lineage, definition))
    return found


@contextmanager
def tracing(settings: Settings) -> Iterator[None]:
    """A process that does no work has what it submits traced, for as long as the block lasts."""
    if not settings.trace:
        yield
        return
    made = _tracing(settings)
    try:
        yield
    finally:
        made.close()


def _tracing(settings: Settings) -> Onlooker:
    try:
        # Nobody who does not trace is to pay for it, or to have it installed.
        from sluice.actors.tracing import Tracing  # noqa: PLC0415 - it is loaded where it is asked for, and only there
    except ModuleNotFoundError as error:
        raise BadSetting(
            f"SLUICE_TRACE: there is no {error.name} here, which traces need.",
            advice="Install it: pip install 'sluice-jobs[trace]', or set SLUICE_TRACE=off",
        ) from None
    return Tracing(_SYSTEMS[settings.broker_url.partition(":")[0]], settings.trace_headers)


@contextmanager
def telling(settings: Settings, ledger: Ledger) -> Iterator[Callable[[Sequence[Message]], None]]:
    """How who does no work tells those who do. The broker is connected to when there is something to tell; at the end
    of the block all has been told that can be."""
    with ExitStack() as opened:

        @cache
        def teller() -> Teller:
            if not is_shared(settings):
                return opened.enter_context(closing(Teller(partial(doorbell.ring, ledger))))
            broker = opened.enter_context(connect_broker(settings, owner_of(settings, ledger)))
            return opened.enter_context(closing(Teller(broker.publish)))

        def tell(messages: Sequence[Message]) -> None:
            teller().tell(messages)

        yield tell


def is_shared(settings: Settings) -> bool:
    """Whether other processes can be reached by the broker; the in-process one of another cannot."""
    return not settings.broker_url.startswith("memory:")
