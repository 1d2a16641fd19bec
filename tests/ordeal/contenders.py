"""Contenders: the command of each worker, and the module that publishes."""

import sys
from pathlib import Path

from msgspec import Struct

_FOLDER = Path(__file__).parent
_DRAMATIQ = ("dramatiq", "tests.ordeal.on_dramatiq", "--processes", "1", "--threads", "4")
_CELERY = (
    *("celery", "-A", "tests.ordeal.on_celery", "worker", "--concurrency", "4", "--queues", "ordeal"),
    *("--loglevel", "warning"),
)
_SLUICE = ("actors.worker", "--threads", "4", "--apps", str(_FOLDER / "on_sluice.py"))


class Contender(Struct, frozen=True, kw_only=True):
    """One system in one configuration.

    ``careful``: configured to be as safe as possible; Sluice has no other configuration. ``brokers`` are the brokers on
    which it differs from the others.
    """

    name: str
    worker: tuple[str, ...]
    publisher: str
    careful: bool = True
    has_ledger: bool = False
    brokers: tuple[str, ...] = ("rabbit", "redis")

    @property
    def worker_command(self) -> list[str]:
        return [sys.executable, "-m", *self.worker]

    @property
    def publisher_command(self) -> list[str]:
        return [sys.executable, "-m", self.publisher]


CONTENDERS = (
    Contender(name="sluice", worker=_SLUICE, publisher="tests.ordeal.on_sluice", has_ledger=True),
    Contender(name="dramatiq", worker=_DRAMATIQ, publisher="tests.ordeal.on_dramatiq", careful=False),
    Contender(
        name="dramatiq-confirmed",
        worker=_DRAMATIQ,
        publisher="tests.ordeal.on_dramatiq",
        brokers=("rabbit",),
    ),
    Contender(name="celery", worker=_CELERY, publisher="tests.ordeal.on_celery", careful=False),
    Contender(name="celery-late", worker=_CELERY, publisher="tests.ordeal.on_celery"),
)
