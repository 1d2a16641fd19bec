"""Five hundred flights at once, on workers that are killed. Each has all of its effects, or none, or is named."""

import logging
import random
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import Fleet, fleet, wait_until
from tests.live.flights import STAGES

_LOG = logging.getLogger("sluice.tests")

FLIGHTS = Path(__file__).parent / "flights.py"
COUNT = 500
KILL_EVERY_S = 1.5
KILLS_MIN = 6
_ENDS = {State.SUCCEEDED, State.FAILED, State.FATAL}
_ERROR = """
SELECT error FROM round JOIN job ON job.id = round.job WHERE job.key = %(key)s ORDER BY round.claim DESC LIMIT 1
"""


@pytest.mark.timeout(600)
def test_sagas_on_killed_workers_end_with_all_effects_or_none_or_fatal(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    keys = [str(n) for n in range(COUNT)]
    with fleet(3, folder, ledger=live_ledger_url, broker=broker_url, apps=str(FLIGHTS)) as workers:
        client.submit_many([Submission(app="journey", key=key, id=f"journey{key}") for key in keys])
        unrest = _Unrest(client, ledger, workers)
        wait_until(
            lambda: unrest.is_done() and workers.kills >= KILLS_MIN,
            within_s=400,
            meanwhile=unrest,
            explain=lambda: f"{_by_state(ledger)}, {workers.kills} kills\n{workers.log()[-3000:]}",
        )
    broker.close()
    states = _states(ledger)
    calls = _calls(folder)
    for key in keys:
        _check(ledger, folder, key, states[key], calls[key])
    assert set(states.values()) == _ENDS
    assert ledger.transact(breaches) == []
    _LOG.info("%d flights, %d workers killed, %s", COUNT, workers.kills, _by_state(ledger))


class _Unrest:
    """Disturbance: workers are killed at random. Half of the sagas that will wait get their events in advance."""

    def __init__(self, client: Client, ledger: Ledger, workers: Fleet) -> None:
        self._client = client
        self._ledger = ledger
        self._workers = workers
        self._rng = random.Random(7)
        self._kill_at = self._look_at = time.monotonic()
        self._early = {str(key) for key in range(0, COUNT, 2)}

    def is_done(self) -> bool:
        return len(_states(self._ledger)) == COUNT and set(_by_state(self._ledger)) <= _ENDS

    def __call__(self) -> None:
        for key in [*self._early][:5]:
            self._tell_early(key)
        if time.monotonic() > self._look_at:
            for key, event in self._waiting():
                self._client.resume_job(JobName("journey", key), event)
            self._look_at = time.monotonic() + 0.5
        if time.monotonic() > self._kill_at:
            self._workers.kill_one(self._rng)
            self._kill_at = time.monotonic() + self._rng.expovariate(1 / KILL_EVERY_S)

    def _tell_early(self, key: str) -> None:
        try:
            for stage in range(STAGES):
                self._client.resume_job(JobName("journey", key), f"go{stage}")
        except BadRequest:
            if key not in _states(self._ledger):
                return  # It has not been planned yet.
        self._early.discard(key)

    def _waiting(self) -> list[tuple[str, str]]:
        return self._ledger.transact(
            lambda tx: tx.rows(f"SELECT key, event FROM job WHERE state = '{State.SUSPENDED}'")
        )


def _check(ledger: Ledger, folder: Path, key: str, state: State, calls: list[tuple[str, int]]) -> None:
    made = {int(file.suffix[1:]) for file in folder.glob(f"effects.journey.{key}.made.*")}
    done = [step for call, step in calls if call == "do"]
    undone = [step for call, step in calls if call == "undo"]
    story = f"journey/{key} is {state}: {calls}"
    assert calls == [*(("do", step) for step in done), *(("undo", step) for step in undone)], story
    assert [step for step, _ in groupby(done)] == [*range(max(done) + 1)], story
    assert [step for step, _ in groupby(undone)] == [*_down(max(done), undone)], story
    if state is State.SUCCEEDED:
        assert (made, undone, max(done)) == ({*range(STAGES)}, [], STAGES - 1), story
    elif state is State.FAILED:
        assert (made, undone[-1]) == (set(), 0), story
    else:
        assert made == {*range(undone[-1] + 1)}, story
        told = ledger.transact(lambda tx: tx.column(_ERROR, key=key))[0]
        assert f"DISMAL FAILURE: undo of Stage{undone[-1]} failed" in told, told


def _down(first: int, undone: list[int]) -> Iterator[int]:
    """Return the steps from the failed one down to the last undone one, without a gap."""
    return iter(range(first, undone[-1] - 1, -1)) if undone else iter(())


def _states(ledger: Ledger) -> dict[str, State]:
    rows = ledger.transact(lambda tx: tx.rows("SELECT key, state FROM job"))
    return {key: State(state) for key, state in rows}


def _by_state(ledger: Ledger) -> dict[State, int]:
    rows = ledger.transact(lambda tx: tx.rows("SELECT state, count(*) FROM job GROUP BY state"))
    return {State(state): count for state, count in rows}


def _calls(folder: Path) -> dict[str, list[tuple[str, int]]]:
    calls: dict[str, list[tuple[str, int]]] = {}
    for line in (folder / "effects").read_text().splitlines():
        _, key, call, step = line.split()
        calls.setdefault(key, []).append((call, int(step)))
    return calls
