"""Queues of workers: those for Sluice's own work, and one for each app, with the app's name."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

#: Queues that carry Sluice's own work. Every other queue is an app's.
CONTROL: Final = ("planner", "groomer", "scheduler")
#: Entry in a worker's list of queues for the queues of all apps, including apps that are defined while it runs.
ALL_APPS: Final = "*"


def expand(queues: Sequence[str], apps: Iterable[str]) -> list[str]:
    """Return the queues that a worker with this list serves. An empty list stands for every queue."""
    named = queues or (*CONTROL, ALL_APPS)
    return list(dict.fromkeys(each for queue in named for each in (apps if queue == ALL_APPS else (queue,))))


def follows_apps(queues: Collection[str]) -> bool:
    """Return whether a worker with this list also serves apps that are defined while it runs."""
    return not queues or ALL_APPS in queues


def is_served(queue: str, queues: Collection[str]) -> bool:
    """Return whether a worker with this list serves the queue."""
    return not queues or queue in queues or (ALL_APPS in queues and queue not in CONTROL)
