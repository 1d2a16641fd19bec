"""Chunks with poison IDs, and the checks on them when no work is left."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from sluice.actors.executor import transactions
from sluice.actors.groomer import ticks
from sluice.actors.worker.handlers import handle
from sluice.broker.messages import Execute, Message, Tick
from sluice.jobs.keys.work_ids import WorkId, ids_of
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.recovery.invariants import breaches
from tests.ledger.races import StoppingLedger
from tests.world import World

_JOBS = "SELECT app, key, state, work_ids FROM job ORDER BY id"


class Chunk(NamedTuple):
    name: str
    state: State
    ids: tuple[WorkId, ...]


class Farm:
    """Apps keyed by chunk. ``"a:6 -> b:3"``: ``a`` has chunks of 6 IDs, ``b`` has chunks of 3 and needs ``a``.

    A failed chunk is bisected. A run fails if it has a poison ID. ``runs`` has the app and the IDs of each run, in
    order, and ``good`` the successful runs among them.
    """

    def __init__(self, world: World, text: str, **words: Any) -> None:
        self.world = world
        self.poison: set[WorkId] = set()
        self.runs: list[tuple[str, tuple[WorkId, ...]]] = []
        self.good: list[tuple[str, tuple[WorkId, ...]]] = []
        self.define(text, **words)

    def define(self, text: str, **words: Any) -> None:
        parts = [part.strip().partition(":") for part in text.split("->")]
        common = {"bash_cmd": "true", "on_failure": "bisect"} | words
        apps: dict[str, dict[str, Any]] = {
            name: {"chunk_size": int(size), **common} for name, _, size in parts
        }
        for parent, child in pairwise(apps):
            apps[child]["dependencies"] = [{"job_type": parent, "max_lag": 0}]
        self.world.define(apps)

    def submit(self, app: str, ids: Sequence[Any], **words: Any) -> str:
        return self.world.submit(app, None, work_ids=list(ids), **words)

    def work(self, *, until: int = 10_000) -> None:
        """Run the first ready chunk again and again until none is ready, at most ``until`` times."""
        for _ in range(until):
            ready = [chunk for chunk in self.chunks() if chunk.state is State.READY]
            if not ready:
                return
            self.run(ready[0].name)

    def run(self, name: str, *, fails: bool | None = None) -> None:
        """Run a chunk, then check every rule of the ledger. Default of ``fails``: true if it has a poison ID."""
        ids = self.ids(name)
        self.runs.append((name.partition("/")[0], ids))
        is_bad = bool(self.poison & set(ids)) if fails is None else fails
        if not is_bad:
            self.good.append(self.runs[-1])
        self.world.finish(name, Ending.ERROR if is_bad else Ending.DONE)
        assert self.world.ledger.transact(breaches) == []

    def fail(self, name: str) -> list[Message]:
        """Run a chunk that fails. Return the messages for the planner, which has not judged it yet."""
        claimed = self.world.claim(name)
        assert claimed is not None
        self.runs.append((claimed.app, self.ids(name)))
        outcome = Outcome(ending=Ending.ERROR, error="it broke")
        messages, _ = transactions.record(self.world.ledger, {claimed.right: outcome})
        return list(messages)

    def time_out(self, name: str) -> list[Message]:
        """Run a chunk over its timeout of 5 s, so that the groomer ends it. Its end is not propagated yet.

        Return the messages that make the planner propagate it.
        """
        claimed = self.world.claim(name)
        assert claimed is not None
        self.runs.append((claimed.app, self.ids(name)))
        self.world.now += timedelta(seconds=8)
        messages = ticks.tick(self.world.ledger, self.world.catalogue, Tick())
        # The same tick notifies idle workers again of ready jobs, which no planner handles.
        return [message for message in messages if not isinstance(message, Execute)]

    def chunks(self, app: str | None = None) -> list[Chunk]:
        rows = self.world.ledger.transact(lambda tx: tx.rows(_JOBS))
        return [
            Chunk(f"{of}/{key}", State(state), tuple(ids_of(parts)))
            for of, key, state, parts in rows
            if app in (None, of)
        ]

    def ids(self, name: str) -> tuple[WorkId, ...]:
        return tuple(ids_of(self.world.field(name, "work_ids")))

    def come_to(self, app: str) -> dict[WorkId, State]:
        """Return the state of each ID, and check that each is in exactly one job that was not split."""
        pairs = [
            (id_, chunk.state)
            for chunk in self.chunks(app)
            if chunk.state is not State.SPLIT
            for id_ in chunk.ids
        ]
        assert len(dict(pairs)) == len(pairs), "an ID is in two jobs"
        return dict(pairs)

    def done(self, app: str) -> Counter[WorkId]:
        """Return for each ID the number of successful runs with it."""
        return Counter(id_ for of, ids in self.good if of == app for id_ in ids)

    def assert_poison_stands_alone(self, app: str, ids: Iterable[WorkId]) -> None:
        """Check that each poison ID failed in a job of its own, and that each other ID succeeded once."""
        ids = set(ids)
        come_to = self.come_to(app)
        assert come_to == {id_: State.FAILED if id_ in self.poison else State.SUCCEEDED for id_ in ids}
        assert [
            chunk.ids for chunk in self.chunks(app) if chunk.state is State.FAILED and len(chunk.ids) > 1
        ] == []
        assert self.done(app) == Counter(ids - self.poison)


class _Dead(Exception):
    """Raised when the process that handles a message dies."""


class _DyingLedger(StoppingLedger):
    """Ledger that dies where a ``StoppingLedger`` would stop."""

    def _gate(self) -> None:
        self._left -= 1
        if self._left == -1:
            raise _Dead


def die_over(world: World, messages: Iterable[Message], *, before: int) -> bool:
    """Handle messages, and die before the statement of this number. Return whether it was reached."""
    ledger = _DyingLedger(world.url, connections=1)
    ledger.time = lambda: world.now
    ledger.stop_before(before)
    try:
        for message in messages:
            world.queue.extend(handle(ledger, world.catalogue, message))
    except _Dead:
        world.lose_messages()
        return True
    finally:
        ledger.close()
    world.deliver()
    return False
