"""A short run of all faults at once, and checks that each fault really happened to a working process.

``SLUICE_CHAOS_SECONDS`` sets its length and ``SLUICE_CHAOS_BROKER`` the broker: RabbitMQ in ``make check``, Redis in
``make night``. ``python -m tests.chaos`` runs for longer, and with other seeds.
"""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from tests import clocks
from tests.broker.proxy import Break
from tests.chaos import acts
from tests.chaos.acts import HABITS, PLACES, Kind
from tests.chaos.database import Database
from tests.chaos.figures import written
from tests.chaos.fleet import ALL, Apps, Fleet
from tests.chaos.record import Record, read
from tests.chaos.run import Options, Result, run
from tests.chaos.wires import Urls
from tests.chaos.workload import SHAPES, Workload
from tests.private_servers import PATH

SECONDS = float(os.environ.get("SLUICE_CHAOS_SECONDS", "20"))
BROKER = os.environ.get("SLUICE_CHAOS_BROKER", "rabbit")
_PROGRAMS = {"rabbit": "rabbitmq-server", "redis": "redis-server"}
#: Length of the shortest run in which every kind of act occurs, in seconds.
SECONDS_MIN = 5.0


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """Return the result of a finished run, and its record folder."""
    _required(_PROGRAMS[BROKER], shutil.which(_PROGRAMS[BROKER], path=PATH))
    clocks.require()
    folder = tmp_path_factory.mktemp(BROKER)
    options = Options(seconds=max(SECONDS, SECONDS_MIN), seed=1, broker=BROKER, keep=folder)
    return run(options), folder


@pytest.mark.timeout(1800)
def test_a_chaos_run_breaks_no_rule_and_loses_no_submission(ended: tuple[Result, Path]) -> None:
    result, folder = ended
    assert not result.violations, "\n".join(
        [*result.violations, written(result.figures), f"the record is in {folder}"]
    )
    assert not result.figures.lost


@pytest.mark.timeout(1800)
def test_each_kind_of_fault_happened_during_the_run(ended: tuple[Result, Path]) -> None:
    figures = ended[0].figures
    assert {kind.name for kind in Kind} <= figures.acts.keys()
    assert figures.acts["back"] == figures.acts[Kind.BROKER_DEATH.name] + figures.acts[Kind.LEDGER_DEATH.name]
    assert figures.messages > 0
    # A connection broke on each side of a request to each server. An armed break may find no request to end.
    assert {f"{side}, {where}" for side in ("broker", "ledger") for where in Break} <= figures.broken.keys()


@pytest.mark.timeout(1800)
def test_jobs_of_every_kind_ran_during_the_run(ended: tuple[Result, Path]) -> None:
    result, folder = ended
    effects = [line for path in (folder / "effects").glob("*.jsonl") for line in read(path)]
    assert len(effects) >= result.figures.starts > 0
    assert {
        *("crown", "foot", "link0", "link4", "leaf", "extract", "collect", "voyage", "nap", "beat"),
        *("stamp", "narrow", "brittle", "cell", "errand", "chore"),
    } <= {line["app"] for line in effects}
    # Each job id in the effects was found in the ledger.
    assert all(line["job"] > 0 for line in effects)
    by = Counter(line["by"] for line in read(folder / "submitted.jsonl"))
    assert by.keys() == {"ledger", "message", "http"}
    assert result.figures.transitions > 5 * result.figures.jobs > 0


def test_a_seed_determines_the_acts_of_a_run() -> None:
    assert acts.drawn(7, 60) == acts.drawn(7, 60)
    assert acts.drawn(7, 60) != acts.drawn(8, 60)


@pytest.mark.parametrize("seed", range(20))
def test_even_the_shortest_run_contains_each_kind_of_act(seed: int) -> None:
    drawn = acts.drawn(seed, SECONDS_MIN)
    assert {act.kind for act in drawn} == set(Kind)
    assert all(0 < act.at_s < SECONDS_MIN for act in drawn)


