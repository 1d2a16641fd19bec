"""A small run without a violation, made by the real handlers on a real ledger.

The effects of its jobs are written as a run writes them.
"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from sluice.actors.executor import transactions
from sluice.broker.messages import Look
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.lifecycle.claims import ClaimedJob
from tests.chaos import stamps
from tests.chaos.acts import Kind
from tests.chaos.history import Accepted, Effect, Run, Stopped
from tests.ledger.flights import STEPS, Sagas, did, switched, undid
from tests.world import LEASE_S, World

#: Seconds by which the machine's monotonic clock is behind the database's clock.
BEHIND_S = 1_000_000.0
_KEYED = {"job_id": "{x}", "bash_cmd": "true"}
_FIRM = {**_KEYED, "max_losses": 3, "max_fails": 2}
APPS = {
    "a": _FIRM,
    "b": _FIRM,
    "c": {**_FIRM, "depends_on": {"app_name": ["a", "b"]}},
    "d": _FIRM,
    "trip": _KEYED,
    "fall": _KEYED,
    "days": {"bash_cmd": "true", "partition": "day"},
    "often": _KEYED,
    "lone": {**_FIRM, "concurrency": 1},
    "schedules": {"s": {"app": "often", "key": "{due:%H%M%S}", "every": "10s"}},
}


class Told(World):
    """World in which each event of a job takes a second, and leaves a line."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.define(APPS)
        self.effects: list[Effect] = []
        self.accepted: list[Accepted] = []
        self.stopped: list[Stopped] = []

    def accept(self, app: str, key: str | None = "1", **words: str) -> str:
        """Submit as a client that gets the confirmation."""
        id_ = self.submit(app, key, id=f"{app}.{len(self.accepted)}", **words)
        self.accepted.append(Accepted(id_, app, "message"))
        return id_

    def do(self, event: str, claimed: ClaimedJob, *, step: str | None = None, pid: int = 1) -> None:
        self.now += timedelta(seconds=1)
        at = self.now.timestamp() - BEHIND_S
        words = {"event": event, "app": claimed.app, "key": claimed.key, "job": claimed.id, "at": at}
        self.effects.append(
            msgspec.convert({**words, "claim": claimed.claim, "pid": pid, "step": step}, Effect)
        )

    def begin(self, job: str, *, pid: int = 1) -> ClaimedJob:
        """Claim the job with a new worker, and begin it."""
        claimed = self.claim(job, worker=self.hire())
        assert claimed is not None, f"{job} cannot be claimed: it is {self.state(job)}"
        self.do("start", claimed, pid=pid)
        return claimed

    def stand_still(self, seconds: float) -> None:
        """Stop a worker for this many seconds, in which its lease ends."""
        self.stopped.append(Stopped(self.now.timestamp() - BEHIND_S, seconds))
        self.tick(after_s=seconds)

    def run(self, job: str) -> None:
        claimed = self.begin(job)
        self.do("end", claimed)
        assert self.record(claimed)

    def record(self, claimed: ClaimedJob, ending: Ending = Ending.DONE, **words: Any) -> bool:
        """Record the outcome as a worker does that takes on no further job. Return whether it was accepted."""
        outcomes = {claimed.right: Outcome(ending=ending, **words)}
        settled = transactions.settle(self.ledger, self.catalogue, outcomes)
        self.queue.extend(settled.messages)
        self.deliver()
        return not settled.refused

    def look(self, *, after_s: float = 0.0) -> None:
        self.now += timedelta(seconds=after_s)
        self.queue.append(Look())
        self.deliver()

    def write(self, folder: Path) -> None:
        """Write the record folder as a run does."""
        run = Run(seed=0, seconds=60.0, broker="memory", ledger=self.url, monotonic_to_epoch_s=BEHIND_S)
        (folder / "effects").mkdir()
        (folder / "run.json").write_bytes(msgspec.json.encode(run))
        (folder / "submitted.jsonl").write_bytes(_lines(self.accepted))
        nemesis = [{"act": Kind.STOP.name, "at": each.at, "for_s": each.for_s} for each in self.stopped]
        (folder / "nemesis.jsonl").write_bytes(_lines(nemesis))
        for pid in {effect.pid for effect in self.effects}:
            mine = [effect for effect in self.effects if effect.pid == pid]
            (folder / "effects" / f"{pid}.jsonl").write_bytes(_lines(mine))


