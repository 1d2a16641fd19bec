"""Helpers for tests of jobs, sagas and pipelines.

``run`` is one run of one job, as a worker would run it, without a ledger, parents or a second try::

    from sluice.testing import run

    def test_a_report_can_be_made():
        assert run("pipeline.py", "report", "2026-11-20").error is None

Sagas run in memory, with a worker that dies at every possible moment::

    from sluice.testing import fly_everywhere

    def test_whatever_goes_wrong_no_seat_is_lost():
        report = fly_everywhere(trip, inputs={"customer": "ann"}, context=airline, left_behind=airline.seats_taken)
        assert not report.troubles

``fly`` runs one flight. The only errors in it are caused by the steps themselves or by ``debug``.

``fly_everywhere`` runs many flights:

- one without errors
- two for each step: its do fails before it has done anything, and its do fails after it has run
- one in which no event arrives, if a wait can time out
- two for each undo: it fails before or after it has run, and is then retried by hand
- each of these again, with a worker that dies at each moment that makes a difference: after each call of a do or an
  undo, and after each entry of the journal

The systems that the steps call must be replaced by stand-ins.

A flight that is undone must leave the state that it found. A flight that succeeds must leave the same state as one in
which no worker dies. ``left_behind`` returns that state, as any value that can be copied and compared. A flight that
succeeded is then undone, so that the next one finds the original state. If that is not enough, set ``reset``, which
is called before each flight.

Whole pipelines run in virtual time, with the pytest fixture ``pipeline``. Its type is ``Pipelines``. ``Faults`` are the
faults in it, and ``Took`` is the duration and the outcome of a job's run::

    from sluice.testing import Faults, Pipelines, Took

    def test_the_report_survives_a_bad_night(pipeline: Pipelines) -> None:
        run = pipeline("pipeline.py", work={"fetch": Took(90)}, faults=Faults(lose=0.2, kill_worker_every_s=120))
        run.submit("report", "2026-11-20")
        run.until_quiet()
        assert run.state("report", "2026-11-20") == "succeeded"
"""

import logging
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from sluice.jobs.api.decorators import Build
from sluice.jobs.api.definition import AppRef, Definition, app_name
from sluice.jobs.blobs import BlobStore
from sluice.jobs.catalogue import errors as definition_faults
from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.errors import At
from sluice.jobs.catalogue.fields.draft import UnreadApp
from sluice.jobs.catalogue.fields.work_options import read_saga
from sluice.jobs.catalogue.sources.functions import find_object
from sluice.jobs.catalogue.sources.python_options import declarative
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import WorkId, parse_work_ids, text_of
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Assignment, Outcome, RunContext, idempotency_token
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.own_success import OwnSuccess, rehearsed_transaction
from sluice.jobs.policy.sandbox_settings import Fence
from sluice.jobs.programs.source import Rules
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.runners import runner_for
from sluice.jobs.runners.function.started_hooks import StartedHooks
from sluice.jobs.runners.output import job_log, worker_log
from sluice.jobs.runners.process.sandbox import Sandbox
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.run_output import captured_runs
from sluice.jobs.runners.saga_run import blame, call
from sluice.jobs.sagas.debug import Debug
from sluice.jobs.sagas.rehearsal import (
    Everywhere,
    Flown,
    Rehearsal,
    RehearsalFaults,
    Report,
    StandIns,
    flown_in,
)
from sluice.jobs.sagas.spec import Saga
from sluice.jobs.sagas.steps import with_inputs
from sluice.jobs.simulated import Faults, Took

if TYPE_CHECKING:
    from sluice.ops.simulation.plugin import Pipelines

__all__ = [
    "Debug",
    "Faults",
    "Flown",
    "Outcome",
    "Pipelines",
    "Report",
    "Took",
    "fly",
    "fly_everywhere",
    "run",
]


def __getattr__(name: str) -> Any:
    """Load the type of the fixture ``pipeline`` when it is first used, because its module needs pytest."""
    if name != "Pipelines":
        raise AttributeError(f"module 'sluice.testing' has no attribute {name!r}")
    return import_module("sluice.ops.simulation.plugin").Pipelines


def run(source: str, app: AppRef, key: str = "", *, connection: Any = None, **kwargs: JSON) -> Outcome:
    """Run one job and return its outcome.

    ``source`` names the definitions, as ``--apps`` does. ``app`` is a name or the decorated function. ``key`` must fit
    the app's template, or is the work IDs of a chunk, for example ``1-3,7``. ``kwargs`` are the job's kwargs. If the
    run failed, ``error`` of the outcome has the reason. ``output`` is everything that the job printed and logged.
    Raises DefinitionError with all faults of the definitions.

    ``connection`` is the connection that ``job.transaction()`` yields. It is committed at the end of the block. With
    psycopg, the block is a savepoint if the test has an open transaction. ``job.succeed_in()`` accepts any connection,
    and writes nothing. Afterwards, ``outcome.succeeded_in`` is not None.
    """
    found = load([source]).app(app_name(app))
    if found.saga is not None or found.partitioning is not None:
        raise BadRequest(f"{found.name} is a saga, or fills partitions.", advice="Fly a saga with fly().")
    assignment = _assigned(found, key, kwargs)
    with tempfile.TemporaryDirectory() as folder:
        stores = Stores(
            programs=ProgramStore(Path(folder) / "programs", Rules()),
            blobs=BlobStore(f"{folder}/blobs"),
            sandbox=Sandbox(Fence()),
            hooks=(hooks := StartedHooks(find_object)),
        )
        try:
            with captured_runs(passes_on=True):
                return runner_for(found, stores).run(
                    assignment,
                    stop=threading.Event(),
                    report=_unheard,
                    transaction=partial(_transaction, connection),
                )
        finally:
            hooks.stop()


