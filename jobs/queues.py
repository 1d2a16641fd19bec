"""Queues of workers: those of Sluice itself, and one for each app, of the same name."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

#: The queues that carry Sluice's own work; every other queue is an app's.
CONTROL: Final = ("planner", "groomer", "scheduler")
#: In a worker's list of queues: the queues of all apps, also of apps that are defined while it runs.
ALL_APPS: Final = "*"


def expand(queues: Sequence[str], apps: Iterable[str]) -> list[str]:
    """Return the queues that a worker with this list serves; an empty list stands for every queue."""
    named = queues or (*CONTROL, ALL_APPS)
    return list(dict.fromkeys(each for queue in named for each in (apps if queue == ALL_APPS else (queue,))))


def follows_apps(queues: Collection[str]) -> bool:
    """Return whether a worker with this list also serves apps that are defined while it runs."""
    return not queues or ALL_APPS in queues


def is_served(queue: str, queues: Collection[str]) -> bool:
    """Return whether a worker with this list serves the queue."""
    return not queues or queue in queues or (ALL_APPS in queues and queue not in CONTROL)
