"""Senders of notifications to receivers of this machine."""

import threading
from collections.abc import Mapping

from sluice.actors.notifier.senders import CommandSender, Sender
from sluice.actors.settings.settings import NotifySettings
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.policy.sandbox_settings import Fence
from sluice.jobs.runners.process.sandbox import Sandbox


def sender_of(
    catalogue: Catalogue, stop: threading.Event, environment: Mapping[str, str], fence: Fence | None = None
) -> Sender:
    """Return a sender that runs the commands of this catalogue."""
    settings = NotifySettings(hosts=("127.0.0.1",), console_url="https://sluice.example.org")
    commands = CommandSender(lambda: catalogue, Sandbox(fence or Fence()))
    return Sender(settings, commands, stop, environment)
