"""Contenders that can take part, by name."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec

from sluice.jobs.errors import BadRequest
from sluice.ops.bench.contenders import celery, dbos, dramatiq, pgqueuer, procrastinate
from sluice.ops.bench.contenders.sluice import SLUICE
from sluice.ops.bench.environment import Contender

OURS = "sluice"
CONTENDERS: Mapping[str, Contender] = {
    OURS: SLUICE,
    "dramatiq": dramatiq.CONFIRMED,
    "dramatiq-unconfirmed": dramatiq.UNCONFIRMED,
    "celery": celery.CELERY,
    "pgqueuer": pgqueuer.PGQUEUER,
    "procrastinate": procrastinate.PROCRASTINATE,
    "dbos": dbos.DBOS,
}


def check(against: Iterable[str]) -> None:
    """Check the names of contenders. BadRequest if a contender is unknown or not installed."""
    for name in against:
        if name not in CONTENDERS:
            raise BadRequest(f"There is no contender {name!r}; there are {', '.join(CONTENDERS)}.")
        if missing := [module for module in CONTENDERS[name].modules if find_spec(module) is None]:
            raise BadRequest(f"{name} needs {', '.join(missing)}.", advice="pip install 'sluice-jobs[bench]'")
