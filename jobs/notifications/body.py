"""Body of a notification: the event as JSON, or a message in the format of a chat."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

import msgspec
from msgspec import Struct

from sluice.jobs.notifications.rules import BodyFormat, JobEvent

#: Characters of an error in a chat message.
_CHAT_ERROR_MAX = 500

_SENTENCES: Mapping[JobEvent, str] = {
    JobEvent.FAILED: "has failed",
    JobEvent.LATE: "is late",
    JobEvent.RECOVERED: "has recovered",
    JobEvent.SUCCEEDED: "has succeeded",
    JobEvent.UPSTREAM_FAILED: "cannot run, because a job that it needs has failed",
}


class EventBody(Struct, frozen=True, kw_only=True):
    """Event of a job, as a receiver gets it.

    ``id`` is the id of the event: a delivery that is repeated has the same one. ``state`` is the state of the job when
    the event occurred, ``attempt`` the number of its round, from 1. ``error`` is the error of that round. ``link``
    leads to the job in the console, if its address is known. ``submission`` is set if the rule belongs to one.
    """

    id: str
    event: JobEvent
    app: str
    key: str
    submission: str | None
    state: str
    error: str | None
    link: str | None
    attempt: int
    at: str


def link_to(console_url: str | None, app: str, key: str) -> str | None:
    """Return the address of a job in the console, or None if the address of the console is not known."""
    if console_url is None:
        return None
    return f"{console_url.rstrip('/')}/jobs/{quote(app, safe='')}/{quote(key, safe='')}"


def encoded(body: EventBody, form: BodyFormat) -> bytes:
    """Return the body in a format, as JSON."""
    return msgspec.json.encode(_FORMATS[form](body))


def _slack(body: EventBody) -> dict[str, object]:
    """Return a message of a Slack webhook. Text of jobs is escaped, so that it cannot mention people or add links."""
    name = _escaped(f"{body.app}/{body.key}")
    title = f"<{body.link}|{name}>" if body.link else name
    lines = [f"*{title}* {_SENTENCES[body.event]}"]
    if body.error:
        lines.append(f"```{_escaped(body.error[:_CHAT_ERROR_MAX])}```")
    lines.append(f"state {body.state}, attempt {body.attempt}, event {body.id}")
    return {"text": "\n".join(lines)}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "'")


_FORMATS: Mapping[BodyFormat, Callable[[EventBody], object]] = {"json": lambda body: body, "slack": _slack}
