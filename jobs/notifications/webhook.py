"""Delivery of an event to a webhook, by HTTP POST.

The rules for addresses are those for programs (``jobs.programs.fetch.allowed_hosts``): private and reserved addresses
are refused unless a setting names the host. A redirect is a failure, so a receiver cannot lead to such an address.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import SplitResult, urlsplit

from sluice.jobs.programs.errors import FetchStopped, Unfit
from sluice.jobs.programs.fetch.download import Patience, StopSignal
from sluice.jobs.programs.fetch.http_fetch import WebRequest, exchange

#: Setting with the hosts outside of the public internet that may receive events.
NOTIFY_HOSTS: Final = "SLUICE_NOTIFY_HOSTS"
#: Seconds for one attempt, from the resolution of the name to the status line.
TIMEOUT_S: Final = 10.0
#: Header with the id of the event, by which a receiver recognises repeated deliveries.
EVENT_HEADER: Final = "Sluice-Event-Id"


def post(
    url: str,
    body: bytes,
    event_id: str,
    hosts: tuple[str, ...],
    stop: StopSignal,
    *,
    timeout_s: float = TIMEOUT_S,
) -> str | None:
    """Post the event. Return None if the receiver has accepted it, and else the reason, without the path of the URL."""
    parts = _parts(url)
    if parts is None:
        return "the URL of the webhook is not an http or https URL"
    headers: Mapping[str, str] = {"Content-Type": "application/json", EVENT_HEADER: event_id}
    request = WebRequest(parts, headers, hosts, NOTIFY_HOSTS, "POST", body)
    try:
        with exchange(request, Patience(stop, timeout_s)) as answer:
            status = answer.status
    except FetchStopped:
        return "the process was stopped"
    except Unfit as error:
        return error.what
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return None
    if status < HTTPStatus.BAD_REQUEST:
        return f"the receiver answers {status}; redirects are not followed"
    return f"the receiver answers {status}"


def _parts(url: str) -> SplitResult | None:
    """Return the parts of a URL, or None if it is no usable one. It may come from a secret, which nothing has checked
    before."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        return None
    return parts if usable and "@" not in parts.netloc and url.isprintable() else None
