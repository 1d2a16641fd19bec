"""Duration and outcome of jobs, as a test defines them. Steps of sagas are called as they are."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from sluice.actors.executor.assignments import assign
from sluice.actors.executor.job_services import user_transaction
from sluice.actors.executor.own_successes import own_success
from sluice.actors.results import RunAnswers
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import SluiceError
from sluice.jobs.model.job import Assignment, Ending, Outcome
from sluice.jobs.own_success import OwnSuccess
from sluice.jobs.runners import runner_for
from sluice.jobs.runners.output_blobs import with_stored_result
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.results import returned
from sluice.jobs.runners.saga_run import call
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.spec import Saga
from sluice.jobs.simulated import Doing, Took
from sluice.ledger.database.connection import Ledger
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.work import Effort

#: Seconds that a job takes if the test does not define it.
ORDINARY_S = 1.0


class ScriptedWork:
    """Work as a test defines it. ``doing`` is by app, or for all apps."""

    def __init__(
        self,
        catalogue: Callable[[], Catalogue],
        doing: Mapping[str, Doing] | Doing,
        stores: Stores,
        ledger: Ledger,
    ) -> None:
        self._catalogue = catalogue
        self._doing = doing
        self._stores = stores
        self._ledger = ledger

    def effort(self, claimed: ClaimedJob) -> Effort:
        try:
            assignment = assign(self._catalogue().app(claimed.app), claimed)
        except SluiceError as error:
            why = error.reason
            return Effort(0.0, lambda: Outcome(ending=Ending.ERROR, error=why))
        took = self._took(assignment)
        if assignment.timeout_s is not None and took.seconds > assignment.timeout_s:
            late = Outcome(ending=Ending.TIMED_OUT, error=f"It took longer than {assignment.timeout_s:g} s.")
            return Effort(assignment.timeout_s, lambda: late)
        return Effort(took.seconds, lambda: self._end(claimed, assignment, took))

    def seconds_of(self, claimed: ClaimedJob) -> float:
        """Return the seconds that each call of a step takes."""
        return self._took(assign(self._catalogue().app(claimed.app), claimed)).seconds

    def _took(self, assignment: Assignment) -> Took:
        doing = self._doing
        said = doing.get(assignment.name.app, ORDINARY_S) if isinstance(doing, Mapping) else doing
        if callable(said):
            said = said(assignment)
        return said if isinstance(said, Took) else Took(float(said))

    def _end(self, claimed: ClaimedJob, assignment: Assignment, took: Took) -> Outcome:
        if took.error is not None:
            return Outcome(ending=Ending.ERROR, error=took.error)
        outcome = self._run(claimed, assignment) if took.real else returned(took.result)
        return with_stored_result(outcome, assignment, self._stores.blobs)

    def _run(self, claimed: ClaimedJob, assignment: Assignment) -> Outcome:
        return runner_for(assignment.app, self._stores).run(
            replace(
                assignment,
                answers=RunAnswers(
                    self._ledger, self._catalogue, self._stores.blobs, claimed, assignment.ids
                ),
                success=self._success(claimed),
            ),
            stop=threading.Event(),
            report=_unheard,
            transaction=partial(user_transaction, self._ledger),
            acknowledge=_unheard,
        )

    def _success(self, claimed: ClaimedJob) -> OwnSuccess:
        find = "SELECT coalesce(worker::text, '') FROM job WHERE id = %(job)s"
        (worker,) = self._ledger.transact(lambda tx: tx.column(find, job=claimed.id))
        return own_success(self._ledger, claimed, worker)


class OpenSky:
    """Caller of sagas' steps. A step's do or undo is called when the time that it takes is over. A process that dies
    before that has not called it.
    """

    def __init__(self, work: ScriptedWork) -> None:
        self._work = work

    def takes_off(self, claimed: ClaimedJob, saga: Saga) -> None:
        """Do nothing. This class does not count steps."""

    def begin(self, _: ClaimedJob, function: Callable[..., Any], flight: Flight) -> Callable[[], object]:
        return lambda: call(function, flight)

    def end(self, call: Callable[[], object]) -> object:
        return call()

    def rest_s(self, _: FaultSource, __: ClaimedJob) -> float:
        return 0.0

    def takes_s(self, claimed: ClaimedJob) -> float:
        return self._work.seconds_of(claimed)


def _unheard(*_: object) -> None:
    """Ignore progress and partitions. Progress has no viewer in virtual time, and all partitions are recorded in the
    end.
    """
