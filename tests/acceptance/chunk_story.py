"""Stories of work by chunk: steps, and the state of every chunk after each step.

A step reads ``submit A 1-6 id=one with region=north => ready E[1-6], waiting B[1,2] A[1-6]``: a verb with its
arguments, and then every existing chunk by state. Chunks are written as in ``chunk_notation``. ``A'[1-6]`` was inserted
after ``A[1-6]``. Submissions with a changed state are listed too: ``one is failed``. The verbs:

- ``submit`` requests an app on work IDs. ``id`` is the id of the submission, and its kwargs follow ``with``.
- ``leave`` inserts the submission into the ledger without a message, so that it is not planned before a tick.
- ``finish`` and ``fail`` run ready chunks to that end. ``start`` claims chunks, and ``end`` records their success.
- ``rerun`` runs chunks again. ``cancel`` cancels chunks, ``withdraw`` a submission.
- ``wait`` lets that many seconds pass, then the groomer ticks once.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sluice.broker.messages import Cancel
from sluice.jobs.model.job import Ending
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle import submissions
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.acceptance.chunk_notation import Chunk, chunk, chunks, definitions, words
from tests.acceptance.chunked_ledger import freshness, recorded
from tests.world import World


class Story(NamedTuple):
    """Story of apps, by its steps. ``fresh`` has the work IDs with a recorded success at the end; None: not checked.
    ``ran`` has the number of runs of some chunks."""

    apps: str
    steps: tuple[str, ...]
    fresh: str | None
    ran: str


def story(apps: str, *steps: str, fresh: str | None = None, ran: str = "") -> Story:
    return Story(apps, steps, fresh, ran)


class Teller:
    """Player of one story, on a world of its own."""

    def __init__(self, world: World, apps: str) -> None:
        self._world = world
        self._begun: dict[Chunk, ClaimedJob] = {}
        self._told: dict[str, SubmissionState] = {}
        self._verbs: dict[str, Callable[[str], object]] = {
            "submit": self._submit,
            "leave": self._leave,
            "finish": lambda text: [world.finish(self._job(each)) for each in chunks(text)],
            "fail": lambda text: [world.finish(self._job(each), Ending.ERROR) for each in chunks(text)],
            "start": self._start,
            "end": self._end,
            "rerun": self._rerun,
            "cancel": self._cancel,
            "withdraw": world.cancel,
            "wait": lambda seconds: world.tick(after_s=float(seconds)),
        }
        world.define(definitions(apps))

    def take(self, step: str) -> None:
        """Do the step, and check its result."""
        done, _, expected = step.partition("=>")
        verb, _, rest = done.strip().partition(" ")
        self._verbs[verb](rest)
        told, changed = states(expected)
        found = {name: job.state for name, job in recorded(self._world).items()}
        assert found == told, f"after {done.strip()}: {in_words(found)}"
        self._told |= changed
        assert {id: self._world.submission(id) for id in self._told} == self._told, f"after {done.strip()}"

    def _submit(self, text: str) -> None:
        app, ids, own, kwargs = self._request(text)
        id = self._world.submit(app, None, work_ids=ids, kwargs=kwargs, **own)
        self._told[id] = SubmissionState.ACTIVE

    def _leave(self, text: str) -> None:
        app, ids, own, kwargs = self._request(text)
        submission = Submission(app=app, work_ids=ids, kwargs=kwargs, **own)
        self._world.ledger.transact(lambda tx: submissions.receive(tx, [submission]))

    def _request(self, text: str) -> tuple[str, str, dict[str, str], Mapping[str, object]]:
        asked, _, kwargs = text.partition(" with ")
        app, ids, *rest = asked.split()
        return app, ids, words(" ".join(rest)), words(kwargs)

    def _start(self, text: str) -> None:
        self._world.beat(self._world.worker, [claimed.right for claimed in self._begun.values()])
        for each in chunks(text):
            claimed = self._world.claim(self._job(each))
            assert claimed is not None, f"{each} cannot be started"
            self._begun[each] = claimed

    def _end(self, text: str) -> None:
        for each in chunks(text):
            assert self._world.record(self._begun.pop(each))

    def _rerun(self, text: str) -> None:
        for each in chunks(text):
            self._world.submit(each.app, self._job(each).partition("/")[2], rerun="job")

    def _cancel(self, text: str) -> None:
        for each in chunks(text):
            app, _, key = self._job(each).partition("/")
            self._world.queue.append(Cancel(app=app, key=key))
            self._world.deliver()

    def _job(self, named: Chunk) -> str:
        return f"{named.app}/{recorded(self._world)[named].key}"


def tell(world: World, told: Story) -> None:
    """Play a story to its end, and check the recorded successes and runs."""
    teller = Teller(world, told.apps)
    for step in told.steps:
        teller.take(step)
    if told.fresh is not None:
        known = {(app, work_id) for app, _, work_id in freshness(world)}
        assert known == {(each.app, str(work_id)) for each in chunks(told.fresh) for work_id in each.ids}
    jobs = recorded(world)
    for name, times in (part.split(":") for part in told.ran.split()):
        each = chunk(name)
        assert world.history(f"{each.app}/{jobs[each].key}").count("running") == int(times), name


def states(text: str) -> tuple[dict[Chunk, State], dict[str, SubmissionState]]:
    """Return the states of chunks, and of submissions, from ``ready A[1] B[2], waiting C[1], one is failed``."""
    found: dict[Chunk, State] = {}
    changed: dict[str, SubmissionState] = {}
    for part in _parts(text):
        first, *rest = part.split()
        if rest[0] == "is":
            changed[first] = SubmissionState(rest[1])
        else:
            found.update(dict.fromkeys(map(chunk, rest), State(first)))
    return found, changed


def in_words(found: Mapping[Chunk, State]) -> str:
    return ", ".join(f"{state} {job!r}" for job, state in found.items())


def _parts(text: str) -> list[str]:
    """Return the parts between commas. Commas in lists of work IDs do not separate."""
    parts: list[str] = [""]
    depth = 0
    for letter in text.strip():
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
