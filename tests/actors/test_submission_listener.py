"""Submissions by SQL: the leader is notified of them, and has them planned."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from sluice.actors.client import Client
from sluice.actors.scheduler.leader import Ticker
from sluice.actors.scheduler.submission_listener import SubmissionListener
from sluice.actors.settings.settings import Settings
from sluice.actors.worker import notify_listener
from sluice.actors.worker.definitions import Definitions
from sluice.actors.worker.notify_listener import RECONNECT_S
from sluice.actors.worker.process import Process
from sluice.broker.connect import connect
from sluice.broker.messages import Message, Plan
from sluice.jobs.model.submission import Submission
from sluice.ledger.database import notify
from sluice.ledger.database.connection import Ledger
from sluice.ledger.fixtures import empty
from sluice.ledger.recovery import leases
from sluice.ledger.recovery.groomer_steps import GRACE_S
from sluice.ledger.recovery.invariants import breaches
from tests.jobs.runners.runner_bench import eventually
from tests.world import World

#: A connection that still executes LISTEN receives nothing yet.
_LISTENERS = (
    f"FROM pg_stat_activity WHERE query = 'LISTEN {notify.SUBMISSIONS}' AND state = 'idle'"
    " AND datname = current_database()"
)


class Program:
    """Program that submits by SQL, and the messages of a listener of its ledger."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sent: list[Message] = []
        self.connection = psycopg.connect(world.url)
        self.listener = SubmissionListener(world.ledger, self.send)

    def send(self, messages: Sequence[Message]) -> None:
        self.sent += messages

    def submit(self, **request: str) -> str:
        """Submit in the open transaction of this program, and return the id."""
        asked = json.dumps({"app": "a", "key": "1"} | request)
        (id_,) = self.connection.execute("SELECT sluice.submit(%s::jsonb)", (asked,)).fetchone() or ("",)
        return str(id_)

    def announced(self) -> list[str]:
        """Return the announced submissions, once everything that was committed before has been received."""
        self.connection.execute("SELECT pg_notify(%s, 'sluice last')", (notify.SUBMISSIONS,))
        self.connection.commit()
        eventually(lambda: "last" in self._named())
        found = self._named()
        self.sent.clear()
        return found[: found.index("last")]

    def pids(self) -> list[int]:
        return self.world.ledger.transact(lambda tx: tx.column(f"SELECT pid {_LISTENERS}"))

    def cut_off(self) -> None:
        self.world.ledger.transact(lambda tx: tx.column(f"SELECT pg_terminate_backend(pid) {_LISTENERS}"))

    def _named(self) -> list[str]:
        return [id_ for message in self.sent if isinstance(message, Plan) for id_ in message.submissions]


@pytest.fixture
def program(world: World) -> Iterator[Program]:
    made = Program(world)
    with made.connection:
        made.listener.begin()
        eventually(lambda: len(made.pids()) == 1)
        yield made
        made.listener.end()
        # The server ends its side of a closed connection a moment later. The next test must not count it.
        eventually(lambda: made.pids() == [])


def test_a_submission_by_sql_is_announced_when_it_is_committed(program: Program) -> None:
    program.submit(id="undone")
    program.connection.rollback()
    kept = [program.submit(key="1"), program.submit(key="2", id="chosen id")]
    assert program.sent == []
    program.connection.commit()
    assert program.announced() == kept


def test_a_repeated_submission_is_not_announced(program: Program) -> None:
    program.submit(id="s")
    program.connection.commit()
    program.submit(id="s")
    assert program.announced() == ["s"]


def test_a_refused_submission_that_is_submitted_again_is_announced(program: Program) -> None:
    program.submit(id="s")
    program.connection.execute("UPDATE sluice.submission SET state = 'refused', ended_at = now()")
    program.connection.commit()
    program.submit(id="s")
    assert program.announced() == ["s", "s"]


def test_submissions_of_clients_are_not_announced_by_the_ledger(program: Program) -> None:
    client = Client(program.world.ledger, lambda messages: None)
    client.submit_many([Submission(app="a", key=key) for key in "12"])
    assert program.announced() == []