def tell(url: str, folder: Path) -> None:
    """Play the whole history, on a ledger that it empties first."""
    with Told(url) as told:
        told.look()
        _parents_and_a_child(told)
        _one_that_nobody_wants(told)
        _two_sagas(told)
        _two_days(told)
        _due_times(told)
        _one_at_a_time(told)
        assert not {State(state) for state in told.states().values()} & {State.WAITING, State.READY}
        told.write(folder)


def _parents_and_a_child(told: Told) -> None:
    """Play two parents and their child.

    One parent fails once. The worker of the other is stopped, loses its claim, and continues too late.
    """
    told.accept("c")
    failed = told.begin("a")
    assert told.record(failed, Ending.ERROR, error="it broke")
    told.tick(after_s=100)
    still = told.begin("b", pid=2)
    told.stand_still(LEASE_S + 1)
    told.tick(after_s=1)
    second = told.begin("b")
    told.do("end", still, pid=2)
    told.do("end", second)
    assert not told.record(still)
    assert told.record(second)
    told.run("a")
    told.run("c")


def _one_that_nobody_wants(told: Told) -> None:
    told.cancel(told.accept("d"))
    told.accept("d", "2")
    told.run("d/2")


def _two_sagas(told: Told) -> None:
    """Play two sagas: one completes by two claims, one fails in its last step and is undone."""
    sagas = Sagas(told)
    told.accept("trip")
    first = sagas.claim("trip")
    _fly(told, first, 0)
    assert sagas.write(first, did(1)).stands
    assert told.record(first, Ending.HANDED_BACK)
    rest = sagas.claim("trip")
    for place in range(1, STEPS):
        _fly(told, rest, place)
        assert sagas.write(rest, did(place + 1)).stands
    sagas.end(rest)
    told.accept("fall")
    claimed = sagas.claim("fall")
    for place in range(STEPS - 1):
        _fly(told, claimed, place)
        assert sagas.write(claimed, did(place + 1)).stands
    told.do("start", claimed, step=f"S{STEPS - 1}")
    assert sagas.write(claimed, switched(STEPS, STEPS - 1)).stands
    for seq, place in enumerate(reversed(range(STEPS)), STEPS + 1):
        told.do("undo", claimed, step=f"S{place}")
        assert sagas.write(claimed, undid(seq, place)).stands
    sagas.end(claimed, Ending.ERROR, "it broke")


def _fly(told: Told, claimed: ClaimedJob, place: int) -> None:
    told.do("start", claimed, step=f"S{place}")
    told.do("end", claimed, step=f"S{place}")


def _two_days(told: Told) -> None:
    told.accept("days", None, start="2024-04-01", end="2024-04-02")
    for name in sorted(told.ready()):
        told.run(name)


def _due_times(told: Told) -> None:
    """Handle all due times so far, and two more."""
    for _ in range(3):
        told.look(after_s=10)
        for name in sorted(told.ready()):
            told.run(name)


def _one_at_a_time(told: Told) -> None:
    """Run two jobs of an app that allows one at a time. Each writes a stamp together with its success."""
    told.ledger.transact(lambda tx: tx.write(stamps.DROP))
    told.ledger.transact(lambda tx: tx.write(stamps.MAKE))
    told.accept("lone")
    told.accept("lone", "2")
    for key in ("1", "2"):
        told.run(f"lone/{key}")
        told.ledger.transact(lambda tx, key=key: tx.write(stamps.WRITE, app="lone", key=key, claim=1))


def _lines(records: Sequence[object]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)
