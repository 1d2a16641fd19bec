"""Overlapping submissions that two processes plan at the same time.

Each partition is made once, and both submissions get all partitions that they requested.
"""

import json
import logging
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sluice.actors.executor import transactions
from sluice.actors.planner import handlers
from sluice.broker.messages import Execute, Executed, JobRound
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import read_span, without_version
from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery import leases
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import ROOT

_LOG = logging.getLogger("sluice.tests")

PAIRS = 200
LINEAGES = 8
#: Days that belong to one pair of submissions. A pair requests days among the last ``ASKED`` of them.
DAYS_EACH = 40
ASKED = 12
_DAYS = Calendar("day")
_FIRST = _DAYS.read("2001-01-01")
#: Seconds between the request and the moment at which both processes begin to plan.
NOTICE_S = 0.003

_READY = f"SELECT id, app, round FROM job WHERE state = '{State.READY}' ORDER BY app, id"
_RUNS = f"""
SELECT job.app, job.key, count(*) FILTER (WHERE transition.target = '{State.RUNNING}'),
       count(*) FILTER (WHERE transition.target = '{State.SUCCEEDED}')
FROM job JOIN transition ON transition.job = job.id GROUP BY job.id
"""
_SUBMISSIONS = "SELECT state, count(*) FROM submission GROUP BY state"


def _drawn_lineage(rng: random.Random, number: int) -> dict[str, Any]:
    """Draw two to four tables. Each reads a random choice of the tables before it, from some days back."""
    apps: dict[str, Any] = {}
    for place in range(rng.randint(2, 4)):
        reads = [name for name in apps if rng.random() < 0.7]
        apps[f"l{number}_t{place}"] = {
            "bash_cmd": "true",
            "partition": "day",
            "step_size": rng.randint(1, 5),
            "table_dependencies": [{"table": table, "start_offset": rng.randint(0, 5)} for table in reads],
        }
    return apps


class Expected:
    """Expected partitions, computed one day at a time."""

    def __init__(self, apps: dict[str, Any]) -> None:
        self._apps = apps
        self.made: set[tuple[str, int]] = set()

    def ask(self, app: str, first: int, last: int) -> None:
        for day in range(first, last + 1):
            if (app, day) not in self.made:
                self.made.add((app, day))
                for each in self._apps[app]["table_dependencies"]:
                    self.ask(each["table"], day - each["start_offset"], day)


class Racer:
    """Process that plans submissions. Two of them race."""

    def __init__(self, definitions: Path, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.live.racing_planner", str(definitions), url],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "here"

    def plan(self, at_s: float, id_: str, words: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([at_s, id_, words]) + "\n")
        self._process.stdin.flush()

    def span_s(self) -> tuple[float, float]:
        """Return the times at which planning began and ended."""
        began_s, ended_s = json.loads(self._answer())
        return began_s, ended_s

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait(timeout=20) == 0

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.mark.timeout(180)
def test_overlapping_submissions_planned_at_the_same_time_make_each_partition_once(
    ledger: Ledger, live_ledger_url: str, folder: Path
) -> None:
    seed = int(os.environ.get("SLUICE_TEST_SEED", time.time_ns() % 100_000))
    _LOG.info("SLUICE_TEST_SEED=%d draws the same again", seed)
    rng = random.Random(seed)
    apps = {name: words for n in range(LINEAGES) for name, words in _drawn_lineage(rng, n).items()}
    definitions = folder / "apps.json"
    definitions.write_text(json.dumps(apps))
    expected, together = Expected(apps), 0
    worker = _Worker(ledger, load([str(definitions)]))
    racers = [Racer(definitions, live_ledger_url) for _ in range(2)]
    for pair in range(PAIRS):
        together += _plan_at_once(rng, racers, expected, pair)
        worker.work_off()
    for racer in racers:
        racer.close()
    _check(ledger, expected, f"SLUICE_TEST_SEED={seed}")
    _LOG.info("%d of %d pairs were planned at the same time", together, PAIRS)
    assert together > PAIRS / 4, "they did not race"


def _plan_at_once(rng: random.Random, racers: list[Racer], expected: Expected, pair: int) -> bool:
    """Have two submissions of one lineage with overlapping days planned.

    Return whether they were planned at the same time.
    """
    lineage = rng.randrange(LINEAGES)
    tables = [name for name in expected._apps if name.startswith(f"l{lineage}_")]
    end = _FIRST + (pair + 1) * DAYS_EACH
    at_s = time.time() + NOTICE_S
    for place, racer in enumerate(racers):
        app = rng.choice(tables[-2:])
        first, last = sorted(rng.randrange(end - ASKED, end) for _ in range(2))
        expected.ask(app, first, last)
        words = {"app": app, "start": _DAYS.write(first), "end": _DAYS.write(last)}
        racer.plan(at_s, f"{pair}-{place}", words)
    (begins, ends) = zip(*(racer.span_s() for racer in racers), strict=True)
    return max(begins) < min(ends)


class _Worker:
    """Worker that runs all ready jobs and has them judged."""

    def __init__(self, ledger: Ledger, catalogue: Catalogue) -> None:
        self._ledger = ledger
        self._catalogue = catalogue
        self._id = uuid4()
        ledger.transact(
            lambda tx: leases.join(tx, self._id, host="test", pid=1, queues=[], threads=1, lease_s=3600)
        )

    def work_off(self) -> None:
        while ready := self._ledger.transact(lambda tx: tx.rows(_READY)):
            for hint in _hints(ready):
                claimed, _ = transactions.claim(self._ledger, self._catalogue, hint, self._id)
                outcomes = {each.right: Outcome(ending=Ending.DONE) for each in claimed}
                transactions.record(self._ledger, outcomes)
                executed = Executed(jobs=tuple(each.id for each in claimed))
                handlers.executed(self._ledger, self._catalogue, executed)


def _hints(ready: list[tuple[int, str, int]]) -> Iterator[Execute]:
    for app in sorted({app for _, app, _ in ready}):
        yield Execute(app=app, jobs=tuple(JobRound(id, turn) for id, of, turn in ready if of == app))


def _check(ledger: Ledger, expected: Expected, seed: str) -> None:
    assert ledger.transact(breaches) == [], seed
    assert dict(ledger.transact(lambda tx: tx.rows(_SUBMISSIONS))) == {"succeeded": 2 * PAIRS}, seed
    made: Counter[tuple[str, int]] = Counter()
    for app, key, claims, successes in ledger.transact(lambda tx: tx.rows(_RUNS)):
        assert (claims, successes) == (1, 1), f"{app}/{key} {seed}"
        span = read_span(_DAYS, without_version(key)[0])
        made.update((app, day) for day in range(span.first, span.last + 1))
    assert set(made.values()) == {1}, seed
    assert made.keys() == expected.made, seed
