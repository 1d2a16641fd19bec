"""For the tests of those who write jobs and sagas. ``run`` is one run of one job, as a worker would run it, with
nothing around it: no ledger, no parents, no second try::

    from sluice.testing import run

    def test_a_report_can_be_made():
        assert run("pipeline.py", "report", "2026-11-20").error is None

Sagas are flown in memory, with a worker dying wherever one can::

    from sluice.testing import fly_everywhere

    def test_whatever_goes_wrong_no_seat_is_lost():
        report = fly_everywhere(trip, inputs={"customer": "ann"}, context=airline, left_behind=airline.seats_taken)
        assert not report.troubles

``fly`` is one flight in which nothing goes wrong but what the steps themselves, or ``debug``, have go wrong.

``fly_everywhere`` flies again and again. Once as it is. Once for each step whose do fails before it has done anything,
and once for each whose do fails when it has run. Once with nobody saying what is waited for, where a wait can time
out. Once for each undo that fails, before or after it has run, and that somebody has tried again. And each of these
again with a worker dying at each moment at which that makes a difference: after each call of a do or an undo, and
after each entry of the journal. What the steps talk to has to be a stand-in, of course.

Whatever goes wrong, a flight that is undone has to leave behind what it found, and one that has succeeded what it
leaves when no worker dies. ``left_behind`` tells what there is, as any value that can be copied and compared. A flight
that has succeeded is then taken back, so that the next one finds the world as it was; ``reset`` is called before each
flight, for a world that needs more than that.

Whole pipelines run in virtual time, with the pytest fixture ``pipeline``. ``Faults`` are what goes wrong there, and
``Took`` is what a run of a job takes and comes to::

    from sluice.testing import Faults, Took

    def test_the_report_survives_a_bad_night(pipeline):
        run = pipeline("pipeline.py", work={"fetch": Took(90)}, faults=Faults(lose=0.2, kill_worker_every_s=120))
        run.submit("report", "2026-11-20")
        run.until_quiet()
        assert run.state("report", "2026-11-20") == "succeeded"
"""

import logging
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sluice.jobs.api import Build, Definition
from sluice.jobs.app import App
from sluice.jobs.blobs import BlobStore
from sluice.jobs.catalogue import faults as definition_faults
from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.draft import Entry
from sluice.jobs.catalogue.faults import At
from sluice.jobs.catalogue.sagas import read_saga
from sluice.jobs.errors import BadRequest
from sluice.jobs.fence import Fence
from sluice.jobs.job import Assignment, Claimed, idempotency_token
from sluice.jobs.outcome import Outcome
from sluice.jobs.programs.rules import Rules
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.ref import JobName
from sluice.jobs.runners import runner_for
from sluice.jobs.runners.blame import blame
from sluice.jobs.runners.joblog import job_log, worker_log
from sluice.jobs.runners.saga import call
from sluice.jobs.runners.sandbox import Sandbox
from sluice.jobs.runners.stores import Stores
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.everywhere import Everywhere, Flown, Report, flown_in
from sluice.jobs.sagas.rehearsal import Rehearsal, Trouble
from sluice.jobs.sagas.saga import Saga
from sluice.jobs.simulated import Faults, Took
from sluice.jobs.submission import JSON
from sluice.jobs.work_ids import WorkId, parse_work_ids, text_of

__all__ = ["Debug", "Faults", "Flown", "Outcome", "Report", "Took", "fly", "fly_everywhere", "run"]


def run(source: str, app: str, key: str, **kwargs: JSON) -> Outcome:
    """One run of the job, by the definitions of a source as ``--apps`` names one; DefinitionError with all that is
    wrong with them. ``key`` fits the app's template, or is the work IDs of a chunk: ``1-3,7``. Where the run went
    wrong the outcome's ``error`` says why; ``output`` is what the job printed, and logged.
    """
    found = load([source]).app(app)
    if found.saga is not None or found.partitioning is not None:
        raise BadRequest(f"{app} is a saga, or fills partitions.", advice="Fly a saga with fly().")
    assignment = _assigned(found, key, kwargs)
    with tempfile.TemporaryDirectory() as folder:
        stores = Stores(
            programs=ProgramStore(Path(folder) / "programs", Rules()),
            blobs=BlobStore(f"{folder}/blobs"),
            sandbox=Sandbox(Fence()),
        )
        return runner_for(found, stores).run(assignment, stop=threading.Event(), report=_unheard)


