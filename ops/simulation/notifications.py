"""Notifier in virtual time. Its receivers accept every event, and record it. Nothing is sent over the network."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from threading import Event
from typing import Any

import msgspec
from msgspec import Struct

from sluice.actors.notifier.notifier import Notifier
from sluice.actors.notifier.senders import CommandSender, Sender
from sluice.actors.settings.settings import NotifySettings
from sluice.jobs.model.submission import JSON, Submission
from sluice.jobs.notifications.body import encoded
from sluice.jobs.notifications.rules import JobEvent, Receiver
from sluice.jobs.runners.process.sandbox import Sandbox
from sluice.ledger.notifications.deliveries import DueDelivery
from sluice.ops.simulation.installation import SimulatedInstallation
from sluice.ops.simulation.mortal_ledger import SimulatedDeath
from sluice.ops.simulation.ticks import TICK


class RecordedNotification(Struct, frozen=True, kw_only=True):
    """Notification that a receiver has accepted, ``at_s`` seconds after the beginning.

    ``receiver`` is as in the definitions: secrets in its URL are not replaced. ``body`` is the JSON that a webhook gets
    in its format, that a command gets on standard input, or that an app gets in its kwarg ``notification``.
    """

    at_s: float
    event: JobEvent
    app: str
    key: str
    receiver: Receiver
    body: JSON


class SimulatedNotifier:
    """Real notifier, whose attempts are made at once and recorded in ``recorded``."""

    def __init__(self, installation: SimulatedInstallation, sandbox: Sandbox) -> None:
        self._installation = installation
        self._sender = _RecordingSender(installation, sandbox)
        self._notifier = Notifier(
            installation.ledger,
            self._sender,
            installation.send,
            Event(),
            period_s=TICK.total_seconds(),
            pool=_CallingThread(),
        )

    @property
    def recorded(self) -> list[RecordedNotification]:
        return [*self._sender.recorded]

    def deliver(self) -> None:
        """Deliver all notifications that are due. If the process dies, the rest is delivered later."""
        with suppress(SimulatedDeath), self._installation.ledger.by("the notifier"):
            while self._notifier.step():
                pass


class _RecordingSender(Sender):
    """Sender that records each notification instead of sending it."""

    def __init__(self, installation: SimulatedInstallation, sandbox: Sandbox) -> None:
        super().__init__(NotifySettings(), CommandSender(lambda: installation.catalogue, sandbox), Event())
        self.recorded: list[RecordedNotification] = []
        self._agenda = installation.agenda

    def send(self, delivery: DueDelivery) -> None:
        self._record(delivery)

    def submission_of(self, delivery: DueDelivery) -> Submission:
        self._record(delivery)
        return super().submission_of(delivery)

    def _record(self, delivery: DueDelivery) -> None:
        body = encoded(self.body_of(delivery), delivery.target.format)
        self.recorded.append(
            RecordedNotification(
                at_s=self._agenda.elapsed_s,
                event=delivery.event,
                app=delivery.app,
                key=delivery.key,
                receiver=delivery.target,
                body=msgspec.json.decode(body),
            )
        )


class _CallingThread(Executor):
    """Executor that calls each function at once, in the thread that submits it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done
