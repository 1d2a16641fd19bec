"""Notifications: the events of a job, and the receivers that a definition names for them."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from sluice.jobs.states import State


class JobEvent(StrEnum):
    """Event of a job that receivers are notified of.

    A job has ``recovered`` if it succeeds after an event of ``TROUBLE`` that the same rule sends. ``upstream_failed``
    is an event of its own, because one failure may have thousands of descendants.
    """

    FAILED = "failed"
    LATE = "late"
    RECOVERED = "recovered"
    SUCCEEDED = "succeeded"
    UPSTREAM_FAILED = "upstream_failed"


#: Events from which a job recovers.
TROUBLE = (JobEvent.FAILED, JobEvent.LATE, JobEvent.UPSTREAM_FAILED)
#: By the terminal state that a job enters: its event. No event follows from the other terminal states: a job that is
#: cancelled, skipped or split was ended by a request or by a definition.
EVENT_OF_STATE = {
    State.SUCCEEDED: JobEvent.SUCCEEDED,
    State.FAILED: JobEvent.FAILED,
    State.FATAL: JobEvent.FAILED,
    State.TIMED_OUT: JobEvent.FAILED,
    State.EXPIRED: JobEvent.FAILED,
    State.UPSTREAM_FAILED: JobEvent.UPSTREAM_FAILED,
}

#: Format of the body of a webhook: the event as it is, or a message that Slack accepts.
BodyFormat = Literal["json", "slack"]

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Receiver(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Receiver of events: a webhook, a command or an app.

    ``webhook`` is a URL that may refer to secrets as ``${NAME}``. The process that delivers replaces them, so the
    ledger never contains them. ``command`` is run by a shell. ``app`` is the name of an app with one identifier: a job
    of it is submitted, with the id of the event as its key.
    """

    webhook: str | None = None
    command: str | None = None
    app: str | None = None
    format: BodyFormat = "json"

    @property
    def label(self) -> str:
        """Name for people. It has neither the path nor the query of a URL, which may be a secret, and only the program
        of a command."""
        if self.command is not None:
            # A word with = sets a variable, whose value may be a secret.
            return f"command {next((word for word in self.command.split() if '=' not in word), '')}".strip()
        return f"app {self.app}" if self.app else f"webhook {_place(self.webhook or '')}"


class NotifyRule(Struct, frozen=True, kw_only=True):
    """Rule that sends these events of a job to one receiver."""

    on: tuple[JobEvent, ...]
    to: Receiver


def references(text: str) -> list[str]:
    """Return the names of the secrets that a text refers to."""
    return _REFERENCE.findall(text)


def with_secrets(text: str, secret: Callable[[str], str]) -> str:
    """Return the text with each reference replaced by its secret."""
    return _REFERENCE.sub(lambda found: secret(found[1]), text)


def _place(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    return f"{scheme}://{host}" if rest and scheme in {"http", "https"} else url