def test_in_a_long_run_each_kind_of_act_has_about_its_mean_frequency() -> None:
    times = Counter(act.kind for act in acts.drawn(3, 3600))
    for kind, habit in HABITS.items():
        # The rarest kind comes 120 times. A third more or less is further off than three standard deviations.
        assert times[kind] == pytest.approx(3600 / habit.every_s, rel=1 / 3), kind


def test_acts_hit_every_place_and_both_servers() -> None:
    hit = {act.whom for act in acts.drawn(5, 600)}
    assert hit >= {*PLACES, "broker", "ledger"}


def test_a_seed_determines_the_submissions_of_a_run() -> None:
    one, same, other = Workload(1), Workload(1), Workload(2)
    asked = [one.next() for _ in range(200)]
    assert asked == [same.next() for _ in range(200)]
    assert asked != [other.next() for _ in range(200)]
    first, every = asked[: len(SHAPES)], {each.app for each in asked}
    assert {"crown", "foot", "root", "crop", "report", "cleanse", "voyage", "nap"} <= every
    assert {"stamp", "narrow", "brittle", "cell", "errand", "chore", "report"} <= {each.app for each in first}
    assert any(each.rerun for each in first)


def test_ending_the_fleet_reports_workers_that_exited_by_themselves(tmp_path: Path) -> None:
    urls = Urls("redis://127.0.0.1:1", "postgresql://127.0.0.1:1/nowhere")
    leaving = (sys.executable, "-c", "raise SystemExit(7)")
    with ExitStack() as stack:
        record = Record(tmp_path / "record")
        fleet = Fleet(stack, record, tmp_path, urls=urls, apps=Apps(["nowhere"], ["app"]), command=leaving)
        fleet.start()
        while any(worker.runs for worker in fleet):
            time.sleep(0.01)
        assert fleet.end() == dict.fromkeys(ALL, 7)


def test_a_process_sees_a_jump_of_its_clock_and_sleeps_normally(tmp_path: Path) -> None:
    clocks.require()
    made = clocks.Clock(tmp_path / "clock")
    made.put(3600)
    found = [_told(made) for _ in range(2)]
    assert all(3590 < off_s < 3610 for off_s in found)
    made.put(-3600)
    assert -3610 < _told(made) < -3590


def _told(made: clocks.Clock) -> float:
    """Return how many seconds the clock of a Python process is off after a short sleep."""
    code = "import time; time.sleep(0.01); print(time.time())"
    environment = os.environ | made.environment()
    asked = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return float(asked.stdout) - time.time()


def _required(name: str, found: object) -> None:
    if found:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{name} is missing; install it: `make servers` does so", pytrace=False)
    pytest.skip(f"install {name}: the faults of this test need it")


def test_a_deadlock_is_found_in_the_log_of_the_database(tmp_path: Path) -> None:
    """Have two transactions lock two rows in opposite orders."""
    database = Database(tmp_path)
    try:
        with psycopg.connect(database.url, autocommit=True) as one, psycopg.connect(database.url) as other:
            one.execute("CREATE TABLE pair (id int PRIMARY KEY); INSERT INTO pair VALUES (1), (2)")
            one.execute("BEGIN")
            one.execute("SELECT 1 FROM pair WHERE id = 1 FOR UPDATE")
            other.execute("SELECT 1 FROM pair WHERE id = 2 FOR UPDATE")
            waiting = Thread(target=_lock, args=(one, 2))
            waiting.start()
            _lock(other, 1)
            other.rollback()
            waiting.join()
        (deadlock,) = database.deadlocks()
        assert deadlock.count("SELECT 1 FROM pair") >= 2
    finally:
        database.close()


def _lock(connection: psycopg.Connection[Any], row: int) -> None:
    """Lock the row, or be the side that the database aborts."""
    with suppress(psycopg.errors.DeadlockDetected):
        connection.execute("SELECT 1 FROM pair WHERE id = %s FOR UPDATE", (row,))
    if connection.info.transaction_status == TransactionStatus.INERROR:
        connection.rollback()
