"""Order of the doctor's probes, and the time limit of each.

``within`` limits the time of a call that may hang.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from threading import Thread
from typing import TypeVar

from sluice.actors.assembly import ledger_address, stores
from sluice.actors.settings.settings import Settings
from sluice.actors.settings.sources import FoundSettings
from sluice.actors.settings.tls import require
from sluice.broker import probe
from sluice.broker.health import RabbitmqHealth
from sluice.broker.messages import CONTROL
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import SluiceError
from sluice.jobs.text.server_address import without_password
from sluice.jobs.text.units import counted
from sluice.ledger.database.connection import Ledger
from sluice.ledger.notifications.dead_letters import delivery_counts
from sluice.ledger.reads import fleet, schedule_states, server_health
from sluice.ledger.schema import migrate
from sluice.ops.console.server import ListenAddress
from sluice.ops.observe.doctor import brokers, console, sandbox, tls, workers
from sluice.ops.observe.doctor import ledger as ledgers
from sluice.ops.observe.doctor import settings as settings_
from sluice.ops.observe.doctor.finding import Finding, of_error, ok, out_of_reach, warn
from sluice.ops.operations.context import OperatorContext

#: Maximum seconds of a probe. Drivers give up earlier and report the cause.
LOOK_S_MAX = 15.0
#: Maximum seconds of the consistency check, so that it does not keep the ledger busy for longer.
AGREEMENT_S_MAX = 3.0
_DEFINITIONS = "definitions"


class Examination:
    """Run of all probes. Each probe has a time limit and may use the results of earlier probes. ``clock`` is the local
    clock.
    """

    def __init__(
        self,
        context: OperatorContext,
        *,
        listen: ListenAddress,
        management: str | None = None,
        look_s_max: float = LOOK_S_MAX,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._context = context
        self._settings: Settings = context.settings
        self._listen = listen
        self._management = management
        self._look_s_max = look_s_max
        self._clock = clock
        self._catalogue: Catalogue | None = None
        self._ledger: Ledger | None = None

    def findings(self, found: FoundSettings) -> Iterator[Finding]:
        """Yield all findings. ``found`` has the sources from which the settings were read."""
        yield from settings_.judge(found)
        yield from tls.judge(self._settings)
        yield from self._look(_DEFINITIONS, self._definitions)
        yield from self._look(ledgers.ABOUT, self._at_ledger)
        if self._ledger is not None:
            yield from self._look(ledgers.ABOUT, partial(self._in_ledger, self._ledger))
            yield from self._look(ledgers.ABOUT, partial(self._agreement, self._ledger))
            yield from self._look(workers.ABOUT, partial(self._crew, self._ledger))
        yield from self._look(brokers.ABOUT, self._broker)
        yield from self._look(console.ABOUT, lambda: console.judge(self._listen, self._settings))
        yield from self._look(sandbox.ABOUT, lambda: sandbox.judge(stores(self._settings).sandbox))

    def _look(self, about: str, probe: Callable[[], Iterable[Finding]]) -> Iterable[Finding]:
        """Return the findings of a probe. An error or a timeout is a finding too."""
        try:
            return within(self._look_s_max, lambda: list(probe()))
        except TookTooLong as error:
            return [out_of_reach(about, error.what, error.advice)]
        except SluiceError as error:
            return list(of_error(about, error))

    def _definitions(self) -> Iterator[Finding]:
        if not self._settings.apps:
            yield warn(
                _DEFINITIONS, "None were given.", "Name a source with --apps FILE, or set SLUICE_APPS."
            )
            return
        self._catalogue = self._context.catalogue
        sources = ", ".join(without_password(each) if "://" in each else each for each in self._settings.apps)
        yield ok(_DEFINITIONS, f"{counted(len(self._catalogue), 'app')}, and no fault.", where=sources)

    def _at_ledger(self) -> Iterator[Finding]:
        """Check that a ledger exists and has the schema of this version. Only such a ledger is used for further
        probes.
        """
        home = self._settings.home
        if not self._context.has_ledger:
            yield ok(ledgers.ABOUT, f"An embedded ledger is created under {home} when a command needs it.")
            return
        url = self._context.keep(ledger_address(self._settings))
        found = migrate.schema(url)
        yield ledgers.schema(found, where=self._where)
        ledger = Ledger(url, connections=2)
        self._context.closing(ledger.close)
        if found and found.is_ours:
            self._ledger = ledger
        else:
            yield from ledgers.server(ledger.transact(server_health.server), where=self._where)

    def _in_ledger(self, ledger: Ledger) -> Iterator[Finding]:
        before = self._clock()
        server = ledger.transact(server_health.server)
        after = self._clock()
        yield from ledgers.server(server, where=self._where)
        yield ledgers.clocks(server, before, after, where=self._where)
        opened = ledger.transact(server_health.long_transactions)
        yield from ledgers.transactions(opened, server.now, where=self._where)
        yield from ledgers.tables(ledger.transact(server_health.tables), where=self._where)
        yield from ledgers.notifications(ledger.transact(delivery_counts), where=self._where)

    def _agreement(self, ledger: Ledger) -> Iterator[Finding]:
        found = server_health.contradictions(ledger, within_s=AGREEMENT_S_MAX)
        yield from ledgers.agreement(found, where=self._where)

    def _crew(self, ledger: Ledger) -> Iterator[Finding]:
        kept = [each.app for each in ledger.transact(lambda tx: schedule_states.schedules(tx, retired=False))]
        defined = [each.app for each in self._catalogue.schedules.values()] if self._catalogue else []
        yield from workers.judge(
            ledger.transact(fleet.workers),
            ledger.transact(server_health.ready),
            sorted({*kept, *defined}),
            code=self._settings.code_version,
        )
        known = self._context.definitions.known if self._catalogue else None
        yield from workers.drift(
            ledger.transact(fleet.workers), ledger.transact(lambda tx: fleet.differing(tx, known))
        )
        digests = {name: app.digest for name, app in (self._catalogue or {}).items()}
        yield from workers.definitions(ledger.transact(server_health.runs), digests)

    def _broker(self) -> Iterator[Finding]:
        settings = self._settings
        require(settings, "SLUICE_BROKER_URL")
        tls.require_management(settings, self._management)
        found = probe.examine(
            settings.broker_url,
            [*CONTROL, *(self._catalogue.queues if self._catalogue else ())],
            namespace=settings.broker_namespace,
            queue_type=settings.queue_type,
            management=self._management,
        )
        if found is None:
            yield ok(brokers.ABOUT, "It exists in the process that uses it, and reaches no other process.")
        elif isinstance(found, RabbitmqHealth):
            yield from brokers.rabbitmq(found)
        else:
            yield from brokers.redis(found)

    @property
    def _where(self) -> str:
        url = self._settings.ledger_url
        return f"embedded under {self._settings.home}" if url is None else without_password(url)


T = TypeVar("T")


class TookTooLong(SluiceError):
    """Raised when a call has not ended in time. The call is not stopped."""

    exit_code = 3


def within(limit_s: float, run: Callable[[], T]) -> T:
    """Run a function in a thread, and return its result or raise its error. TookTooLong if it has not ended in time. A
    function that hangs ends with the process.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            results.append(run())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=attempt, name="sluice-doctor", daemon=True)
    thread.start()
    thread.join(limit_s)
    if errors:
        raise errors[0]
    if not results:
        raise TookTooLong(
            f"There is no answer within {limit_s:g} s.",
            advice="Check whether it is running, and what it waits for.",
        )
    return results[0]
