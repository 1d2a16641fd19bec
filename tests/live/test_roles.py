"""A whole installation in which each part has a database role with no more rights than it needs."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery.invariants import breaches
from tests.ledger.role_ledgers import Roled, roled
from tests.live.fleet import PIPELINE, fleet, wait_until
from tests.ops.typist import Typist

#: All commands that only read, with their arguments.
LOOKS = (
    *("ls", "submissions", "workers", "audit", "freshness third 7", "demand"),
    *("show third 7", "why third 7", "logs third 7", "parents third 7", "children first 7", "graph third 7"),
    *("db check", "metrics", "schedules ls", "apps branches"),
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Roled]:
    with roled(tmp_path / "postgres") as made:
        yield made


@pytest.mark.timeout(300)
def test_a_pipeline_runs_with_a_database_role_for_each_part(
    place: Roled, rabbitmq: str, folder: Path
) -> None:
    """Submit by SQL as ``submitter``, plan as ``control``, run as ``worker``, and read as ``reader``."""
    control, worker = folder / "control", folder / "worker"
    control.mkdir()
    worker.mkdir()
    with (
        fleet(
            1,
            control,
            ledger=place.url("control"),
            broker=rabbitmq,
            queues="planner,groomer,scheduler",
            SLUICE_KEEP_HISTORY="1d",
        ) as planning,
        fleet(1, worker, ledger=place.url("worker"), broker=rabbitmq, queues="first,second,third") as running,
    ):
        with place.connect("submitter") as connection:
            connection.execute("""SELECT sluice.submit('{"app": "third", "key": "7", "id": "theirs"}')""")
        wait_until(
            lambda: _state(place) == "succeeded",
            within_s=90,
            explain=lambda: planning.log() + running.log(),
        )
        assert running.terminate() + planning.terminate() == [0, 0]
        assert "permission denied" not in planning.log() + running.log()
    assert sorted(line[0] for line in running.lines()) == ["first", "second", "third"]
    _look_at_all(place, folder)
    ledger = Ledger(place.url("reader"), connections=1)
    assert ledger.transact(breaches) == []
    ledger.close()


def _look_at_all(place: Roled, folder: Path) -> None:
    reader = Typist(folder, SLUICE_LEDGER_URL=place.url("reader"), SLUICE_APPS=str(PIPELINE))
    for look in LOOKS:
        said = reader.types(*look.split())
        assert said.code == 0, f"{look}: {said.err}"
    refused = reader.types("submit", "third", "8")
    assert (refused.code, "does not let this role do it" in refused.err) == (2, True), refused.err


def _state(place: Roled) -> str:
    with psycopg.connect(place.admin_url) as connection:
        row = connection.execute("SELECT state FROM submission WHERE id = 'theirs'").fetchone()
    return str(row[0]) if row else ""
