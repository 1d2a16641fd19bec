"""Figures of a run, from its record and its ledger."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from sluice.jobs.model.history import Lost
from sluice.jobs.states import REQUEUE
from sluice.ledger.database.connection import Ledger
from tests.chaos.acts import Kind
from tests.chaos.fleet import LEASE_S, TICK_S
from tests.chaos.record import read

#: Seconds within which the jobs of a killed worker should be taken back.
BOUND_S = LEASE_S + TICK_S

_COUNTS = """
SELECT (SELECT count(*) FROM transition), (SELECT count(*) FROM job), (SELECT count(*) FROM submission)
"""
_LOST = f"""
SELECT app, key, transition.claim, extract(epoch FROM at)::float8 FROM transition JOIN job ON job.id = transition.job
WHERE verb = '{REQUEUE.name}' AND note = '{Lost.LEASE_LOST}'
"""
_MISSING = """
SELECT id FROM unnest(%(ids)s::text[]) AS told (id)
WHERE NOT EXISTS (SELECT 1 FROM submission WHERE submission.id = told.id)
"""


class Spread(Struct, frozen=True):
    """Distribution of some durations, in seconds."""

    count: int
    p50_s: float
    p99_s: float

    def __str__(self) -> str:
        return f"p50 {self.p50_s:.2f} s, p99 {self.p99_s:.2f} s (of {self.count})" if self.count else "none"


#: Maximum number of characters of a line about a deadlock.
LINE_CHARS = 1000


class Figures(Struct, frozen=True, kw_only=True):
    """Figures of a run.

    ``taken_back``: seconds from a SIGKILL until the ledger took the claims of that worker back. ``in_time``: how many
    of these took at most a lease and a tick. ``begun_again``: seconds until such a job began under another claim,
    including its wait for a worker. ``after_broker`` and ``after_ledger``: seconds from a server's return to the next
    start of a job.
    """

    transitions: int
    jobs: int
    submissions: int
    accepted: int
    lost: Sequence[str]
    starts: int
    acts: dict[str, int]
    messages: int
    broken: dict[str, int]
    deadlocks: Sequence[str]
    taken_back: Spread
    in_time: int
    begun_again: Spread
    after_broker: Spread
    after_ledger: Spread
    settled_s: float


def figures(
    ledger: Ledger, folder: Path, *, broken: dict[str, int], deadlocks: Sequence[str], settled_s: float
) -> Figures:
    accepted = [line["id"] for line in read(folder / "submitted.jsonl")]
    nemesis = list(read(folder / "nemesis.jsonl"))
    starts = sorted(line["at"] for line in _effects(folder) if line["event"] == "start")
    ((transitions, jobs, submissions),) = ledger.transact(lambda tx: tx.rows(_COUNTS))
    taken_back, begun_again = _after_kills(ledger, folder, nemesis)
    return Figures(
        transitions=transitions,
        jobs=jobs,
        submissions=submissions,
        accepted=len(accepted),
        lost=ledger.transact(lambda tx: tx.column(_MISSING, ids=accepted)),
        starts=len(starts),
        acts=dict(Counter(line["act"] for line in nemesis)),
        messages=sum(line.get("messages", 0) for line in nemesis),
        broken=broken,
        deadlocks=deadlocks,
        taken_back=_spread(taken_back),
        in_time=sum(seconds <= BOUND_S for seconds in taken_back),
        begun_again=_spread(begun_again),
        after_broker=_spread(_first_after(nemesis, "broker", starts)),
        after_ledger=_spread(_first_after(nemesis, "ledger", starts)),
        settled_s=settled_s,
    )


def written(found: Figures) -> str:
    """Format the figures for people."""
    acts = [f"  {found.acts.get(kind.name, 0):5} {kind}" for kind in Kind]
    return "\n".join(
        [
            f"{found.transitions} transitions of {found.jobs} jobs, begun {found.starts} times",
            f"{found.submissions} submissions, {found.accepted} of them known to be accepted, {len(found.lost)} lost",
            *acts,
            f"{found.messages} messages sent again",
            *(
                f"  {times:5} connections ended at a request to the {what}"
                for what, times in found.broken.items()
            ),
            f"{len(found.deadlocks)} deadlocks, of which the database has ended one side, which was run again",
            *(f"    {line[:LINE_CHARS]}" for each in found.deadlocks for line in each.strip().splitlines()),
            f"taken back after a SIGKILL: {found.taken_back}; {found.in_time} in a lease and a tick, {BOUND_S:.1f} s",
            f"begun again after that SIGKILL: {found.begun_again}",
            f"first job after the broker's return: {found.after_broker}",
            f"first job after the database's return: {found.after_ledger}",
            f"all was terminal {found.settled_s:.1f} s after the end",
        ]
    )


def _after_kills(
    ledger: Ledger, folder: Path, nemesis: Sequence[dict[str, Any]]
) -> tuple[list[float], list[float]]:
    ahead_s = json.loads((folder / "run.json").read_text())["monotonic_to_epoch_s"]
    lost = {tuple(name): at for *name, at in ledger.transact(lambda tx: tx.rows(_LOST))}
    begun: defaultdict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for line in _effects(folder):
        claims = begun[line["app"], line["key"]]
        claims[line["claim"]] = min(line["at"], claims.get(line["claim"], math.inf))
    taken_back, begun_again = [], []
    for kill in nemesis:
        if kill["act"] != Kind.KILL.name:
            continue
        lines = list(read(folder / "effects" / f"{kill['session']}.jsonl"))
        for app, key, claim in {(line["app"], line["key"], line["claim"]) for line in lines}:
            if (app, key, claim) not in lost:
                continue
            taken_back.append(lost[app, key, claim] - ahead_s - kill["at"])
            later = [at for number, at in begun[app, key].items() if number > claim]
            begun_again += [min(later) - kill["at"]] if later else []
    return taken_back, begun_again


def _first_after(nemesis: Sequence[dict[str, Any]], whom: str, starts: Sequence[float]) -> list[float]:
    backs = [line["at"] for line in nemesis if line["act"] == "back" and line["whom"] == whom]
    firsts = [(back, next((at for at in starts if at > back), None)) for back in backs]
    return [first - back for back, first in firsts if first is not None]


def _effects(folder: Path) -> Iterator[dict[str, Any]]:
    for path in (folder / "effects").glob("*.jsonl"):
        yield from read(path)


def _spread(times_s: list[float]) -> Spread:
    if not times_s:
        return Spread(0, math.nan, math.nan)
    ordered = sorted(times_s)
    return Spread(
        len(ordered), ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    )