def fly(
    saga: Definition[..., Any] | Build,
    *,
    inputs: Mapping[str, JSON] = {},
    context: Any = None,
    events: Mapping[str, JSON] = {},
    debug: Debug | None = None,
    connection: Any = None,
) -> Flown:
    """Run one flight of a saga and return its result.

    ``saga`` is the result of ``@saga``, or a plain function that returns steps. ``inputs`` are the identifiers of its
    key and the kwargs of its submission. ``context`` replaces the object that the saga's own ``context`` makes. Every
    event that the flight waits for arrives, with its payload from ``events``. ``debug`` lets steps fail.
    ``connection`` is the connection that ``flight.transaction()`` yields, as in ``run``.
    """
    logger = job_log(_name_of(saga, inputs), write=_unheard, tell=worker_log(_name_of(saga, inputs)))
    stand_ins = StandIns(events, connection)
    rehearse = _rehearsals(saga, inputs, context, stand_ins, logger=logger, debug=debug or Debug())
    rehearsal = rehearse(RehearsalFaults())
    return flown_in(rehearsal, rehearsal.fly())


def fly_everywhere(
    saga: Definition[..., Any] | Build,
    *,
    left_behind: Callable[[], Any],
    inputs: Mapping[str, JSON] = {},
    context: Any = None,
    events: Mapping[str, JSON] = {},
    reset: Callable[[], object] = lambda: None,
    connection: Any = None,
) -> Report:
    """Run many flights of one saga, each with a different error, and each again with a worker that dies.

    ``saga``, ``inputs``, ``context``, ``events`` and ``connection`` are as for ``fly``. ``left_behind`` returns the
    state of the systems that the steps call, as any value that can be copied and compared. A flight that is undone must
    leave the state that it found. A flight that succeeds must leave the same state as one in which no worker dies.
    ``reset`` is called before each flight. A step that commits its writes with its end cannot fail after the commit.
    """
    logger = job_log(_name_of(saga, inputs), write=_unheard, tell=_unheard)
    rehearse = _rehearsals(saga, inputs, context, StandIns(events, connection), logger=logger, debug=Debug())
    return Report(tuple(Everywhere(rehearse, left_behind, reset).flights()))


def _assigned(app: App, key: str, kwargs: Mapping[str, JSON]) -> Assignment:
    ids, work_ids = ({}, _work_ids(app, key)) if app.chunking else (app.read_key(key), None)
    name = JobName(app.name, app.write_key(ids) if work_ids is None else text_of(work_ids))
    return Assignment(
        name=name,
        ids=ids,
        days=app.days,
        work_ids=work_ids,
        kwargs=kwargs,
        round=0,
        claim=0,
        token=idempotency_token(name.app, "", name.key),
        app=app,
        policy=app.policy,
        success=OwnSuccess(),
    )


@contextmanager
def _transaction(connection: Any, succeed: Callable[[Any], None]) -> Iterator[Any]:
    if connection is None:
        raise BadRequest("job.transaction() needs a database: call run(…, connection=…).")
    with rehearsed_transaction(connection):
        yield connection
        succeed(connection)


def _work_ids(app: App, key: str) -> tuple[WorkId, ...]:
    try:
        return parse_work_ids(key)
    except ValueError as error:
        raise BadRequest(f"{app.name} runs on work IDs: {error}.", advice="Write them like 1-3,7") from None


def _rehearsals(
    definition: Definition[..., Any] | Build,
    inputs: Mapping[str, JSON],
    context: Any,
    stand_ins: StandIns,
    *,
    logger: logging.Logger,
    debug: Debug,
) -> Callable[[RehearsalFaults], Rehearsal]:
    saga = _saga_of(definition)
    if context is not None:
        saga = replace(saga, context=lambda: context)
    name = _name_of(definition, inputs)
    token = idempotency_token(name.app, "", name.key)
    claimed = RunContext(name=name, ids=inputs, round=0, claim=1, token=token)

    def rehearse(trouble: RehearsalFaults) -> Rehearsal:
        return Rehearsal(
            saga,
            claimed,
            stand_ins=stand_ins,
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
    """Discard the output, which is not shown."""


def _saga_of(definition: Definition[..., Any] | Build) -> Saga:
    """Return the saga as the catalogue reads it. Raises DefinitionError with all its faults.

    A plain function has only steps.
    """
    if not isinstance(definition, Definition):
        return Saga(build=with_inputs(definition))
    faults = definition_faults.DefinitionFaults()
    at = At(faults, "sluice.testing", definition.name)
    words = declarative(definition.options, at)
    entry = UnreadApp(origin=at.source, name=definition.name, words=words, function=definition.function)
    saga = read_saga(words, entry, at).saga if words.get("job_type") == "saga" else None
    faults.raise_any()
    if saga is None:
        raise BadRequest(f"{definition.name} is no saga.")
    return saga
