"""Sagas across apps, on workers that are killed.

In the end each is complete, or undone in order, or parked and named.
"""

import logging
import random
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import Submission, SubmissionState
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import Fleet, fleet, wait_until
from tests.live.voyage_stories import Asked, Story, asked_of, jobs_of, saga_of
from tests.live.voyages import APART, DAYS, FIRST_DAY, RANKS, UNDOES

_LOG = logging.getLogger("sluice.tests")

VOYAGES = Path(__file__).parent / "voyages.py"
VOYAGE_COUNT = 100
SEASON_COUNT = 50
#: Voyages that are cancelled while they are under way, or for which at least a cancellation is tried.
CALLED_OFF = range(0, VOYAGE_COUNT, 9)
KILL_EVERY_S = 2.0
KILLS_MIN = 6

_OPEN = {SubmissionState.RECEIVED, SubmissionState.ACTIVE}


@pytest.mark.timeout(600)
def test_sagas_across_apps_end_complete_undone_or_parked(
    ledger: Ledger, live_ledger_url: str, broker_url: str, folder: Path
) -> None:
    broker = connect(broker_url)
    client = Client(ledger, broker.publish)
    with fleet(3, folder, ledger=live_ledger_url, broker=broker_url, apps=str(VOYAGES)) as workers:
        asked = [*_voyages(), *_seasons()]
        client.submit_many(asked)
        unrest = _Unrest(client, ledger, workers)
        wait_until(
            lambda: _is_over(asked_of(ledger)) and workers.kills >= KILLS_MIN,
            within_s=400,
            meanwhile=unrest,
            explain=lambda: f"{_open(ledger)}, {workers.kills} kills\n{workers.log()[-3000:]}",
        )
        story = Story(ledger, folder, [each.require_id() for each in asked])
        for saga in story.sagas:
            story.check(saga)
        assert all((story.parked, story.undone, story.whole))

        (folder / "effects.mended").touch()
        client.submit_many(story.tried_again())
        wait_until(
            lambda: not _to_undo(ledger),
            within_s=200,
            meanwhile=unrest,
            explain=lambda: f"{_to_undo(ledger)}\n{workers.log()[-3000:]}",
        )
    broker.close()
    mended = Story(ledger, folder, [each.require_id() for each in asked])
    for saga in mended.sagas:
        mended.check_undone(saga)
    assert ledger.transact(breaches) == []
    ends = f"{len(story.whole)} whole, {len(story.undone)} undone, {len(story.parked)} parked"
    _LOG.info("%s, %d workers killed", ends, workers.kills)


def _voyages() -> Iterator[Submission]:
    """Yield the voyages. Half of them request the last app, and half the first one, which triggers the others."""
    for n in range(VOYAGE_COUNT):
        yield Submission(app="book" if n % 2 else "arrive", key=str(n), mode="saga", id=f"voyage-{n}")


def _seasons() -> Iterator[Submission]:
    for n in range(SEASON_COUNT):
        start = FIRST_DAY + timedelta(days=n * APART)
        end = start + timedelta(days=DAYS - 1)
        yield Submission(app="publish", start=f"{start}", end=f"{end}", mode="saga", id=f"season-{n}")


class _Unrest:
    """Disturbance: workers are killed at random, and some voyages are cancelled."""

    def __init__(self, client: Client, ledger: Ledger, workers: Fleet) -> None:
        self._client = client
        self._ledger = ledger
        self._workers = workers
        self._rng = random.Random(11)
        self._kill_at = time.monotonic()
        self._to_call_off = {f"voyage-{n}": random.Random(n).randrange(1, 10) for n in CALLED_OFF}

    def __call__(self) -> None:
        if time.monotonic() > self._kill_at:
            self._workers.kill_one(self._rng)
            self._kill_at = time.monotonic() + self._rng.expovariate(1 / KILL_EVERY_S)
        for id_ in self._begun():
            del self._to_call_off[id_]
            try:
                self._client.cancel(id_)
            except BadRequest:
                _LOG.info("%s had ended before it was called off", id_)

    def _begun(self) -> list[str]:
        """Return the voyages to cancel of which enough jobs have succeeded, or which have ended."""
        if not self._to_call_off:
            return []
        jobs = jobs_of(self._ledger)
        done: dict[str, int] = {}
        for (app, key), ran in jobs.items():
            if app in RANKS and ran.has_succeeded:
                done[saga_of(app, key)] = done.get(saga_of(app, key), 0) + 1
        asked = asked_of(self._ledger)
        return [
            id_
            for id_, count in self._to_call_off.items()
            if done.get(id_, 0) >= count or asked[id_].state not in _OPEN
        ]


def _is_over(asked: Mapping[str, Asked]) -> bool:
    """Return whether all submissions have ended, and those with a bad end have a compensation."""
    bad = {SubmissionState.FAILED, SubmissionState.CANCELLED}
    return all(each.state not in _OPEN for each in asked.values()) and all(
        f"{id_}/compensation" in asked
        for id_, each in asked.items()
        if each.state in bad and not id_.endswith("/compensation")
    )


def _open(ledger: Ledger) -> dict[str, Asked]:
    return {id_: each for id_, each in asked_of(ledger).items() if each.state in _OPEN}


def _to_undo(ledger: Ledger) -> list[tuple[str, str]]:
    return [
        name
        for name, ran in jobs_of(ledger).items()
        if name[0] in UNDOES and ran.state is not State.SUCCEEDED
    ]