def fly(
    saga: Definition[..., Any] | Build,
    *,
    inputs: Mapping[str, JSON] = {},
    context: Any = None,
    events: Mapping[str, JSON] = {},
    debug: Debug | None = None,
) -> Flown:
    """One flight, of what ``@saga`` has made or of a plain function that makes steps. ``inputs`` are the identifiers of
    its key and the kwargs of its submission; ``context`` stands in for what the saga's own ``context`` makes. All
    that it waits for comes; ``events`` has what is said along with it.
    """
    logger = job_log(_name_of(saga, inputs), write=_unheard, tell=worker_log(_name_of(saga, inputs)))
    rehearsal = _rehearsals(saga, inputs, context, events, logger=logger, debug=debug or Debug())(Trouble())
    return flown_in(rehearsal, rehearsal.fly())


def fly_everywhere(
    saga: Definition[..., Any] | Build,
    *,
    left_behind: Callable[[], Any],
    inputs: Mapping[str, JSON] = {},
    context: Any = None,
    events: Mapping[str, JSON] = {},
    reset: Callable[[], object] = lambda: None,
) -> Report:
    """Many flights of one saga, each with its own trouble, as is said above."""
    logger = job_log(_name_of(saga, inputs), write=_unheard, tell=_unheard)
    rehearse = _rehearsals(saga, inputs, context, events, logger=logger, debug=Debug())
    return Report(tuple(Everywhere(rehearse, left_behind, reset).flights()))


def _assigned(app: App, key: str, kwargs: Mapping[str, JSON]) -> Assignment:
    ids, work_ids = ({}, _work_ids(app, key)) if app.chunking else (app.read_key(key), None)
    name = JobName(app.name, app.write_key(ids) if work_ids is None else text_of(work_ids))
    return Assignment(
        name=name,
        ids=ids,
        work_ids=work_ids,
        kwargs=kwargs,
        round=0,
        claim=0,
        token=idempotency_token(name.app, "", name.key),
        app=app,
        policy=app.policy,
    )


def _work_ids(app: App, key: str) -> tuple[WorkId, ...]:
    try:
        return parse_work_ids(key)
    except ValueError as error:
        raise BadRequest(f"{app.name} runs on work IDs: {error}.", advice="Write them like 1-3,7") from None


def _rehearsals(
    definition: Definition[..., Any] | Build,
    inputs: Mapping[str, JSON],
    context: Any,
    events: Mapping[str, JSON],
    *,
    logger: logging.Logger,
    debug: Debug,
) -> Callable[[Trouble], Rehearsal]:
    saga = _saga_of(definition)
    if context is not None:
        saga = replace(saga, context=lambda: context)
    name = _name_of(definition, inputs)
    token = idempotency_token(name.app, "", name.key)
    claimed = Claimed(name=name, ids=inputs, round=0, claim=1, token=token)

    def rehearse(trouble: Trouble) -> Rehearsal:
        return Rehearsal(
            saga,
            claimed,
            events=events,
            call=call,
            blame=blame,
            log=logger,
            debug=debug,
            trouble=trouble,
        )

    return rehearse


def _name_of(definition: Definition[..., Any] | Build, inputs: Mapping[str, JSON]) -> JobName:
    name = definition.name if isinstance(definition, Definition) else getattr(definition, "__name__", "saga")
    return JobName(name, "_".join(map(str, inputs.values())))


def _unheard(*_: object) -> None:
    """Of so many flights nobody reads what they say."""


def _saga_of(definition: Definition[..., Any] | Build) -> Saga:
    """As the catalogue reads it; DefinitionError with all that is wrong with it. A plain function only makes steps."""
    if not isinstance(definition, Definition):
        return Saga(build=definition)
    faults = definition_faults.Faults()
    at = At(faults, "sluice.testing", definition.name)
    words = definition.words
    entry = Entry(origin=at.source, name=definition.name, words=words, function=definition.function)
    saga = read_saga(words, entry, at).saga if words.get("job_type") == "saga" else None
    faults.raise_any()
    if saga is None:
        raise BadRequest(f"{definition.name} is no saga.")
    return saga
