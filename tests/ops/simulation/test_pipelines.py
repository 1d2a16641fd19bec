"""The fixture ``pipeline``: users' definitions in virtual time, with all kinds of keys and with injected faults."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from sluice.jobs.examples import shops
from sluice.ops.simulation.pipeline import NeverQuiet, NoSuchJob
from sluice.ops.simulation.plugin import Pipelines
from sluice.testing import Faults, Took

HOUR_S = 3600.0
BY_SHOP: dict[str, Any] = {
    "fetch": {
        "job_id": "{date}_{shop}",
        "identifiers": {"date": "date"},
        "autofill_values": {"shop": ["graz", "oslo", "porto", "turku"]},
        "max_fails": 2,
        "max_losses": 100,
        "retry": {"rule": "fixed", "seconds": 600},
        "bash_cmd": "exit 3",
    },
    "report": {
        "job_id": "{date}",
        "identifiers": {"date": "date"},
        "depends_on": {"app_name": ["fetch"], "shop": "all"},
        "max_losses": 100,
        "bash_cmd": "echo of {date}",
    },
}
TWO_STEPS = """
from sluice import Step, saga

class First(Step):
    def do(self, flight): ...
    def undo(self, flight): ...

class Second(First): ...

@saga(job_id="{n}")
def two(flight):
    return [First(), Second()]
