"""One worker process: its queues, its lease, and, if it serves the scheduler's queue, the ticks."""

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from threading import Event, Timer
from time import monotonic
from uuid import UUID, uuid4

from sluice.actors.assembly import blobs, observers, stores
from sluice.actors.client import Client
from sluice.actors.executor.batches import ClaimedBatch
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.coroutine_loop import COROUTINES_MAX
from sluice.actors.executor.execution import Execution
from sluice.actors.executor.external_work import ExternalWorkPoller
from sluice.actors.groomer import ticks
from sluice.actors.groomer.retention import Retention
from sluice.actors.notifier.notifier import Notifier
from sluice.actors.notifier.senders import CommandSender, Sender
from sluice.actors.planner.handlers import admit_one, plan_and_claim
from sluice.actors.planner.plan_attempts import PlanAttempts
from sluice.actors.scheduler.leader import Ticker
from sluice.actors.scheduler.submission_listener import SubmissionListener
from sluice.actors.settings.settings import Settings
from sluice.actors.telemetry.counters import ProcessCounters
from sluice.actors.telemetry.observers import RunObservers
from sluice.actors.worker.definitions import DefinitionReloader, Definitions
from sluice.actors.worker.handlers import HANDLERS, handle
from sluice.actors.worker.heartbeat import Heartbeat, WorkerTerms
from sluice.actors.worker.publish_buffer import PublishBuffer
from sluice.actors.worker.startup import log_start
from sluice.actors.worker.tenant_turns import TenantTurns
from sluice.broker.consumer.fair_share import FairShare
from sluice.broker.consumer.service import FollowUp, Handler, Service, serve
from sluice.broker.consumer.slots import SlotReservation, Slots
from sluice.broker.delivery import Delivery
from sluice.broker.interface import Broker
from sluice.broker.messages import CONTROL, SCHEDULER, Execute, Message, Plan, Submit, Tick, Watch
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.queues import expand, follows_apps
from sluice.jobs.observe.failpoints import Failpoint, reached
from sluice.jobs.observe.log_context import first_names
from sluice.jobs.observe.outages import NOT_SENT, missed
from sluice.jobs.runners.function.thread import is_coroutine
from sluice.jobs.text.units import counted
from sluice.ledger.database.connection import Ledger
from sluice.ledger.stats.event_counters import CounterName

_LOG = logging.getLogger("sluice.process")

#: Slots for planner and groomer messages. These are short, and two slots keep a slow one from holding up the rest.
CONTROL_SLOTS = 2
#: Slots for messages of apps with coroutines. Their handlers claim jobs and start them, which takes milliseconds.
COROUTINE_SLOTS = 2
#: Seconds before the end of the grace time at which running jobs are stopped.
STOP_BEFORE_S = 5.0
#: Seconds that the end of the process waits until admitted submissions are planned. The groomer finds the rest.
GOODBYE_S = 1.0


