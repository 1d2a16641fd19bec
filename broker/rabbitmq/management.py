"""Facts from RabbitMQ's management API: alarms by node, and the effective policies of each queue.

No work depends on the API, and often it cannot be reached from the machines that run jobs. So a failure is a result
too, with its reason.
"""

import base64
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import Request, urlopen

import msgspec

from sluice.broker.address import Address
from sluice.broker.health import Management, Node, Ruled
from sluice.broker.log import one_line

ANSWER_S_MAX = 3.0
#: Usual ports of the API, without TLS and with it.
PORT, TLS_PORT = 15672, 15671
_QUEUE_COLUMNS = "name,policy,operator_policy,effective_policy_definition"


class _Silent(Exception):
    """Raised when the API gives no answer. The text is the reason."""


def examine(address: Address, queues: Sequence[str], place: str | None) -> Management:
    """Return the facts from the API. ``place`` is its address. Default: its usual port on the broker's host."""
    place = (place or _usual_place(address)).rstrip("/")
    vhost = quote(unquote(urlsplit(address.url).path.removeprefix("/") or "/"), safe="")
    try:
        nodes = [_node(each) for each in _asked(address, f"{place}/api/nodes")]
        found = _asked(address, f"{place}/api/queues/{vhost}?columns={_QUEUE_COLUMNS}")
    except _Silent as why:
        return Management(place, why=str(why))
    ours = set(queues)
    ruled = [
        _ruled(each) for each in found if each["name"] in ours and each.get("effective_policy_definition")
    ]
    return Management(place, nodes=nodes, ruled=ruled)


def _usual_place(address: Address) -> str:
    host = urlsplit(address.url).hostname or "localhost"
    host = f"[{host}]" if ":" in host else host
    return f"https://{host}:{TLS_PORT}" if address.scheme == "amqps" else f"http://{host}:{PORT}"


def _asked(address: Address, url: str) -> Any:
    parts = urlsplit(address.url)
    who = f"{unquote(parts.username or 'guest')}:{unquote(parts.password or 'guest')}"
    request = Request(url, headers={"Authorization": f"Basic {base64.b64encode(who.encode()).decode()}"})  # noqa: S310 - an address that the operator gave
    try:
        with urlopen(request, timeout=ANSWER_S_MAX) as answer:  # noqa: S310 - an address that the operator gave
            return msgspec.json.decode(answer.read())
    except HTTPError as error:
        with error:
            hint = ": the user has no permission" if error.code in (401, 403) else ""
        raise _Silent(f"it answers {error.code}{hint}") from None
    except (URLError, OSError, HTTPException, ValueError) as error:
        raise _Silent(one_line(getattr(error, "reason", error))) from None


def _node(found: dict[str, Any]) -> Node:
    return Node(
        str(found["name"]),
        running=bool(found.get("running")),
        memory_alarm=bool(found.get("mem_alarm")),
        disk_alarm=bool(found.get("disk_free_alarm")),
    )


def _ruled(found: dict[str, Any]) -> Ruled:
    policies = " and ".join(str(found[word]) for word in ("policy", "operator_policy") if found.get(word))
    return Ruled(str(found["name"]), policies, dict(found["effective_policy_definition"]))
