"""A process is killed at every failpoint, the first and the third time that it reaches it.

Committed work persists, uncommitted work is done again, and other processes need not know. So after every death the
ledger is consistent. When a process finally survives, each job ends and has left its line outside the ledger, and no
claim has left two. A failpoint that no process reaches fails the test.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sluice.broker.connect import connect
from sluice.broker.interface import Broker
from sluice.jobs.observe.failpoints import PLACES
from sluice.ledger.database.connection import Ledger
from tests.crashes.lanes import LANES, Lane
from tests.crashes.market import CONSOLE_TOKEN, Market
from tests.crashes.victims import Victims, order, up, work
from tests.jobs.receivers import receiving
from tests.live.fleet import wait_until
from tests.servers import rabbitmq_url, redis_url
from tests.world import empty

#: At the first time the ledger is almost empty. At the third time it contains the work of earlier processes.
TIMES = (1, 3)
ORDERED = ("1", "2", "3")


def test_every_failpoint_belongs_to_a_lane() -> None:
    visited = {point for lane in LANES for point in lane.points}
    assert visited == set(PLACES.values())


@pytest.mark.timeout(900)
@pytest.mark.parametrize("lane", LANES, ids=lambda lane: lane.name)
def test_no_work_is_lost_when_processes_are_killed_at_failpoints(
    lane: Lane, embedded_url: str, tmp_path: Path
) -> None:
    with _market(lane, embedded_url, tmp_path) as (market, victims), ExitStack() as living:
        bystander = None
        if lane.others:
            bystander = living.enter_context(victims.living(work, "--queues", ",".join(lane.others)))
        for point in lane.points:
            for time in TIMES:
                programs = tmp_path / f"programs.{point.word}.{time}"
                assert victims.dies(
                    lane.main,
                    *_arguments(lane, market),
                    at=point,
                    time=time,
                    meanwhile=lambda: market.ask(*lane.loads),
                    SLUICE_PROGRAMS_DIR=str(programs),
                ), f"nobody came to {point.word} for time {time}\n{victims.log()}"
                market.agrees()
        living.enter_context(victims.living(lane.main, *_arguments(lane, market)))
        if lane.main is order:
            market.want(*(f"bottom/{key}" for key in ORDERED))
        wait_until(market.is_over, within_s=120, explain=lambda: f"{market.left()}\n{victims.log()}")
        assert bystander is None or bystander.is_alive()
        market.check()


def _arguments(lane: Lane, market: Market) -> tuple[str, ...]:
    if lane.main is order:
        return ("bottom", *ORDERED)
    if lane.main is up:
        return ("--listen", f"127.0.0.1:{market.port}")
    return ("--queues", ",".join(lane.queues))


@contextmanager
def _market(lane: Lane, url: str, folder: Path) -> Iterator[tuple[Market, Victims]]:
    with ExitStack() as opened:
        ledger = Ledger(url)
        opened.callback(ledger.close)
        ledger.transact(empty)
        broker_url = "memory://"
        broker: Broker | None = None
        if lane.broker != "memory":
            broker_url = opened.enter_context({"rabbitmq": rabbitmq_url, "redis": redis_url}[lane.broker]())
            broker = connect(broker_url)
            opened.callback(broker.close)
        receiver = opened.enter_context(receiving())
        market = Market(ledger, broker, folder, receiver)
        environment = {
            "SLUICE_APPS": market.sources,
            "SLUICE_CONSOLE_TOKEN": CONSOLE_TOKEN,
            "SLUICE_LEDGER_URL": url,
            "SLUICE_BROKER_URL": broker_url,
            "SLUICE_HOME": str(folder / "home"),
            "SLUICE_LEASE": "3s",
            "SLUICE_TICK": "200ms",
            "SLUICE_KEEP_HISTORY": lane.keeps,
            "EFFECTS": str(market.effects),
            "NOTICE_URL": receiver.url,
            "SLUICE_NOTIFY_HOSTS": "127.0.0.1",
        }
        yield market, Victims(folder / "log", environment)