class Process:
    """A process that runs jobs and handlers. Start it by ``start``, or have dramatiq's supervisor start it by
    ``enlist``.

    ``queues`` is as in ``jobs.model.queues.expand``. ``kept`` has resources that nothing else closes; it is closed when
    the process has stopped.
    """

    def __init__(
        self,
        settings: Settings,
        definitions: Definitions,
        ledger: Ledger,
        broker: Broker,
        *,
        queues: Sequence[str] = (),
        threads: int,
        kept: ExitStack | None = None,
    ) -> None:
        self._settings = settings
        self._kept = kept or ExitStack()
        self._definitions, self._ledger, self._broker = definitions, ledger, broker
        self._holdings = ClaimsInFlight(lease_s=settings.lease_s)
        self._to_plan = PublishBuffer(self._plan)
        self._tenant_turns = TenantTurns(ledger)
        self.client = Client(ledger, self._send, blobs=blobs(settings), within=settings.traceparent)
        served = expand(queues, definitions.current.queues)
        # A process that serves all queues may have no app yet.
        threads = threads if not queues or any(queue not in CONTROL for queue in queues) else 0
        self._queues, self._threads = served, threads
        worker = uuid4()
        self._attempts = PlanAttempts(ledger, worker)
        self._retention = _retention(ledger, settings)
        self._observers = self._watched(settings)
        self._stores = stores(settings)
        self._running = self._runs(worker)
        self._watching = ExternalWorkPoller(ledger, self._catalogue, self._holdings, self._send)
        self._lifeline = self._lives(worker, queues, threads)
        leads = SCHEDULER in served
        self._notifier = self._notifies() if leads else None
        self._ticker = self._ticks(worker, self._notifier) if self._notifier else None
        self._service = self._serve(served, threads)
        self._reloader = DefinitionReloader(
            definitions, self._service.also_serve if follows_apps(queues) else None
        )
        self._last_call = Timer(max(settings.grace_s - STOP_BEFORE_S, 0.0), self._holdings.stop_all)
        self._last_call.daemon = True
        self._leaves_at = 0.0

    def start(self, *, coroutines: int = COROUTINES_MAX) -> None:
        """Start work in threads of this process, and up to so many coroutines at the same time."""
        self._begin(coroutines)
        self._service.start()

    def stop(self) -> None:
        """Stop in order: running jobs get the grace time, jobs that have not begun are handed back immediately."""
        self._service.stop(grace_s=self._settings.grace_s)

    def enlist(self, *, coroutines: int = COROUTINES_MAX) -> None:
        """Leave start and stop to dramatiq's supervisor. This is a child process of it."""
        self._begin(coroutines)
        self._service.enlist()

    def started(self) -> None:
        """Start to check the definitions, because the service takes messages now (see ``broker.consumer.service``)."""
        self._reloader.start()

    def stopping(self) -> None:
        """Stop the ticks and let the runs end, because the service takes no more messages."""
        in_progress = len(self._holdings.claims())
        _LOG.info(
            "stopping: %s %s in progress, with up to %g s to end",
            counted(in_progress, "run"),
            "is" if in_progress == 1 else "are",
            self._settings.grace_s,
        )
        if self._ticker:
            self._ticker.end()
        if self._notifier:
            self._notifier.end()
        self._holdings.drain()
        self._running.drain()
        self._leaves_at = monotonic() + self._settings.grace_s
        # Runs that can be stopped are stopped early enough to record that before the grace time is over.
        self._last_call.start()
        self._reloader.end()

    def stopped(self) -> None:
        """Hand back jobs that still run, and release everything. No handler runs any more, or the grace time is over
        and the process ends. Coroutines have the rest of the grace time."""
        self._running.join(max(self._leaves_at - monotonic(), 0.0))
        self._last_call.cancel()
        self._to_plan.close(within_s=GOODBYE_S)
        self._running.give_up()
        _LOG.info("stopped: %s", _named(self._running.handed_back))
        if self._stores.hooks is not None:
            self._stores.hooks.stop()
        self._observers.close()
        self._attempts.close()
        self._lifeline.end()
        self.client.close()
        self._kept.close()

    def _begin(self, coroutines: int) -> None:
        log_start(
            "worker",
            self._settings,
            self._ledger.url,
            self._definitions.known,
            f"queues {first_names(self._queues)}",
            f"{counted(self._threads, 'thread')}, up to {counted(coroutines, 'coroutine')}"
            if self._threads
            else "no jobs of apps",
        )
        if self._stores.hooks is not None:
            paths = [path for app in self._catalogue().values() for path in app.hooks]
            self._stores.hooks.of(paths)
        self._lifeline.start()
        self._running.start(coroutines=coroutines)
        self._attempts.start()
        if self._ticker:
            self._ticker.start()
        if self._notifier:
            self._notifier.start()

    def _watched(self, settings: Settings) -> RunObservers:
        looking_on = observers(settings, lambda name: self._catalogue().get(name))
        return RunObservers(self._ledger, looking_on, names=settings.log == "json")

    def _runs(self, worker: UUID) -> Execution:
        return Execution(
            self._ledger,
            self._catalogue,
            self._holdings,
            worker,
            self._send,
            stores=self._stores,
            serves=self._serves,
            observers=self._observers,
            reports=self._settings.run_reports,
        )

    def _ticks(self, worker: UUID, notifier: Notifier) -> Ticker:
        return Ticker(
            self._ledger,
            worker,
            self._send,
            period_s=self._settings.tick_s,
            submissions=SubmissionListener(self._ledger, self._send),
            looked=notifier.looked,
        )

    def _notifies(self) -> Notifier:
        ended = Event()
        commands = CommandSender(self._catalogue, self._stores.sandbox)
        sender = Sender(self._settings.notify, commands, ended)
        return Notifier(self._ledger, sender, self._send, ended, period_s=self._settings.tick_s)

    def _lives(self, worker: UUID, queues: Sequence[str], threads: int) -> Heartbeat:
        return Heartbeat(
            self._ledger,
            self._holdings,
            worker,
            terms=WorkerTerms(queues=queues, threads=threads, code=self._settings.code_version),
            give_back=self._running.give_back,
            known=lambda: self._definitions.known,
            meter=ProcessCounters(
                self._ledger,
                {**self._observers.counts(), CounterName.BLOB_LOST: lambda: self._stores.blobs.losses},
                mean_run_times=self._running.mean_run_times.news,
            ),
            health_file=self._settings.health_path,
        )

    def _serve(self, queues: list[str], threads: int) -> Service:
        handlers: Mapping[str, Handler] = {kind.actor: self._handle for kind in HANDLERS} | {
            Submit.actor: self._submit,
            Plan.actor: self._plan_and_run,
            Tick.actor: self._tick,
            Execute.actor: self._execute,
            Watch.actor: self._watch,
        }
        return serve(
            self._broker,
            handlers,
            queues,
            slots=Slots(
                control=CONTROL_SLOTS if any(queue in CONTROL for queue in queues) else 0,
                apps=threads,
                coroutines=COROUTINE_SLOTS if threads else 0,
                starts_coroutines=self._is_coroutine,
            ),
            shares=FairShare(
                lambda: self._catalogue().tenants,
                lambda name: self._catalogue().tenant_settings.of(name).weight,
            ),
            attendant=self,
        )

    def _is_coroutine(self, app: str) -> bool:
        found = self._catalogue().get(app)
        return found is not None and is_coroutine(found)

    def _handle(self, message: Message, delivery: Delivery) -> None:
        self._send(self._handled(message))

    def _plan_and_run(self, message: Message, delivery: Delivery) -> FollowUp | None:
        """Plan submissions. If a slot for jobs is free, some of the planned jobs are claimed with it and run next."""
        if not isinstance(message, Plan):
            return None
        catalogue = self._catalogue()
        for part in self._tenant_turns.in_order(catalogue, message):
            if part is message:
                return self._plan_short(catalogue, message)
            self._send(self._handled(part))
        return None

    def _plan_short(self, catalogue: Catalogue, message: Plan) -> FollowUp | None:
        """Plan the submissions of a message that has only one part."""
        asked_at = self._holdings.clock()
        slot = SlotReservation(self._service.slots.apps)
        try:
            capacity = self._running.capacity(slot.take)
            planned = plan_and_claim(self._ledger, catalogue, message, self._attempts, capacity)
            self._observers.handled(message)
            self._send(planned.messages)
        except BaseException:
            slot.release()
            raise
        if not planned.taken:
            slot.release()
            return None
        batch = ClaimedBatch(asked_at, planned.taken)
        run = partial(self._running.run_planned, catalogue, batch)
        return FollowUp(planned.taken[0].app, run, slot)

    def _tick(self, message: Message, delivery: Delivery) -> None:
        if isinstance(message, Tick):
            self._send(ticks.tick(self._ledger, self._catalogue(), message, depths=self._depths))
            self._observers.handled(message)
        self._retention.tick()

    def _depths(self, queues: Collection[str]) -> Mapping[str, int]:
        """Return how many messages wait in these queues; nothing if the broker is unreachable."""
        try:
            return {queue: self._broker.depth(queue) for queue in queues}
        except Unreachable:
            return {}

    def _submit(self, message: Message, delivery: Delivery) -> None:
        """Admit a submission, and plan it here. Small ones are planned together with others that arrive meanwhile."""
        if isinstance(message, Submit):
            admission = admit_one(self._ledger, self._catalogue(), message)
            self._observers.handled(message)
            if admission.is_small:
                self._to_plan.publish(admission.plans)
                self._plan(self._to_plan.held_up())
            else:
                self._plan(admission.plans)

    def _handled(self, message: Message) -> Sequence[Message]:
        messages = handle(self._ledger, self._definitions.current, message, self._attempts)
        self._observers.handled(message)
        return messages

    def _plan(self, messages: Sequence[Message]) -> None:
        """Handle the Plan messages of submissions that were admitted here."""
        for message in messages:
            self._send(self._handled(message))

    def _catalogue(self) -> Catalogue:
        return self._definitions.current

    def _serves(self, app: str) -> bool:
        return self._service.serves(app)

    def _execute(self, message: Message, delivery: Delivery) -> None:
        if isinstance(message, Execute):
            self._running.execute(message, delivery)

    def _watch(self, message: Message, delivery: Delivery) -> None:
        if isinstance(message, Watch):
            self._watching.watch(message, delivery)

    def _send(self, messages: Sequence[Message]) -> None:
        """Publish notifications. They may be lost, because the ledger has everything that they name."""
        if not messages:
            return
        try:
            reached(Failpoint.PUBLISH_BEGINS)
            self._broker.publish(messages)
            reached(Failpoint.PUBLISH_RETURNED)
        except Unreachable as error:
            missed(error, NOT_SENT, len(messages))


def _retention(ledger: Ledger, settings: Settings) -> Retention:
    return Retention(
        ledger,
        blobs(settings),
        settings.keep_history_s,
        keep_jobs_s=settings.keep_jobs_s,
        tick_s=settings.tick_s,
    )


def _named(handed_back: Sequence[str]) -> str:
    """Return the log text about the jobs that were handed back."""
    if not handed_back:
        return "no job was handed back"
    number = len(handed_back)
    return (
        f"{counted(number, 'job')} {'was' if number == 1 else 'were'} handed back: {first_names(handed_back)}"
    )
