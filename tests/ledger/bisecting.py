"""Chunks with poison in them, and what has to be true of them when nothing is left to do."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from sluice.actors import executor, groomer
from sluice.actors.handlers import handle
from sluice.broker.messages import Execute, Message, Tick
from sluice.jobs.outcome import Ending, Outcome
from sluice.jobs.states import State
from sluice.jobs.work_ids import WorkId, ids_of
from sluice.ledger.reads.check import breaches
from tests.ledger.races import StoppingLedger
from tests.world import World

_JOBS = "SELECT app, key, state, work_ids FROM job ORDER BY id"


class Chunk(NamedTuple):
    name: str
    state: State
    ids: tuple[WorkId, ...]


class Farm:
    """``"a:6 -> b:3"``: apps keyed by chunk, by six and by three, of which b needs a; a failed chunk is bisected.

    A run fails if it has an ID that is poison. ``runs`` are the app and the IDs of each, in order; ``good`` those that
    succeeded.
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
        """Run whatever is ready, the first first, until nothing is; at most so many."""
        for _ in range(until):
            ready = [chunk for chunk in self.chunks() if chunk.state is State.READY]
            if not ready:
                return
            self.run(ready[0].name)

    def run(self, name: str, *, fails: bool | None = None) -> None:
        """Run this one; whether it fails its IDs say, unless we do. Every rule of the ledger holds after it."""
        ids = self.ids(name)
        self.runs.append((name.partition("/")[0], ids))
        is_bad = bool(self.poison & set(ids)) if fails is None else fails
        if not is_bad:
            self.good.append(self.runs[-1])
        self.world.finish(name, Ending.ERROR if is_bad else Ending.DONE)
        assert self.world.ledger.transact(breaches) == []

    def fail(self, name: str) -> list[Message]:
        """It has run and failed; whoever judges it is yet to hear of that."""
        claimed = self.world.claim(name)
        assert claimed is not None
        self.runs.append((claimed.app, self.ids(name)))
        outcome = Outcome(ending=Ending.ERROR, error="it broke")
        messages, _ = executor.record(self.world.ledger, {claimed.right: outcome})
        return list(messages)

    def time_out(self, name: str) -> list[Message]:
        """It has run over its timeout of 5 s and ended; whoever tells its children is yet to hear of that."""
        claimed = self.world.claim(name)
        assert claimed is not None
        self.runs.append((claimed.app, self.ids(name)))
        self.world.now += timedelta(seconds=8)
        messages = groomer.tick(self.world.ledger, self.world.catalogue, Tick())
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
        """What became of each ID; each is in one job that was not split, and no other."""
        pairs = [
            (id_, chunk.state)
            for chunk in self.chunks(app)
            if chunk.state is not State.SPLIT
            for id_ in chunk.ids
        ]
        assert len(dict(pairs)) == len(pairs), "an ID is in two jobs"
        return dict(pairs)

    def done(self, app: str) -> Counter[WorkId]:
        """How often a run that had the ID succeeded."""
        return Counter(id_ for of, ids in self.good if of == app for id_ in ids)

    def assert_poison_stands_alone(self, app: str, ids: Iterable[WorkId]) -> None:
        """Poison IDs failed, each in a job of its own; the others each succeeded once."""
        ids = set(ids)
        come_to = self.come_to(app)
        assert come_to == {id_: State.FAILED if id_ in self.poison else State.SUCCEEDED for id_ in ids}
        assert [
            chunk.ids for chunk in self.chunks(app) if chunk.state is State.FAILED and len(chunk.ids) > 1
        ] == []
        assert self.done(app) == Counter(ids - self.poison)


class _Dead(Exception):
    """The process that was in the middle of this is dead."""


class _DyingLedger(StoppingLedger):
    """Where the other one stops it dies."""

    def _gate(self) -> None:
        self._left -= 1
        if self._left == -1:
            raise _Dead


def die_over(world: World, messages: Iterable[Message], *, before: int) -> bool:
    """Handle these, and die before the statement of this number; whether there are so many."""
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
