"""Stories: steps, and the state of every job after each step.

A step reads ``submit C push=wanted => waiting C, ready A``: a verb, jobs and options, and then every existing job by
state. A job with key 1 is written as the name of its app, other jobs as ``A/2``. The verbs:

- ``submit`` requests all the jobs in one message, with one submission for each app. ``id``, ``push`` and ``rerun`` are
  fields of the submissions. Any other option belongs to their policy.
- ``finish`` and ``fail`` run ready jobs to that end. ``start`` claims jobs. ``end`` records their success, which is
  judged only at ``judge``.
- ``repeat`` delivers the message to run a job a second time. It must find nothing to do.
- ``cancel`` cancels jobs by name, ``withdraw`` submissions.
- ``wait`` lets that many seconds pass, then the groomer ticks. ``lose`` drops every message that is not delivered yet.
- ``define`` replaces the definitions by others in the notation of ``World.apps``.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec

from sluice.actors.executor import transactions
from sluice.broker.messages import Cancel, Message, SubmitMany
from sluice.jobs.catalogue import load
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.planner.stolos_jobs import STOLOS_APPS
from tests.world import World

Apps = str | Mapping[str, Any]
#: Value of ``apps`` for the example configuration of Stolos.
STOLOS = "stolos"
_SUBMISSION = ("id", "push", "rerun")


class Story(NamedTuple):
    """Story of apps, by its steps. ``ran`` has the number of runs of some jobs at the end, and ``ends`` the states of
    submissions."""

    apps: Apps
    steps: tuple[str, ...]
    ran: Mapping[str, int] = {}
    ends: Mapping[str, SubmissionState] = {}


def story(apps: Apps, *steps: str, ran: Mapping[str, int] | None = None, **ends: str) -> Story:
    return Story(apps, steps, ran or {}, {id: SubmissionState(state) for id, state in ends.items()})


class Teller:
    """Player of one story, on a world of its own."""

    def __init__(self, world: World, apps: Apps) -> None:
        self._world = world
        self._begun: dict[str, ClaimedJob] = {}
        self._unjudged: list[Message] = []
        self._verbs: dict[str, Callable[[list[str], dict[str, str]], None]] = {
            "submit": self._submit,
            "finish": lambda jobs, _: self._run(jobs, Ending.DONE),
            "fail": lambda jobs, _: self._run(jobs, Ending.ERROR),
            "start": lambda jobs, _: self._start(jobs),
            "end": lambda jobs, _: self._end(jobs),
            "judge": lambda jobs, _: self._judge(),
            "repeat": lambda jobs, _: self._repeat(jobs),
            "cancel": lambda jobs, _: self._cancel(jobs),
            "withdraw": lambda ids, _: [world.cancel(id) for id in ids],
            "wait": lambda seconds, _: world.tick(after_s=float(seconds[0])),
            "lose": lambda jobs, _: self._lose(),
        }
        self._define(apps)

    def take(self, step: str) -> None:
        """Do the step, and check its result."""
        done, _, expected = step.partition("=>")
        self.do(done.strip())
        found = self._world.states()
        told = states(expected)
        assert found == told, f"after {done.strip()}: {_in_words(found)}"

    def do(self, done: str) -> None:
        verb, _, rest = done.partition(" ")
        if verb == "define":
            self._define(rest)
            return
        words = dict(word.split("=") for word in rest.split() if "=" in word)
        self._verbs[verb]([word for word in rest.split() if "=" not in word], words)

    def work_off(self) -> None:
        """Run ready jobs until none is left."""
        while ready := self._world.ready():
            self._run(sorted(ready), Ending.DONE)

    def _define(self, apps: Apps) -> None:
        if apps == STOLOS:
            self._world.catalogue = load([str(STOLOS_APPS)])
        elif isinstance(apps, str):
            self._world.apps(apps)
        else:
            self._world.define(apps)

    def _submit(self, jobs: list[str], words: dict[str, str]) -> None:
        own = {word: words.pop(word) for word in _SUBMISSION if word in words}
        policy = {word: int(value) if value.isdigit() else value for word, value in words.items()}
        keys: dict[str, list[str]] = {}
        for app, key in map(_named, jobs):
            keys.setdefault(app, []).append(key)
        rows = [{"app": app, "keys": keys[app], **own, "policy": policy} for app in keys]
        raws = tuple(msgspec.Raw(msgspec.json.encode(row)) for row in rows)
        self._world.queue.append(SubmitMany(id=str(uuid4()), submissions=raws))
        self._world.deliver()

    def _run(self, jobs: list[str], ending: Ending) -> None:
        for job in jobs:
            self._world.finish(job, ending)

    def _start(self, jobs: list[str]) -> None:
        for job in jobs:
            claimed = self._world.claim(job)
            assert claimed is not None, f"{job} cannot be started"
            self._begun[job] = claimed

    def _end(self, jobs: list[str]) -> None:
        for job in jobs:
            outcome = Outcome(ending=Ending.DONE)
            messages, refused = transactions.record(self._world.ledger, {self._begun.pop(job).right: outcome})
            assert not refused
            self._unjudged.extend(messages)

    def _judge(self) -> None:
        self._world.queue.extend(self._unjudged)
        self._unjudged.clear()
        self._world.deliver()

    def _lose(self) -> None:
        self._unjudged.clear()
        self._world.lose_messages()

    def _repeat(self, jobs: list[str]) -> None:
        for job in jobs:
            assert self._world.claim(job) is None

    def _cancel(self, jobs: list[str]) -> None:
        for app, key in map(_named, jobs):
            self._world.queue.append(Cancel(app=app, key=key))
            self._world.deliver()


def states(text: str) -> dict[str, State]:
    """Return the state of each job in ``ready A B/2, waiting C``."""
    found = {}
    for part in filter(None, text.strip().split(",")):
        state, *jobs = part.split()
        found.update(dict.fromkeys(jobs, State(state)))
    return found


def _named(job: str) -> tuple[str, str]:
    app, _, key = job.partition("/")
    return app, key or "1"


def _in_words(found: Mapping[str, State]) -> str:
    return ", ".join(f"{state} {job}" for job, state in sorted(found.items()))
