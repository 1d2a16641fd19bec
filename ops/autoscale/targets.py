"""Queues that share workers on this machine, and the bounds for these workers: ``app1,app2=1..4``."""

import re
from collections.abc import Iterable

from msgspec import Struct

from sluice.broker.messages import CONTROL
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.ops.autoscale.decision import WorkerBounds

#: Maximum number of workers on one machine. A larger number is taken for a typing error.
MOST = 1000
_BOUNDS = re.compile(r"(\d{1,4})\.\.(\d{1,4})")


class ScalingTarget(Struct, frozen=True):
    """Set of queues with the bounds for its workers."""

    queues: tuple[str, ...]
    bounds: WorkerBounds

    @property
    def name(self) -> str:
        return ",".join(self.queues)

    @property
    def apps(self) -> list[str]:
        """The queues of apps, without Sluice's own control queues."""
        return [queue for queue in self.queues if queue not in CONTROL]


def read_watches(texts: Iterable[str], catalogue: Catalogue) -> list[ScalingTarget]:
    """Parse the sets of queues. BadRequest if one cannot be parsed, if a queue does not exist, or if a queue is named
    twice.
    """
    watches = [_read(text) for text in texts]
    taken: dict[str, ScalingTarget] = {}
    for watch in watches:
        for queue in watch.queues:
            if queue not in CONTROL and queue not in catalogue:
                raise BadRequest(
                    f"There is no queue {queue}.",
                    advice=f"A queue has the name of its app; Sluice's own queues are {', '.join(CONTROL)}.",
                )
            if queue in taken:
                raise BadRequest(f"{queue} is named twice.", where=f"{taken[queue].name} and {watch.name}")
            taken[queue] = watch
    if not watches:
        raise BadRequest("No queue was named.", advice="For example --queue app1=1..4")
    return watches


def _read(text: str) -> ScalingTarget:
    listed, _, bounds = text.partition("=")
    queues = tuple(dict.fromkeys(filter(None, (part.strip() for part in listed.split(",")))))
    found = _BOUNDS.fullmatch(bounds.strip())
    if not queues or found is None:
        raise BadRequest(
            f"{text!r} cannot be read.", advice="Write --queue app1=1..4 or --queue app1,app2=0..2"
        )
    least, most = map(int, found.groups())
    if not least <= most or not 1 <= most <= MOST:
        raise BadRequest(
            f"{bounds} is no range of workers.", advice=f"The second number is from 1 to {MOST}."
        )
    return ScalingTarget(queues, WorkerBounds(least, most))