"""
BAD_NIGHT = Faults(
    lose=0.3,
    double=0.2,
    delay_s_max=2.0,
    crash_before_commit=0.03,
    crash_after_commit=0.03,
    kill_worker_every_s=1800,
)


@pytest.fixture
def source(tmp_path: Path) -> Any:
    """Return a function that writes definitions to a file and returns its path."""

    def write(apps: dict[str, Any]) -> str:
        path = tmp_path / "apps.json"
        path.write_text(json.dumps(apps))
        return str(path)

    return write


def test_each_job_runs_once_in_virtual_time(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(source(BY_SHOP), work={"fetch": HOUR_S, "report": 60})
    asked = run.submit("report", "2026-11-20")
    run.until_quiet()
    assert run.submission(asked) == "succeeded"
    assert run.states() == {
        **{f"fetch/20261120_{shop}": "succeeded" for shop in ("graz", "oslo", "porto", "turku")},
        "report/20261120": "succeeded",
    }
    assert run.ran("fetch") == 4
    assert run.took_s() == HOUR_S + 60
    assert [state for _, state in run.transitions("report", "2026-11-20")] == [
        *("waiting", "ready", "running", "executed", "succeeded")
    ]


@pytest.mark.parametrize("seed", [0, 1, 8])
def test_a_lost_tick_is_followed_by_another(pipeline: Pipelines, tmp_path: Path, seed: int) -> None:
    """With these seeds, the tick that would take a saga back from a dead worker is lost."""
    (tmp_path / "two.py").write_text(TWO_STEPS)
    run = pipeline(str(tmp_path / "two.py"), faults=Faults(lose=0.2, crash_between=0.2), seed=seed)
    run.submit("two", "1")
    run.until_quiet()
    assert run.state("two", "1") == "succeeded"


def test_a_retry_waits_for_the_pause_of_its_rule(pipeline: Pipelines, source: Any) -> None:
    breaks_twice = {"fetch": lambda job: Took(5, error="no answer" if job.round < 2 else None)}
    run = pipeline(source(BY_SHOP), work=breaks_twice)
    run.submit("fetch", "2026-11-20_oslo")
    run.until_quiet()
    assert run.state("fetch", "2026-11-20_oslo") == "succeeded"
    began = [at_s for at_s, state in run.transitions("fetch", "2026-11-20_oslo") if state == "running"]
    waits = [later - earlier for earlier, later in pairwise(began)]
    assert all(605 <= wait <= 608 for wait in waits), waits
    assert len(waits) == 2


def test_a_job_that_exceeds_its_timeout_is_timed_out(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(
        source({"slow": {"job_id": "{x}", "bash_cmd": "true", "timeout": 30}}), work={"slow": HOUR_S}
    )
    run.submit("slow", "1")
    run.until_quiet()
    assert run.state("slow", "1") == "timed_out"
    assert run.took_s() == 30


def test_a_job_does_not_begin_before_its_start_after(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(source(BY_SHOP), starts="2026-11-20T00:00:00Z")
    run.submit("fetch", "2026-11-20_oslo", policy={"start_after": "2026-11-20T05:00:00Z"})
    run.until_quiet()
    (began_s,) = (at for at, state in run.transitions("fetch", "2026-11-20_oslo") if state == "running")
    assert 5 * HOUR_S <= began_s <= 5 * HOUR_S + 2


def test_what_if_limits_how_many_jobs_run_at_once(pipeline: Pipelines, source: Any) -> None:
    took_s = {}
    for limit in (4, 2, 1):
        run = pipeline(source(BY_SHOP), work={"fetch": HOUR_S}, what_if={"fetch": {"concurrency": limit}})
        run.submit("report", "2026-11-20")
        run.until_quiet()
        assert run.most_at_once("fetch") == limit
        took_s[limit] = run.took_s("fetch")
    assert took_s == {4: HOUR_S, 2: 2 * HOUR_S, 1: 4 * HOUR_S}


def test_with_fewer_threads_the_jobs_take_longer(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(source(BY_SHOP), work={"fetch": HOUR_S}, workers=1, threads=2)
    run.submit("report", "2026-11-20")
    run.until_quiet()
    assert run.most_at_once() == 2
    assert run.took_s("fetch") == 2 * HOUR_S


def test_all_jobs_succeed_in_spite_of_injected_faults(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(source(BY_SHOP), work={"fetch": HOUR_S, "report": 60}, faults=BAD_NIGHT, seed=7)
    run.submit("report", "2026-11-20")
    run.until_quiet()
    assert set(run.states().values()) == {"succeeded"}
    assert len(run.faults()) > 10


def test_a_worker_that_dies_in_its_heartbeat_loses_its_job(pipeline: Pipelines, source: Any) -> None:
    for seed in range(8):
        words = {"job_id": "{n}", "bash_cmd": "true", "max_losses": 50}
        run = pipeline(source({"a": words}), work=60, faults=Faults(crash_after_commit=0.2), seed=seed)
        run.submit("a", "1")
        run.until_quiet()
        assert run.took_s() < HOUR_S


@pytest.mark.parametrize("lose", [0.0, 0.3])
def test_a_job_of_a_repeated_claim_is_given_back_after_a_lease(
    pipeline: Pipelines, source: Any, lose: float
) -> None:
    """Show that the heartbeat of a worker gives back the jobs of a claim of which it has lost the answer. Nothing else
    is due then, and no job of the worker ends."""
    repeated = 0
    for seed in range(12):
        words = {"job_id": "{n}", "autofill_values": {"n": ["1", "2", "3"]}, "bash_cmd": "true"}
        faults = Faults(repeat_commit=0.3, lose=lose)
        run = pipeline(source({"a": words}), work=4 * HOUR_S, faults=faults, seed=seed)
        run.submit("a")
        run.until_quiet()
        assert set(run.states().values()) == {"succeeded"}
        for number in "123":
            begun = [at_s for at_s, state in run.transitions("a", number) if state == "running"]
            repeated += len(begun) - 1
            assert all(later - earlier < HOUR_S for earlier, later in pairwise(begun))
    assert repeated > 3


def test_the_seed_determines_the_whole_run(pipeline: Pipelines, source: Any) -> None:
    def night(seed: int) -> tuple[Any, ...]:
        run = pipeline(source(BY_SHOP), work={"fetch": HOUR_S}, faults=BAD_NIGHT, seed=seed)
        run.submit("report", "2026-11-20")
        run.until_quiet()
        return run.faults(), run.transitions("report", "2026-11-20"), run.took_s()

    first = night(3)
    assert night(3) == first
    assert night(4) != first


def test_commands_run_for_real_if_the_work_is_real(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(source(BY_SHOP), work={"fetch": 60, "report": Took(30, real=True)})
    run.submit("report", "2026-11-20")
    run.until_quiet()
    assert run.state("report", "2026-11-20") == "succeeded"
    real = pipeline(source(BY_SHOP), work=Took(1, real=True))
    real.submit("fetch", "2026-11-20_oslo")
    real.until_quiet()
    assert real.state("fetch", "2026-11-20_oslo") == "failed"
    assert real.ran("fetch") == 3


TALKING = """
import logging
from sluice import Step, app, saga

@app(job_id="{n}")
def talk(job, n):
    print("printed", n)
    logging.getLogger("acme").warning("logged")

class First(Step):
    def do(self, flight):
        print("booked")

