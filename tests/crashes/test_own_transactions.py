"""A worker is killed at ten places around the commit of a job's own transaction. Each job takes effect once.

The jobs use psycopg, SQLAlchemy and Django, ``job.transaction`` and ``flight.transaction``.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from sluice.actors.client import Client
from sluice.jobs.model.submission import Submission
from sluice.jobs.observe.failpoints import Failpoint
from sluice.ledger.database.connection import Ledger
from sluice.ledger.database.conninfo import complete
from tests.crashes.victims import WITHIN_S, Victims, work
from tests.live.fleet import wait_until
from tests.servers import redis_url
from tests.world import empty

APPS = ("by_transaction", "by_psycopg", "by_sqlalchemy", "by_django", "by_flight")
PLACES = (
    "run_ended",  # First, because then no other job runs.
    "begins",
    "in_the_transaction",
    "after_the_first_write",
    "after_the_second_write",
    "before_the_success",
    "after_the_success",
    "during_the_commit",
    "after_the_commit",
    "before_the_return",
)
#: Places of which the effects exist when the process dies.
COMMITTED = ("during_the_commit", "after_the_commit", "before_the_return", "run_ended")
#: Key of the advisory lock that the commit of a job ``during_the_commit`` waits for.
_LOCK = 7_301
_TABLES = f"""
DROP TABLE IF EXISTS public.booked;
CREATE TABLE public.booked (job text, part text);
CREATE OR REPLACE FUNCTION public.rest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.job LIKE '%during_the_commit' THEN PERFORM pg_advisory_xact_lock_shared({_LOCK}); END IF; RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER rests AFTER INSERT ON public.booked DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.part = 'second') EXECUTE FUNCTION public.rest();
"""
_IN_TRANSACTION = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()
"""
_BOOKED = "SELECT part FROM public.booked WHERE job = %s"
_STATES = "SELECT app || '/' || key, state, claim FROM job WHERE state <> 'succeeded'"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("app", APPS)
def test_a_job_takes_effect_once_wherever_its_worker_is_killed(
    app: str, embedded_url: str, tmp_path: Path
) -> None:
    with _bank(app, embedded_url, tmp_path) as (ledger, victims, database), ExitStack() as living:
        client = Client(ledger, lambda _: None)
        queues = ("--queues", f"planner,groomer,scheduler,{app}", "--threads", "2")
        for place in PLACES:
            client.submit(Submission(app=app, key=place))
            settings = {"SLUICE_FAILPOINT": f"{Failpoint.RUN_ENDED.word}@1"} if place == "run_ended" else {}
            with victims.living(work, *queues, **settings) as process:
                process.join(WITHIN_S)
                assert process.exitcode == 1, victims.log()
            parts = _parts_when_ended(database, f"{app}/{place}")
            assert parts == (["first", "second"] if place in COMMITTED else []), place
        living.enter_context(victims.living(work, *queues))
        wait_until(
            lambda: not database.execute(_STATES).fetchall(),
            within_s=120,
            explain=lambda: f"{database.execute(_STATES).fetchall()}\n{victims.log()}",
        )
        booked = Counter(database.execute("SELECT job, part FROM public.booked").fetchall())
        jobs = [f"{app}/{place}" for place in PLACES]
        assert booked == Counter((job, part) for job in jobs for part in ("first", "second"))
        succeeded = "SELECT count(*) FROM transition WHERE target = 'succeeded'"
        assert database.execute(succeeded).fetchone() == (len(PLACES),)


def _parts_when_ended(database: psycopg.Connection, job: str) -> list[str]:
    """Return the effects of a job whose process is dead, once its last transaction has ended."""
    wait_until(lambda: database.execute(_IN_TRANSACTION).fetchone() == (0,), within_s=10)
    return [part for (part,) in database.execute(_BOOKED, (job,))]


@contextmanager
def _bank(app: str, url: str, folder: Path) -> Iterator[tuple[Ledger, Victims, psycopg.Connection]]:
    with ExitStack() as opened:
        ledger = Ledger(url)
        opened.callback(ledger.close)
        ledger.transact(empty)
        database = opened.enter_context(psycopg.connect(complete(url), autocommit=True))
        database.execute(_TABLES)
        environment = {
            "SLUICE_APPS": str(Path(__file__).parent / "teller.py"),
            "SLUICE_LEDGER_URL": url,
            "SLUICE_BROKER_URL": opened.enter_context(redis_url()),
            "SLUICE_HOME": str(folder / "home"),
            "SLUICE_LEASE": "3s",
            "SLUICE_TICK": "200ms",
            "TELLER_URL": url,
            "TELLER_LOCK": str(_LOCK),
        }
        yield ledger, Victims(folder / "log", environment), database