def test_submissions_to_another_ledger_of_the_database_are_not_announced(program: Program) -> None:
    for payload in ("other s", "sluice", "sluice ", ""):
        program.connection.execute("SELECT pg_notify(%s, %s)", (notify.SUBMISSIONS, payload))
    assert program.announced() == []


def test_a_transaction_can_leave_the_notification_out(program: Program) -> None:
    program.connection.execute("SET LOCAL sluice.notify = off")
    program.submit()
    program.connection.commit()
    told = program.submit()
    assert program.announced() == [told]


def test_many_submissions_of_one_transaction_are_announced_in_few_messages(program: Program) -> None:
    program.connection.execute(
        """SELECT sluice.submit(jsonb_build_object('app', 'a', 'key', 'k' || n, 'id', 'n' || n))
           FROM generate_series(1, 2500) AS n"""
    )
    program.connection.commit()
    eventually(lambda: sum(len(message.submissions) for message in program.sent) == 2500)
    sizes = [len(message.submissions) for message in program.sent if isinstance(message, Plan)]
    assert max(sizes) <= 1000
    assert set(program._named()) == {f"n{number}" for number in range(1, 2501)}


def test_a_connection_that_breaks_soon_is_made_again_and_logged_once(
    program: Program, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "sluice.outages")
    monkeypatch.setattr(notify_listener, "monotonic", lambda: 0.0)
    program.cut_off()
    eventually(lambda: "answers again" in caplog.text)
    assert caplog.text.count("is unreachable") == 1
    told = program.submit()
    assert program.announced() == [told]


def test_a_connection_that_breaks_after_a_long_time_is_made_again_and_not_logged(
    program: Program, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "sluice.outages")
    # Each reading is long after the one before, and after any reading of the real clock.
    monkeypatch.setattr(notify_listener, "monotonic", count(1e9, 10 * RECONNECT_S).__next__)
    before = program.pids()
    program.cut_off()
    # The old connection may remain visible for a moment. So one reading must show the new one.
    eventually(lambda: set(program.pids()) - set(before))
    told = program.submit()
    assert program.announced() == [told]
    assert not caplog.records


def test_only_the_process_that_leads_listens(program: Program) -> None:
    program.listener.end()
    eventually(lambda: len(program.pids()) == 0)
    world, holder = program.world, uuid4()
    ticker = Ticker(world.ledger, holder, program.send, period_s=1.0, submissions=program.listener)
    ticker.tick()
    ticker.tick()
    eventually(lambda: len(program.pids()) == 1)

    world.ledger.transact(lambda tx: tx.write("UPDATE leader SET holder = gen_random_uuid()"))
    ticker.tick()
    eventually(lambda: len(program.pids()) == 0)

    world.ledger.transact(lambda tx: tx.write("DELETE FROM leader"))
    assert world.ledger.transact(lambda tx: leases.take_leadership(tx, "scheduler", holder, term_s=3))
    ticker.tick()
    eventually(lambda: len(program.pids()) == 1)


def test_a_process_plans_a_submission_by_sql_sooner_than_the_groomer_finds_it(
    ledger_url: str, tmp_path: Path
) -> None:
    source = tmp_path / "apps.json"
    source.write_text(json.dumps({"a": {"job_id": "{x}", "bash_cmd": "true"}}))
    settings = Settings(apps=(str(source),), tick_s=0.1, lease_s=3.0, grace_s=5.0)
    with closing(Ledger(ledger_url)) as ledger, closing(connect("memory://")) as broker:
        ledger.transact(empty)
        process = Process(settings, Definitions(settings), ledger, broker, threads=1)
        process.start()
        try:
            eventually(lambda: ledger.transact(lambda tx: tx.column(f"SELECT count(*) {_LISTENERS}")) == [1])
            with psycopg.connect(ledger_url) as program:
                program.execute("""SELECT sluice.submit('{"app": "a", "key": "1", "id": "s"}')""")
            eventually(lambda: ledger.transact(lambda tx: tx.column(_WAITED_S)) != [None])
            assert ledger.transact(lambda tx: tx.column(_WAITED_S))[0] < GRACE_S
        finally:
            process.stop()
        assert ledger.transact(breaches) == []


_WAITED_S = "SELECT extract(epoch FROM planned_at - received_at)::float FROM submission WHERE id = 's'"
