"""Senders: one attempt to deliver an event to its receiver."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

import msgspec

from sluice.actors.settings.settings import NotifySettings
from sluice.actors.settings.sources import OF_A_FILE
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.model.submission import Submission
from sluice.jobs.notifications import command
from sluice.jobs.notifications.body import EventBody, encoded, link_to
from sluice.jobs.notifications.rules import with_secrets
from sluice.jobs.notifications.webhook import post
from sluice.jobs.runners.command.environment import is_withheld
from sluice.jobs.runners.process.sandbox import Sandbox
from sluice.jobs.schedules.schedule import iso
from sluice.ledger.notifications.deliveries import DueDelivery


class CommandSender:
    """Runs commands, each in the ``sandbox``. A command that is not among the definitions is refused: the ledger, from
    which deliveries come, may be written to by processes that may not run commands here."""

    def __init__(self, catalogue: Callable[[], Catalogue], sandbox: Sandbox) -> None:
        self._catalogue = catalogue
        self._sandbox = sandbox

    def run(self, text: str, body: EventBody, stop: Event, environment: Mapping[str, str]) -> str | None:
        """Run a command. Return the reason why it has not accepted the event, or None."""
        if text not in self._catalogue().notify_commands:
            return "the command is not in the definitions of the process that delivers"
        return command.run(text, body, self._sandbox, stop, environment)


class Sender:
    """Sender to webhooks and commands. ``environment`` has the secrets that webhooks refer to."""

    def __init__(
        self,
        settings: NotifySettings,
        commands: CommandSender,
        stop: Event,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._settings = settings
        self._commands = commands
        self._stop = stop
        self._environment = environment

    def send(self, delivery: DueDelivery) -> str | None:
        """Send an event. Return the reason why the receiver has not accepted it, or None."""
        body = self.body_of(delivery)
        if delivery.target.command is not None:
            return self._commands.run(delivery.target.command, body, self._stop, self._environment)
        try:
            url = with_secrets(delivery.target.webhook or "", self._secret)
        except MissingSecret as error:
            return str(error)
        return post(url, encoded(body, delivery.target.format), body.id, self._settings.hosts, self._stop)

    def body_of(self, delivery: DueDelivery) -> EventBody:
        """Return the event of a delivery as receivers get it."""
        return EventBody(
            id=str(delivery.event_id),
            event=delivery.event,
            app=delivery.app,
            key=delivery.key,
            submission=delivery.submission,
            state=delivery.state,
            error=delivery.error,
            link=link_to(self._settings.console_url, delivery.app, delivery.key),
            attempt=delivery.round + 1,
            at=iso(delivery.at),
        )

    def submission_of(self, delivery: DueDelivery) -> Submission:
        """Return the submission of the app that gets the event. Its id is that of the event, and so is its key."""
        body = self.body_of(delivery)
        kwargs = {"notification": msgspec.to_builtins(body)}
        return Submission(app=delivery.target.app or "", key=body.id, id=body.id, kwargs=kwargs)

    def _secret(self, name: str) -> str:
        """Return a secret: the variable, or the text of the file that the variable with ``_FILE`` names. The ledger may
        hold a name that no check has seen, so settings of Sluice itself are refused here too."""
        path = self._environment.get(name + OF_A_FILE)
        if is_withheld(name):
            raise MissingSecret(f"{name} is a setting of Sluice itself, which no receiver gets")
        if text := self._environment.get(name):
            return text
        if not path:
            raise MissingSecret(f"neither {name} nor {name}{OF_A_FILE} is set in the process that delivers")
        try:
            return Path(path).read_text().removesuffix("\n")
        except (OSError, UnicodeDecodeError):
            raise MissingSecret(f"the file that {name}{OF_A_FILE} names cannot be read") from None


class MissingSecret(Exception):
    """Raised if a receiver refers to a secret that this process does not have."""
