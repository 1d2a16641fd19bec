"""One app as its manager sees it: tasks are opened, their results are handed over, then they are archived.

Invariants: every result is handed over at least once, because a task is archived after that and not before. A task that
is run again is handed over again. Nothing is stored here, so a restarted manager continues where it stopped. Several
managers may share an app: a result may reach two of them, and only one archives it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from threading import Event

import msgspec
from msgspec import Struct

from sluice.actors.planner.admission import sound
from sluice.actors.telemetry.trace_context import current_place
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.identifiers import Whole
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import JSON, Submission, divided
from sluice.jobs.states import State
from sluice.ledger import managed_tasks
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.managed_tasks import COLLECTED, Finished, TaskBatch, TaskCounts, open_tasks, standing
from sluice.planner.keyspaces.choose import keyspace_of

#: Order in which outcomes are handed over: success, then ends that the task itself caused, then ends by other causes.
OUTCOMES = (
    State.SUCCEEDED,
    State.FAILED,
    State.TIMED_OUT,
    State.EXPIRED,
    State.FATAL,
    State.CANCELLED,
    State.UPSTREAM_FAILED,
    State.SKIPPED,
)
#: Number of finished tasks that are read together.
PAGE = 100

#: Receives a finished task.
Callback = Callable[[Finished], object]


class NewTask(Struct, frozen=True, kw_only=True):
    """A task to open. Without a key it gets a number. Opening one ``id`` twice opens one task.

    ``policy`` overrides the app's policy option by option. An option with the value 0 overrides it too.
    """

    key: str | int | None = None
    id: str | None = None
    kwargs: Mapping[str, JSON] = {}
    policy: Mapping[str, JSON] = {}


class Tasks:
    """Tasks of one app. ``notify`` notifies the planner of submissions. Without a ``catalogue``, keys are used as they
    are given."""

    def __init__(
        self,
        ledger: Ledger,
        notify: Callable[[Sequence[str]], None],
        app: str,
        catalogue: Catalogue | None,
    ) -> None:
        self.app = app
        self._ledger = ledger
        self._notify = notify
        self._catalogue = catalogue
        self._known: App | None = catalogue.app(app) if catalogue else None

    def open(
        self,
        key: str | int | None = None,
        *,
        id: str | None = None,
        kwargs: Mapping[str, JSON] | None = None,
        **policy: JSON,
    ) -> str:
        """Open one task, and return its key."""
        return self.open_many([NewTask(key=key, id=id, kwargs=kwargs or {}, policy=policy)])[0]

    def open_many(self, wanted: Iterable[NewTask]) -> list[str]:
        """Open all of them or none, in one transaction. Return their keys in this order. BadRequest if a task is
        invalid."""
        parcels = self._parcels(wanted)
        keys = self._ledger.transact(lambda tx: open_tasks(tx, self.app, parcels))
        self._tell(parcels)
        return [key for of_parcel in keys for key in of_parcel]

    def follow_up(self, done: Sequence[Finished], wanted: Iterable[NewTask]) -> list[str] | None:
        """Archive these tasks and open the tasks that follow from them, in one transaction. So each result is used
        once, whatever crashes.

        Return the new keys. None, and nothing is done, if any of the tasks was archived or run again in the meantime.
        """
        parcels = self._parcels(wanted)

        def work(tx: Tx) -> list[tuple[str, ...]] | None:
            are_taken = not done or bool(managed_tasks.archive(tx, done, whole=True))
            # After a commit of unknown outcome the transaction runs again, although the first one may have succeeded.
            if not are_taken and (not parcels or len(standing(tx, parcels)) < len(parcels)):
                return None
            return open_tasks(tx, self.app, parcels)

        keys = self._ledger.transact(work)
        if keys is None:
            return None
        self._tell(parcels)
        return [key for of_parcel in keys for key in of_parcel]

    def finished(self, *outcomes: State | str) -> Iterator[Finished]:
        """Yield the uncollected tasks with these outcomes, in the order of the arguments. Default: all, in the order of
        ``OUTCOMES``.

        Tasks of one outcome come in the order in which they were planned. Reading a task does not archive it.
        """
        for outcome in [_outcome(each) for each in outcomes] or OUTCOMES:
            page = self._page(outcome, after=0)
            while page:
                yield from page
                page = self._page(outcome, after=page[-1].id) if len(page) == PAGE else []

    def archive(self, *tasks: Finished) -> int:
        """Mark tasks as collected, and return how many were not. A task that was run again since it was read is left as
        it is."""
        return len(self._ledger.transact(lambda tx: managed_tasks.archive(tx, tasks)))

    def counts(self) -> TaskCounts:
        """Return the numbers of tasks that have not ended, and of uncollected tasks."""
        return self._ledger.transact(lambda tx: managed_tasks.counts(tx, self.app))

    def run(
        self,
        *,
        succeeded: Callback | None = None,
        failed: Callback | None = None,
        timed_out: Callback | None = None,
        expired: Callback | None = None,
        fatal: Callback | None = None,
        cancelled: Callback | None = None,
        upstream_failed: Callback | None = None,
        skipped: Callback | None = None,
        end_round: Callable[[int], object] | None = None,
        stop: Callable[[int], object] | None = None,
        every_s: float = 2.0,
        interrupt: Event | None = None,
    ) -> int:
        """Hand finished tasks over, round by round, and archive each one afterwards. Return the number of rounds.

        Tasks with an outcome that has no callback are archived silently. An exception of a callback is raised here: its
        task stays uncollected and comes again. ``end_round`` gets the number of the round that ends, from 0 on.
        ``stop`` gets the number of ended rounds, and ends the run by returning a true value. A round begins ``every_s``
        seconds after the previous one began, or when that is over. ``interrupt``, once set, ends the run after the
        current task.
        """
        if not every_s > 0:
            raise BadRequest(
                f"A round every {every_s} seconds leaves no pause.", advice="Give every_s more than 0."
            )
        given = (succeeded, failed, timed_out, expired, fatal, cancelled, upstream_failed, skipped)
        callbacks = dict(zip(OUTCOMES, given, strict=True))
        interrupt = interrupt or Event()
        rounds = 0
        while not interrupt.is_set():
            began = time.monotonic()
            self._hand_over(callbacks, interrupt)
            if interrupt.is_set():
                break
            if end_round:
                end_round(rounds)
            rounds += 1
            if stop and stop(rounds):
                break
            interrupt.wait(max(0.0, began + every_s - time.monotonic()))
        return rounds

    def _hand_over(self, callbacks: Mapping[State, Callback | None], interrupt: Event) -> None:
        for outcome, callback in callbacks.items():
            if callback is None:
                self._archive_quietly(outcome, interrupt)
                continue
            for task in self.finished(outcome):
                if interrupt.is_set():
                    return
                callback(task)
                self.archive(task)

    def _archive_quietly(self, outcome: State, interrupt: Event) -> None:
        more = True
        while more and not interrupt.is_set():
            archived = self._ledger.transact(
                lambda tx: managed_tasks.archive_ended(tx, self.app, outcome, limit=PAGE)
            )
            more = len(archived) == PAGE

    def _page(self, outcome: State, *, after: int) -> list[Finished]:
        return self._ledger.transact(
            lambda tx: managed_tasks.finished(tx, self.app, outcome, after=after, limit=PAGE)
        )

    def _parcels(self, wanted: Iterable[NewTask]) -> list[TaskBatch]:
        """Return a submission for each run of consecutive tasks that differ only in their keys."""
        tasks = list(wanted)
        ids = [task.id for task in tasks if task.id is not None]
        if len(ids) > len(set(ids)):
            raise BadRequest("Two of these tasks have the same id.", where=self.app)
        parcels = []
        for (id_, _), alike in groupby(tasks, key=_likeness):
            run = list(alike)
            for keys in divided([self._key(task) for task in run]):
                parcels.append(TaskBatch(submission=self._submission(run[0], id_, keys), keys=tuple(keys)))
        return parcels

    def _submission(self, task: NewTask, id_: str | None, keys: Sequence[str | None]) -> Submission:
        """Return a submission without its keys. It is checked together with the known keys.

        Default of ``archive``: ``manual``, because a program that opens a task also collects it.
        """
        given = tuple(key for key in keys if key is not None)
        policy = {"archive": "manual", **task.policy}
        checked = sound(
            Submission(
                app=self.app,
                id=id_,
                kwargs=task.kwargs,
                policy=policy,
                keys=given or None,
                traceparent=current_place(),
            )
        )
        return msgspec.structs.replace(checked, keys=None)

    def _key(self, task: NewTask) -> str | None:
        if task.key is None:
            self._require_numbers()
            return None
        key = str(task.key)
        if self._known is None or self._catalogue is None:
            return key
        return keyspace_of(self._known, self._catalogue).canonical(self._known, key)

    def _require_numbers(self) -> None:
        if self._known is None:
            raise BadRequest(
                "Whether tasks of this app have numbers is unknown without its definition.",
                where=self.app,
                advice="Name its source: connect(apps=…) or SLUICE_APPS. Or give each task a key.",
            )
        names = self._known.template.names
        if len(names) != 1 or not isinstance(self._known.identifiers.get(names[0]), Whole):
            raise BadRequest(
                f"The keys of {self.app}, {self._known.template.text}, are not plain numbers to count by.",
                where=self._known.origin,
                advice='Give each task a key, or key the app by one number: job_id: "{n}", identifiers: {"n": "int"}.',
            )

    def _tell(self, parcels: Iterable[TaskBatch]) -> None:
        if ids := [parcel.submission.require_id() for parcel in parcels]:
            self._notify(ids)


def _likeness(task: NewTask) -> tuple[str | None, bytes]:
    return task.id, msgspec.json.encode((task.kwargs, task.policy), order="deterministic")


def _outcome(word: State | str) -> State:
    if word in COLLECTED:
        return State(word)
    raise BadRequest(
        f"{word!r} is not an outcome of a task.", advice=f"The outcomes are {', '.join(OUTCOMES)}."
    )