@saga(job_id="{n}")
def trip(flight):
    return [First()]
"""


def test_a_job_that_runs_for_real_has_its_output(
    pipeline: Pipelines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talking.py").write_text(TALKING)
    run = pipeline(str(tmp_path / "talking.py"), work={"talk": Took(60, real=True)})
    run.submit("talk", "1")
    run.submit("talk", "2")
    run.submit("trip", "1")
    run.until_quiet()
    for key in ("1", "2"):
        printed, logged = run.output("talk", key).splitlines()
        assert (printed, logged.partition("Z ")[2]) == (f"printed {key}", "WARNING acme: logged")
    assert "booked" in run.output("trip", "1").splitlines()
    assert sorted(capsys.readouterr().out.splitlines()) == ["booked", "printed 1", "printed 2"]


def test_functions_are_accepted_in_place_of_names(pipeline: Pipelines) -> None:
    run = pipeline("sluice.jobs.examples.shops", work={"report": Took(1, real=True)})
    run.submit(shops.report, "20261120")
    run.until_quiet()
    assert run.state(shops.report, "20261120") == "succeeded"
    assert run.ran(shops.fetch) == 6
    assert run.took_s(shops.fetch) > 0
    assert "turnover of 6 shops on 2026-11-20" in run.output(shops.report, "20261120")


def test_the_job_of_an_app_without_identifiers_has_the_name_of_its_app(
    pipeline: Pipelines, tmp_path: Path
) -> None:
    (tmp_path / "one.py").write_text("from sluice import app\n\n@app\ndef hello(): return 3\n")
    run = pipeline(str(tmp_path / "one.py"), work={"hello": Took(1, real=True)})
    run.submit("hello")
    run.until_quiet()
    assert run.states() == {"hello": "succeeded"}
    assert run.result("hello", "") == 3


def test_a_failed_chunk_is_bisected_down_to_the_failing_work_id(pipeline: Pipelines, source: Any) -> None:
    apps = {
        "orders": {"chunk_size": 4, "bash_cmd": "true", "on_failure": "bisect"},
        "bills": {
            "chunk_size": 8,
            "bash_cmd": "true",
            "dependencies": [{"job_type": "orders", "max_lag": "1d"}],
        },
    }
    poison = {"orders": lambda job: Took(10, error="7 is broken" if 7 in job.work_ids else None)}
    run = pipeline(source(apps), work=poison)
    run.submit("orders", work_ids=[*range(1, 9)])
    run.until_quiet()
    ended = [state for name, state in run.states().items() if name.startswith("orders")]
    assert ended.count("failed") == 1
    assert ended.count("split") == 2


def test_partitions_wait_until_their_inputs_have_landed(pipeline: Pipelines, source: Any) -> None:
    reads = [{"table": "clicks", "start_offset": 0}]
    apps = {"daily": {"partition": "day", "step_size": 2, "bash_cmd": "true", "table_dependencies": reads}}
    run = pipeline(source(apps))
    run.submit("daily", start="2026-11-01", end="2026-11-04")
    run.land("clicks", "2026-11-01..2026-11-02")
    run.pass_time("1h")
    assert run.state("daily", "2026-11-01..2026-11-02") == "succeeded"
    assert run.state("daily", "2026-11-03..2026-11-04") == "waiting"
    with pytest.raises(NeverQuiet, match="daily/2026-11-03"):
        run.until_quiet(within="1d")
    run.land("clicks", "2026-11-03..2026-11-04")
    run.until_quiet()
    assert run.state("daily", "2026-11-03..2026-11-04") == "succeeded"


SAGA = """
from sluice import Step, Success, Wait, saga

class Book(Step):
    def do(self, flight):
        flight.context.add(flight.inputs["customer"])
    def undo(self, flight):
        flight.context.discard(flight.inputs["customer"])

class Confirm(Step):
    def do(self, flight):
        return Wait("confirmed", timeout="2d")
    def undo(self, flight):
        pass

@saga(job_id="{customer}")
def trip(flight):
    return [Book(), Confirm()]
