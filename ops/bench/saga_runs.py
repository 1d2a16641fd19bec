"""Cost of a step of a saga, compared with the cost of any commit: flights of steps that do nothing."""

import threading
from collections.abc import Sequence
from functools import partial
from statistics import median
from uuid import uuid4

from sluice.actors.executor import transactions
from sluice.actors.executor.assignments import assign
from sluice.actors.executor.job_services import RunJournal
from sluice.actors.planner import handlers
from sluice.broker.messages import Execute, Message, Plan
from sluice.jobs.api.decorators import saga
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import SluiceError
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import Submission
from sluice.jobs.runners.saga_run import SagaRunner
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.spec import Saga
from sluice.jobs.sagas.step import Step
from sluice.ledger import fixtures
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle import submissions
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ledger.recovery import leases
from sluice.ops.bench.sample import Figures, took_s

STEPS = 50
#: Number of flights. Flights and commits alternate, so that the machine is equally busy for both.
FLIGHTS = 10
LEASE_S = 600.0


class NoOpStep(Step):
    """Step that does nothing and has nothing to undo."""

    def do(self, flight: Flight) -> None:
        """Do nothing. The only effect of the step is its entry in the journal."""


@saga(job_id="{n}", autofill_values={"n": f"0:{FLIGHTS}"})
def idle(flight: Flight) -> Sequence[Step]:  # noqa: ARG001  # Each flight is the same.
    return [NoOpStep()] * STEPS


def fly(ledger_url: str) -> Figures:
    """Return the time of a step with its journal entry, and of a commit of one row, each as the median over all
    flights.
    """
    catalogue, ledger = load([__name__]), Ledger(ledger_url, steady=True)
    steps_s, commits_s = [], []
    for job in claimed_jobs(ledger, catalogue, "idle"):
        steps_s.append(took_s(partial(_flown, ledger, catalogue, job)) / STEPS)
        commits_s.append(took_s(lambda: [ledger.transact(fixtures.touch) for _ in range(STEPS)]) / STEPS)
    ledger.close()
    step_s, commit_s = median(steps_s), median(commits_s)
    return {"step_ms": step_s * 1000, "commit_ms": commit_s * 1000, "commits_a_step": step_s / commit_s}


def claimed_jobs(ledger: Ledger, catalogue: Catalogue, app: str) -> list[ClaimedJob]:
    """Submit all jobs of an app without parents, and claim them for one worker."""
    wanted, worker = Submission(app=app, id="bench"), uuid4()
    ledger.transact(lambda tx: submissions.receive(tx, [wanted]))
    hints: Sequence[Message] = handlers.plan(ledger, catalogue, Plan(submissions=("bench",)))
    ledger.transact(
        lambda tx: leases.join(tx, worker, host="bench", pid=0, queues=[], threads=1, lease_s=LEASE_S)
    )
    turns = tuple(turn for hint in hints if isinstance(hint, Execute) for turn in hint.jobs)
    return transactions.claim(ledger, catalogue, Execute(app=app, jobs=turns), worker)[0]


def _flown(ledger: Ledger, catalogue: Catalogue, job: ClaimedJob) -> None:
    app, stop = catalogue[job.app], threading.Event()
    if not isinstance(app.saga, Saga):
        raise SluiceError(f"{app.name} is no saga.")
    outcome = SagaRunner(app.saga).run(
        assign(app, job), stop=stop, journal=RunJournal(ledger, job, stop), report=lambda *_: None
    )
    if outcome.ending is not Ending.DONE:
        raise SluiceError(f"A flight of empty steps has failed: {outcome.error}")
