"""A tenant that floods the installation does not hold up the jobs of another tenant."""

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias

import pytest

from sluice.actors.client import Client
from sluice.broker.connect import connect
from sluice.jobs.model.submission import Submission
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import fleet, wait_until
from tests.servers import rabbitmq_url, redis_url

_LOG = logging.getLogger("sluice.tests")

_Server: TypeAlias = Callable[[], AbstractContextManager[str]]

APPS = str(Path(__file__).parent / "two_teams.py")
#: Jobs of a flood, in one submission or in one each.
FLOOD = 100_000
#: Jobs of the flood that may start during a turn of the small tenant: 60. 9 to 33 do, when the turn begins and ends.
#: If workers took a job of each tenant by turns, it would be more than 100, although the turn would take only 1.5 times
#: as long.
FLOOD_STARTS_MAX = 60
_STARTED = "SELECT count(*) FROM round JOIN job ON job.id = round.job WHERE app = 'flood'"
_TURN = """
SELECT extract(epoch FROM turn.planned_at - turn.received_at)::float8, (
    SELECT count(*) FROM round JOIN job ON job.id = round.job
    WHERE job.app = 'flood' AND round.running_at BETWEEN turn.planned_at AND turn.ended_at)
FROM submission AS turn WHERE turn.app = 'small' ORDER BY turn.number DESC LIMIT 1
"""
_COUNTS = "SELECT state, count(*) FROM job WHERE app = %(app)s GROUP BY state"


def _one_submission(client: Client) -> None:
    client.submit(Submission(app="flood"))


def _single_submissions(client: Client) -> None:
    client.submit_many([Submission(app="flood", key=str(key)) for key in range(FLOOD)])


def _seconds_of_small(client: Client, turn: int) -> float:
    """Submit the next hundred jobs of the small tenant, and return the seconds until all have succeeded."""
    keys = tuple(str(key) for key in range(100 * turn, 100 * turn + 100))
    began = time.monotonic()
    status = client.wait(client.submit(Submission(app="small", keys=keys)), timeout_s=300)
    assert status.state == "succeeded"
    return time.monotonic() - began


def _started(ledger: Ledger) -> int:
    return int(ledger.transact(lambda tx: tx.column(_STARTED))[0])


class _Turn(NamedTuple):
    """A hundred jobs of the small tenant beside the flood. ``flood_starts`` are jobs of the flood that began between
    their plan and their end."""

    seconds: float
    planned_after_s: float
    flood_starts: int

    @classmethod
    def beside(cls, client: Client, ledger: Ledger, turn: int) -> Self:
        seconds = _seconds_of_small(client, turn)
        return cls(seconds, *ledger.transact(lambda tx: tx.rows(_TURN))[0])


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("server", "flood"),
    [(rabbitmq_url, _one_submission), (redis_url, _one_submission), (redis_url, _single_submissions)],
)
def test_a_flood_does_not_hold_up_another_tenant(
    ledger: Ledger, live_ledger_url: str, folder: Path, server: _Server, flood: Callable[[Client], None]
) -> None:
    """The small tenant has three turns. If one takes long, the starts of the flood's jobs show whether its jobs had the
    slots, or whether the ledger was slow.

    The broker is new. Otherwise workers would read the messages of an earlier flood beside the tenant that is alone.
    """
    with (
        server() as url,
        closing(connect(url)) as broker,
        fleet(2, folder, ledger=live_ledger_url, broker=url, apps=APPS, threads=4) as workers,
    ):
        client = Client(ledger, broker.publish)
        _seconds_of_small(client, 0)
        alone_s = _seconds_of_small(client, 1)
        flood(client)
        wait_until(lambda: _started(ledger) > 1_500, within_s=120, explain=workers.log)
        turns = [_Turn.beside(client, ledger, number) for number in (2, 3, 4)]
        ran = dict(ledger.transact(lambda tx: tx.rows(_COUNTS, app="flood")))
    beside_s = max(turn.seconds for turn in turns)
    _LOG.info("alone %.2f s, beside the flood %.2f s, %.2f times", alone_s, beside_s, beside_s / alone_s)
    _LOG.info("beside the flood: %s; jobs of the flood: %s", turns, ran)
    assert ran.get(State.SUCCEEDED, 0) < sum(ran.values()), "the flood was over too early"
    told = f"alone {alone_s}, beside the flood {turns}"
    assert beside_s < 1.5 * alone_s, told
    assert max(turn.flood_starts for turn in turns) < FLOOD_STARTS_MAX, told
    assert ledger.transact(breaches) == []