"""


def test_a_flight_waits_for_an_event_and_is_undone_after_its_timeout(
    pipeline: Pipelines, tmp_path: Path
) -> None:
    path, seats = tmp_path / "trips.py", set[str]()
    path.write_text(SAGA)
    shaky = Faults(lose=0.2, crash_between=0.05, crash_before_commit=0.02, kill_worker_every_s=5 * HOUR_S)
    run = pipeline(str(path), contexts={"trip": seats}, faults=shaky)
    run.submit("trip", "ann")
    run.submit("trip", "bob")
    run.pass_time("1d")
    assert seats == {"ann", "bob"}
    assert run.states() == {"trip/ann": "suspended", "trip/bob": "suspended"}
    run.tell("trip", "ann", "confirmed")
    run.until_quiet()
    assert run.states() == {"trip/ann": "succeeded", "trip/bob": "failed"}
    assert seats == {"ann"}


def test_a_schedule_submits_its_job_every_night(pipeline: Pipelines, source: Any) -> None:
    nightly = {"app": "report", "key": "{due:%Y-%m-%d}", "cron": "30 2 * * *", "timezone": "UTC"}
    run = pipeline(source({**BY_SHOP, "schedules": {"nightly": nightly}}), starts="2026-11-20T12:00:00Z")
    run.pass_time("3d")
    assert [name for name in run.states() if name.startswith("report")] == [
        *("report/20261121", "report/20261122", "report/20261123")
    ]
    assert set(run.states().values()) == {"succeeded"}
    assert run.transitions("report", "2026-11-21")[0][0] == pytest.approx(14.5 * HOUR_S, abs=2)


ALERTS = {
    "receivers": {"chat": {"webhook": "${CHAT_URL}", "format": "slack"}},
    "notify": [{"on": ["failed", "recovered"], "app": "alert"}],
    "load": {
        "job_id": "{day}",
        "bash_cmd": "true",
        "due_within": "4h",
        "max_losses": 50,
        "notify": [
            {"on": ["failed"], "receiver": "chat"},
            {"on": ["failed"], "command": "page"},
            {"on": ["late", "recovered"], "webhook": "https://status.example.org/"},
        ],
    },
    "alert": {"job_id": "{event}", "bash_cmd": "true", "max_losses": 50},
}


def _sent(run: Any) -> list[tuple[str, str, float]]:
    return [(str(each.event), each.receiver.label, each.at_s) for each in run.notifications()]


def test_each_receiver_gets_its_notifications_in_virtual_time(pipeline: Pipelines, source: Any) -> None:
    works = False
    run = pipeline(source(ALERTS), work={"load": lambda _: Took(60, error=None if works else "no disk")})
    run.submit("load", "1")
    run.until_quiet()
    failed = run.notifications()
    labels = ["app alert", "command page", "webhook ${CHAT_URL}"]
    assert sorted(each.receiver.label for each in failed) == labels
    assert all(60 <= each.at_s <= 62 and (each.app, each.key) == ("load", "1") for each in failed)
    bodies = {each.receiver.label: each.body for each in failed}
    assert bodies["webhook ${CHAT_URL}"]["text"].startswith("*load/1* has failed\n```no disk```")
    assert bodies["command page"] == bodies["app alert"]
    assert (bodies["app alert"]["state"], bodies["app alert"]["error"]) == ("failed", "no disk")
    assert run.state("alert", bodies["app alert"]["id"]) == "succeeded"
    works = True
    run.submit("load", "1", rerun="job")
    run.until_quiet()
    recovered = [each for each in run.notifications() if each.event == "recovered"]
    assert sorted(each.receiver.label for each in recovered) == ["app alert"]
    assert run.states()[f"alert/{recovered[0].body['id']}"] == "succeeded"


def test_a_job_is_late_in_virtual_time_and_then_recovers(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(source(ALERTS), work={"load": 6 * HOUR_S})
    run.submit("load", "1")
    run.pass_time("4h 10s")
    assert [(event, label) for event, label, _ in _sent(run)] == [
        ("late", "webhook https://status.example.org")
    ]
    assert _sent(run)[0][2] == pytest.approx(4 * HOUR_S, abs=3)
    run.until_quiet()
    assert [event for event, _, _ in _sent(run)] == ["late", "recovered"]
    assert _sent(run)[1][2] == pytest.approx(6 * HOUR_S, abs=3)


@pytest.mark.parametrize("seed", range(4))
def test_notifications_survive_the_deaths_of_the_notifier(
    pipeline: Pipelines, source: Any, seed: int
) -> None:
    bad = Faults(crash_before_commit=0.05, crash_after_commit=0.05)
    run = pipeline(
        source(ALERTS), work={"load": Took(60, error="no disk"), "alert": 1}, faults=bad, seed=seed
    )
    for key in "12345":
        run.submit("load", key)
    run.until_quiet()
    got = {(each.key, each.receiver.label) for each in run.notifications()}
    labels = ("app alert", "command page", "webhook ${CHAT_URL}")
    assert got == {(key, label) for key in "12345" for label in labels}
    ids = {each.body["id"] for each in run.notifications() if each.receiver.app}
    assert {name for name in run.states() if name.startswith("alert")} == {f"alert/{id_}" for id_ in ids}
    assert len(ids) == 5
    assert any("notifier" in line for line in run.faults())


def test_submissions_can_be_cancelled_paused_and_resumed(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(source(BY_SHOP), work={"fetch": HOUR_S})
    one, two = run.submit("fetch", "2026-11-20_oslo"), run.submit("fetch", "2026-11-21_oslo")
    run.pause(two)
    run.pass_time("10m")
    run.cancel(one)
    run.pass_time("5h")
    assert run.state("fetch", "2026-11-20_oslo") == "cancelled"
    run.resume(two)
    run.until_quiet()
    assert run.submission(two) == "succeeded"


def test_the_error_about_an_unknown_job_lists_the_existing_jobs(pipeline: Pipelines, source: Any) -> None:
    run = pipeline(source(BY_SHOP))
    run.submit("fetch", "2026-11-20_oslo")
    run.until_quiet()
    with pytest.raises(NoSuchJob, match="There are: fetch/20261120_graz, fetch/20261120_oslo"):
        run.state("fetch", "2026-11-21_graz")


IN_TRANSACTIONS = """
import psycopg

