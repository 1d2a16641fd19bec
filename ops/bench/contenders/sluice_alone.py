"""Courses of Sluice that are about a worker, or about what else the ledger has."""

from collections.abc import Callable, Mapping
from contextlib import closing

from actors import planner
from broker.connect import connect
from broker.messages import Plan
from jobs.catalogue import load
from jobs.submission import Submission
from ledger import submissions
from ledger.connection import Ledger
from ops.bench.contenders.sluice_desk import APPS, command, environment
from ops.bench.ground import Ground
from ops.bench.sample import Figures
from ops.bench.starting import started


def _start(ground: Ground) -> Figures:
    """The job is planned here, so that a message for it is all that a worker has to find."""
    ground.marks()
    wanted = Submission(app="bench_flat", key="0", id="start")
    with closing(Ledger(ground.ledger_url)) as ledger, closing(connect(ground.broker_url)) as broker:
        ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
        broker.publish(planner.plan(ledger, load([APPS]), Plan(submissions=("start",))))
    return started(ground, command(processes=1), environment(ground))


COURSES: Mapping[str, Callable[[Ground], Figures]] = {"start": _start}
