"""A worker and a client behind a pooler with fewer connections than the worker has threads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from sluice import JobRequest, connect
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import jobs
from sluice.ledger.recovery.invariants import breaches
from tests.live.fleet import fleet
from tests.poolers import SERVER_CONNECTIONS, pgbouncer

APPS = str(Path(__file__).parent / "pooled.py")
KEYS = 12


@pytest.mark.timeout(240)
@pytest.mark.parametrize("tracks_statements", [True, False])
def test_work_of_all_kinds_is_done_through_a_pooler_and_a_client_waits_for_it(
    ledger: Ledger, live_ledger_url: str, redis: str, tmp_path: Path, tracks_statements: bool
) -> None:
    with psycopg.connect(live_ledger_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS public.written (key text PRIMARY KEY)")
        connection.execute("TRUNCATE public.written")
    with (
        pgbouncer(live_ledger_url, tracks_statements=tracks_statements) as pooler,
        pytest.MonkeyPatch.context() as patch,
        fleet(
            1,
            tmp_path,
            ledger=live_ledger_url,
            broker=redis,
            apps=APPS,
            threads=4 * SERVER_CONNECTIONS,
            SLUICE_LEDGER_POOLER_URL=pooler.url,
        ) as workers,
    ):
        patch.setenv("SLUICE_LEDGER_POOLER_URL", pooler.url)
        with (
            connect(ledger_url=live_ledger_url, broker_url=redis) as client,
            ThreadPoolExecutor(4) as threads,
        ):
            wanted = [JobRequest(app=app, key=str(x)) for app in ("writing", "voyage") for x in range(KEYS)]
            handles = [client.submit(each) for each in wanted]
            ends = list(threads.map(lambda handle: handle.wait(timeout=100), handles))
            assert {end.state for end in ends} == {State.SUCCEEDED}, workers.log()[-3000:]
        assert workers.terminate() == [0]
    errors = [line for line in workers.log().splitlines() if " ERROR " in line or " CRITICAL " in line]
    assert len(errors) == KEYS, "only the first rounds of an app fail"
    assert ledger.transact(breaches) == []
    assert ledger.transact(lambda tx: jobs(tx, State.SUCCEEDED)) == 6 * KEYS
    with psycopg.connect(live_ledger_url) as connection:
        assert connection.execute("SELECT count(*) FROM public.written").fetchone() == (KEYS,)