from sluice import Job, Step, app, saga


@app(max_losses=50)
def book(job: Job, order: int) -> int:
    with job.transaction() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS booked (number int)")
        connection.execute("INSERT INTO booked VALUES (%s)", (order,))
    return order


@app(needs=[book], max_losses=50)
def bill(job: Job, order: int) -> int:
    return job.result_of(book)


class Pay(Step):
    def do(self, flight):
        with flight.transaction() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS paid (number int)")
            connection.execute("INSERT INTO paid VALUES (%s)", (flight.inputs["n"],))

    def undo(self, flight): ...


@saga(job_id="{n}", identifiers={"n": "int"})
def pay(flight):
    return [Pay()]
"""


# With seeds 1 and 4, a worker dies between the commit of its job's success and the end of the function: no result.
@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_transactions_of_jobs_and_steps_are_real(pipeline: Pipelines, tmp_path: Path, seed: int) -> None:
    (tmp_path / "orders.py").write_text(IN_TRANSACTIONS)
    real = {"book": Took(60, real=True), "bill": Took(1, real=True)}
    bad = Faults(crash_before_commit=0.05, crash_after_commit=0.05, crash_between=0.1, repeat_commit=0.1)
    run = pipeline(str(tmp_path / "orders.py"), work=real, faults=bad, seed=seed)
    for number in range(5):
        run.submit("bill", str(number))
        run.submit("pay", str(number))
    run.until_quiet()
    assert set(run.states().values()) == {"succeeded"}
    assert [run.result("bill", str(number)) for number in range(5)] == [*range(5)]
    with psycopg.connect(run.ledger_url) as connection:
        for table in (sql.Identifier("public", "booked"), sql.Identifier("public", "paid")):
            numbers = connection.execute(sql.SQL("SELECT number FROM {}").format(table)).fetchall()
            assert sorted(numbers) == [(number,) for number in range(5)]
            connection.execute(sql.SQL("DROP TABLE {}").format(table))


@pytest.mark.parametrize(("limit", "apart_s"), [("5/s", 0.2), ("2/m", 30.0)])
def test_jobs_start_at_their_rate_in_virtual_time(
    pipeline: Pipelines, source: Any, limit: str, apart_s: float
) -> None:
    words = {"job_id": "{n}", "autofill_values": {"n": [*"123456"]}, "bash_cmd": "true", "rate_limit": limit}
    run = pipeline(source({"a": words}), work={"a": HOUR_S})
    run.submit("a")
    run.until_quiet()
    began = sorted(at_s for n in "123456" for at_s, state in run.transitions("a", n) if state == "running")
    waits = [later - earlier for earlier, later in pairwise(began)]
    assert waits == pytest.approx([apart_s] * 5, abs=1e-6 if apart_s < 1 else 1.1)
