"""Pipeline in virtual time for users' tests. The fixture ``pipeline`` returns it.

The definitions are the user's, and so are the steps of sagas. The test sets the duration and the outcome of other
jobs. Everything else is as in production. Hours pass without waiting, and faults happen as they are drawn.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from sluice.actors.results import read_result
from sluice.broker.messages import Cancel, Landed, Message, Pause, Resume, Submit
from sluice.jobs.api.definition import AppRef, app_name
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.sources.python_options import declarative_policy
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.partitions import without_version
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON, SubmissionState
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.run_output import captured_runs
from sluice.jobs.simulated import Doing, Faults
from sluice.jobs.states import TERMINAL, State
from sluice.jobs.text.units import parse_duration_s
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.fixtures import empty
from sluice.ledger.notifications.dead_letters import delivery_counts
from sluice.ledger.reads import job_details, submission_progress
from sluice.ledger.reads.quiescence import Move, moves, open_submissions, unfinished, untold
from sluice.ledger.recovery.invariants import breaches
from sluice.ops.simulation.describe import words_of
from sluice.ops.simulation.event_queue import Agenda
from sluice.ops.simulation.faults import FaultSource
from sluice.ops.simulation.installation import SimulatedInstallation
from sluice.ops.simulation.mortal_ledger import CrashingLedger
from sluice.ops.simulation.notifications import RecordedNotification, SimulatedNotifier
from sluice.ops.simulation.script import OpenSky, ScriptedWork
from sluice.ops.simulation.ticks import Upkeep
from sluice.ops.simulation.workers import Habits


class NeverQuiet(AssertionError):
    """Raised when work is left to do after the given time."""


class NoSuchJob(LookupError):
    """Raised when no job has this name. The message lists the existing jobs."""


def with_contexts(catalogue: Catalogue, contexts: Mapping[str, object]) -> Catalogue:
    """Return the catalogue with replacements for the contexts of these sagas."""
    return catalogue.revised(_with_context(catalogue.app(name), made) for name, made in contexts.items())


def _with_context(app: App, made: object) -> App:
    if app.saga is None:
        raise BadRequest(f"{app.name} is no saga, so it has no context.")
    return replace(app, saga=replace(app.saga, context=lambda: made))


class Simulated:
    """One installation with this pipeline. Methods name a job by its app and key."""

    def __init__(
        self,
        url: str,
        catalogue: Catalogue,
        *,
        seed: int,
        faults: Faults,
        doing: Mapping[str, Doing] | Doing,
        stores: Stores,
        workers: int,
        threads: int,
        start: datetime,
    ) -> None:
        self.seed = seed
        self._fate = fate = FaultSource(seed, faults)
        self._agenda = agenda = Agenda(fate, start)
        fate.elapsed_s = lambda: agenda.elapsed_s
        self._as_of: datetime | None = None
        # A job in a transaction of its own may read results.
        self._plain = Ledger(url, connections=2, steady=True, clock=lambda: self._as_of or agenda.now)
        self._plain.transact(empty)
        self._ledger = CrashingLedger(url, fate, agenda.clock)
        work = ScriptedWork(lambda: self._installation.catalogue, doing, stores, self._plain)
        self._installation = SimulatedInstallation(
            self._ledger,
            fate,
            agenda,
            catalogue,
            work=work,
            sky=OpenSky(work),
            habits=Habits(threads=threads, beats=False),
        )
        for name in range(workers):
            self._installation.hire(name)
        self._installation.plan_faults()
        self._notifier = SimulatedNotifier(self._installation, stores.sandbox)
        self._upkeep = Upkeep(self._installation, self._plain, self._set_as_of, self._notifier.deliver)
        self._blobs = stores.blobs
        self._asked = 0
        self._was_left = False

    def submit(self, app: AppRef, key: str | None = None, *, id: str | None = None, **words: JSON) -> str:
        """Submit jobs, with the options of a submit message. Return the submission's ID. It is received when time
        passes.
        """
        self._asked += 1
        id_ = id or f"submission {self._asked}"
        named = {"app": app_name(app)} | ({} if key is None else {"key": key})
        if "policy" in words:
            words["policy"] = declarative_policy(words["policy"])
        self._send(Submit(id=id_, submission=msgspec.Raw(msgspec.json.encode(named | words))))
        return id_

    def cancel(self, submission: str) -> None:
        """Cancel a submission. Jobs that no other submission requests stop."""
        self._send(Cancel(submission=submission))

    def pause(self, submission: str) -> None:
        """Pause a submission. Jobs that no other submission requests do not begin until it is resumed."""
        self._send(Pause(submission=submission))

    def resume(self, submission: str) -> None:
        """Resume a submission."""
        self._send(Resume(submission=submission))

    def tell(self, app: AppRef, key: str, event: str | None = None, payload: JSON = None) -> None:
        """Send an event to a job. Without ``event`` the job continues, whichever event it waits for."""
        self._asked += 1
        said = Resume(app=app_name(app), key=key, event=event, payload=payload, id=f"event {self._asked}")
        self._send(said)

    def land(self, table: str, *partitions: str, again: bool = False) -> None:
        """Land partitions that were not made by this pipeline. With ``again``, existing ones have new contents."""
        self._send(Landed(table=table, partitions=partitions, again=again))

    def until_quiet(self, *, within: str | float = "7d") -> None:
        """Let time pass until all requested work is done. NeverQuiet if work is left after ``within``."""
        limit = self.now + timedelta(seconds=parse_duration_s(within))
        with captured_runs(passes_on=True):
            while self._stirs():
                if not self._upkeep.step(limit) and self._stirs():
                    raise NeverQuiet(f"After {within} this work is left:\n" + "\n".join(self._unended()))
        self._check()

    def pass_time(self, time: str | float) -> None:
        """Let this much time pass, with all events in it. Schedules become due and make submissions."""
        limit = self.now + timedelta(seconds=parse_duration_s(time))
        with captured_runs(passes_on=True):
            while self._upkeep.step(limit):
                pass
        self._check()

    @property
    def began(self) -> datetime:
        """Virtual time at the beginning."""
        return self._agenda.start

    @property
    def ledger_url(self) -> str:
        """Address of the ledger's database, for the connections of jobs and of the test. Tables of the test in it are
        not removed.
        """
        return self._plain.url

    @property
    def now(self) -> datetime:
        """Current virtual time."""
        return self._agenda.now

    def states(self) -> dict[str, str]:
        """Return every job, as ``app/key``, and its state."""
        return {str(JobName(move.app, move.key)): str(move.target) for move in self._moves()}

    def state(self, app: AppRef, key: str) -> str:
        return self._of(app, key)[-1].target

    def result(self, app: AppRef, key: str) -> JSON:
        """Return the result of a job, as plain JSON. BadRequest if the job has not succeeded."""
        name = JobName(app_name(app), self._of(app, key)[-1].key)
        text = read_result(self._plain, self._blobs, name)
        return None if text is None else msgspec.json.decode(text)

    def transitions(self, app: AppRef, key: str) -> list[tuple[float, str]]:
        """Return the states that the job entered, each with the seconds since the beginning."""
        return [(self._s(move.at), str(move.target)) for move in self._of(app, key)]

    def output(self, app: AppRef, key: str) -> str:
        """Return the output of the job's last run. Only a job that ran for real has output."""
        name = JobName(app_name(app), self._of(app, key)[-1].key)
        found = self._plain.transact(lambda tx: job_details.dossier(tx, name))
        return (found.rounds[-1].output or "") if found and found.rounds else ""

    def ran(self, app: AppRef, key: str | None = None) -> int:
        """Return how often the job was begun; without a key, how often jobs of the app were begun."""
        name = app_name(app)
        found = (
            self._of(app, key) if key is not None else [each for each in self._moves() if each.app == name]
        )
        return sum(move.target is State.RUNNING for move in found)

    def most_at_once(self, *apps: str) -> int:
        """Return the greatest number of jobs that ran at the same time, of these apps or of all apps."""
        running: set[tuple[str, str]] = set()
        most = 0
        for move in self._moves():
            if not apps or move.app in apps:
                change = running.add if move.target is State.RUNNING else running.discard
                change((move.app, move.key))
                most = max(most, len(running))
        return most

    def took_s(self, app: AppRef | None = None, key: str | None = None) -> float:
        """Return the seconds from the first transition of these jobs to the last."""
        found = self._moves() if app is None or key is None else self._of(app, key)
        name = None if app is None else app_name(app)
        at = [move.at for move in found if name in {None, move.app}]
        return (max(at) - min(at)).total_seconds() if at else 0.0

    def submission(self, id: str) -> SubmissionState:
        """Return the state of a submission."""
        found = self._plain.transact(lambda tx: submission_progress.status(tx, id))
        if found is None:
            raise NoSuchJob(f"There is no submission {id!r} (yet). Let time pass.")
        return found.state

    def notifications(self) -> list[RecordedNotification]:
        """Return the notifications that receivers have got so far. All receivers accept every notification."""
        return self._notifier.recorded

    def faults(self) -> list[str]:
        """Return descriptions of the faults that have happened so far."""
        return self._plain.transact(lambda tx: words_of(tx, self._fate.happened))

    def close(self) -> None:
        self._installation.close()
        self._plain.close()
        self._ledger.close()

    def _set_as_of(self, moment: datetime | None) -> None:
        self._as_of = moment

    def _send(self, message: Message) -> None:
        self._installation.send([message], reliably=True)

    def _stirs(self) -> bool:
        """Return whether any work is left. The ledger is read again only after a write."""
        if not self._was_left or self._ledger.has_written:
            self._was_left = bool(self._left())
        return self._was_left or self._installation.unheard > 0

    def _left(self) -> list[str]:
        return self._plain.transact(
            lambda tx: [*open_submissions(tx), *unfinished(tx), *untold(tx), *_undelivered(tx)]
        )

    def _unended(self) -> list[str]:
        """Return all open work, for people. This includes jobs that wait for a parent that was never requested."""
        live = [f"{name} is {state}" for name, state in self.states().items() if state not in TERMINAL]
        return [*self._plain.transact(open_submissions), *live, *self._plain.transact(_undelivered)]

    def _check(self) -> None:
        """Check the invariants of the ledger, whatever faults have happened."""
        broken = self._plain.transact(breaches)
        if broken:
            raise AssertionError("The ledger is inconsistent: " + "; ".join(map(str, broken)))

    def _moves(self) -> list[Move]:
        return self._plain.transact(moves)

    def _of(self, named: AppRef, key: str) -> list[Move]:
        app = app_name(named)
        every, key = self._moves(), self._canonical(app, key)
        by_partition = self._installation.catalogue.app(app).partitioning is not None
        short = _unversioned if by_partition and key == _unversioned(key) else str
        if found := [move for move in every if move.app == app and short(move.key) == key]:
            return found
        known = sorted({str(JobName(move.app, move.key)) for move in every})
        raise NoSuchJob(f"There is no job {JobName(app, key)}. There are: {', '.join(known) or 'none'}.")

    def _canonical(self, app: str, key: str) -> str:
        """Return the key as it is in the ledger, if the app defines how its keys are written."""
        found = self._installation.catalogue.app(app)
        return found.write_key(found.read_key(key)) if found.is_keyed_by_template else key

    def _s(self, at: datetime) -> float:
        return (at - self._agenda.start).total_seconds()


def _undelivered(tx: Tx) -> list[str]:
    pending = delivery_counts(tx).pending
    return [f"{pending} notifications are not delivered"] if pending else []


def _unversioned(key: str) -> str:
    """Return a step's key in its short form, without the version, which is determined by the definitions."""
    return without_version(key)[0]
