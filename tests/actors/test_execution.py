"""Execution of claimed jobs: between a claim and its recorded outcome."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from sluice.actors.assembly import stores
from sluice.actors.executor import transactions
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.execution import Execution
from sluice.actors.settings.settings import Settings
from sluice.broker.messages import Execute
from sluice.jobs.catalogue import load
from sluice.jobs.model.names import Claim
from sluice.jobs.observe.log_context import Subject, subject_of
from sluice.jobs.runners.function.thread import PythonRunner
from sluice.jobs.states import State
from tests.actors.bench import Bench
from tests.broker.conftest import until
from tests.world import catalogue_of

DAYS = """
from sluice import Job, app

OPTIONS = {{"partition": {{"unit": "day", "first": "2024-04-01"}}, "step_size": 2, "max_fails": 1}}

def make(job: Job) -> None:
    with open({calls!r}, "a") as calls:
        print(job.app, *job.partitions, file=calls)
    for partition in job.partitions:
        job.done(partition)
    raise ConnectionError("after the last partition")

@app(output_table="days", **OPTIONS)
def days(job: Job):
    make(job)

@app(output_table="days_later", **OPTIONS)
async def days_later(job: Job):
    make(job)
"""


@pytest.mark.parametrize("app", ["plain", "later"])
def test_a_batch_is_acknowledged_once_and_a_success_needs_no_planner(bench: Bench, app: str) -> None:
    assert bench.run(app).verdicts == ["acknowledged"]
    assert bench.world.state(app) is State.SUCCEEDED
    assert bench.world.history(app) == ["waiting", "ready", "running", "executed", "succeeded"]
    assert bench.sent == []


def test_a_worker_claims_more_jobs_than_named_after_a_short_run(bench: Bench) -> None:
    for key in "123":
        bench.world.submit("plain", key)
    bench.hint("plain", "1")
    assert [bench.world.state(f"plain/{key}") for key in "123"] == [State.SUCCEEDED, State.READY, State.READY]
    bench.hint("plain", "2")
    assert {bench.world.state(f"plain/{key}") for key in "123"} == {State.SUCCEEDED}


@pytest.mark.parametrize("served", ["", "b", "bc"])
def test_a_worker_takes_on_released_children_if_it_serves_their_queue(bench: Bench, served: str) -> None:
    words = {"job_id": "{x}", "bash_cmd": "true"}
    needs = {"b": "a", "c": "b"}
    bench.world.define(
        {"a": words, **{app: {**words, "depends_on": {"app_name": [of]}} for app, of in needs.items()}}
    )
    bench.running = Execution(
        bench.world.ledger,
        lambda: bench.world.catalogue,
        bench.holdings,
        bench.worker,
        bench.sent.extend,
        stores=stores(Settings()),
        serves=served.__contains__,
    )
    bench.world.submit("c")
    bench.hint("a")
    ended = "a" + served
    assert {app for app, state in bench.world.states().items() if state is State.SUCCEEDED} == {*ended}
    left = [message.app for message in bench.sent if isinstance(message, Execute)]
    assert left == [app for app in "bc" if app not in ended][:1]
    assert bench.holdings.known() == []


def test_pushed_jobs_are_planned_although_a_skipped_child_ends_the_submission(bench: Bench) -> None:
    words = {"job_id": "{x}", "bash_cmd": "true"}
    bench.world.define(
        {
            "a": words,
            "asked": {**words, "depends_on": {"app_name": ["a"], "when": "failed"}},
            "follows": {**words, "depends_on": {"app_name": ["a"]}},
        }
    )
    bench.world.submit("asked")
    bench.hint("a")
    assert bench.world.state("asked") is State.SKIPPED
    bench.world.queue.extend(bench.sent)
    bench.world.deliver()
    assert bench.world.state("follows") is State.READY


def test_users_writes_and_the_jobs_success_commit_together(bench: Bench) -> None:
    bench.run("transfer")
    assert bench.effects() == 1
    assert bench.world.state("transfer") is State.EXECUTED
    assert bench.world.history("transfer").count("executed") == 1


def test_the_output_of_a_job_survives_its_transaction(bench: Bench) -> None:
    bench.run("talks")
    done = bench.round_of("talks")
    assert [line.split()[-1] for line in (done.output or "").splitlines()] == ["before", "inside", "after"]
    assert (done.ending, done.error, done.error_after_commit) == ("done", None, None)


def test_the_output_up_to_the_commit_is_stored_with_the_success(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that dies after the commit adds nothing to the round any more."""
    monkeypatch.setattr(transactions, "complete", lambda *_, **__: [])
    bench.run("talks")
    done = bench.round_of("talks")
    assert [line.split()[-1] for line in (done.output or "").splitlines()] == ["before", "inside"]


@pytest.mark.parametrize(
    ("app", "error"),
    [
        ("breaks_afterwards", "ConnectionError: SMTP is down"),
        ("opens_two", "A job has one transaction, and this job's has been committed."),
    ],
)
def test_an_exception_after_the_commit_is_logged_and_kept_with_the_round(
    bench: Bench, caplog: pytest.LogCaptureFixture, app: str, error: str
) -> None:
    bench.run(app)
    bench.judge()
    assert bench.effects() == 1
    assert bench.world.state(app) is State.SUCCEEDED
    done = bench.round_of(app)
    assert (done.ending, done.error) == ("done", None)
    assert error in (done.error_after_commit or "")
    (logged,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert logged.getMessage().startswith(f"{app}/1 failed after its transaction was committed")
    assert error in logged.getMessage()


def test_log_lines_after_the_commit_are_kept_although_the_function_fails(bench: Bench) -> None:
    bench.run("breaks_afterwards")
    assert "sending the receipt" in (bench.round_of("breaks_afterwards").output or "")


def test_a_fatal_error_of_a_function_ends_the_job_although_tries_are_left(bench: Bench) -> None:
    bench.run("stolen")
    bench.judge()
    assert bench.world.state("stolen") is State.FAILED
    assert bench.world.history("stolen").count("running") == 1
    assert "this card is stolen" in (bench.round_of("stolen").error or "")


def test_a_function_can_request_the_delay_before_its_next_round(bench: Bench) -> None:
    bench.run("busy")
    bench.judge()
    world = bench.world
    assert world.state("busy") is State.WAITING
    world.tick(after_s=299)
    assert world.state("busy") is State.WAITING
    world.tick(after_s=2)
    assert world.state("busy") is State.READY


@pytest.mark.parametrize(("app", "way"), [("plain", "run"), ("later", "run_async")])
def test_an_exception_of_a_runner_fails_the_round(
    bench: Bench, app: str, way: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an outcome the job would be claimed again after each lease, indefinitely."""

    def broken(*_: object, **__: object) -> NoReturn:
        raise RecursionError("too deep")

    monkeypatch.setattr(PythonRunner, way, broken)
    bench.run(app)
    bench.judge()
    assert bench.world.state(app) is State.FAILED
    assert "RecursionError: too deep" in (bench.round_of(app).error or "")
    logged = [record.getMessage() for record in caplog.records if record.exc_info]
    assert logged == [f"{app}/1 could not be run in round 0, because of a defect of Sluice"]


def test_a_jobs_exception_is_logged_once_with_its_traceback_and_its_job(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    subjects: list[Subject | None] = []
    caplog.handler.addFilter(
        lambda record: record.levelname != "ERROR" or not subjects.append(subject_of(record))
    )
    bench.run("broken")
    bench.judge()
    (logged,) = [record for record in caplog.records if record.levelname == "ERROR"]
    lines = logged.getMessage().splitlines()
    assert lines[0] == "broken/1 failed in round 0: RuntimeError: after the write"
    assert any(line.endswith(", in broken") for line in lines)
    assert subjects == [Subject(app="broken", key="1", round=0, claim=1)]


def test_a_run_that_lost_its_claim_leaves_no_writes(bench: Bench) -> None:
    bench.run("overtaken")
    assert bench.effects() == 0
    assert bench.world.state("overtaken") is State.EXECUTED


def test_a_run_that_fails_in_its_transaction_leaves_no_writes(bench: Bench) -> None:
    bench.run("broken")
    assert bench.effects() == 0
    bench.world.queue.extend(bench.sent)
    bench.world.deliver()
    assert bench.world.state("broken") is State.FAILED


@pytest.mark.parametrize("is_away", [False, True], ids=["", "in an outage"])
def test_late_results_are_dropped_with_a_log_line_and_the_worker_continues(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_away: bool
) -> None:
    """The groomer ends the round during the run. Whether the run then succeeds or fails makes no difference."""
    world, gate = bench.world, tmp_path / "gate"
    waits = f"touch {gate}.$SLUICE_APP; until [ -e {gate} ]; do sleep 0.02; done"
    words = {"job_id": "{x}", "timeout": "1h"}
    world.define({"fine": words | {"bash_cmd": waits}, "broken": words | {"bash_cmd": f"{waits}; exit 3"}})
    for app in world.defined:
        world.submit(app)
    with ThreadPoolExecutor(2) as pool:
        late = [pool.submit(bench.hint, app) for app in world.defined]
        until(lambda: len(list(tmp_path.glob("gate.*"))) == len(late) == 2)
        world.now += timedelta(hours=2)
        world.beat(bench.worker)
        world.tick()
        before = [(world.state(app), world.history(app)) for app in world.defined]
        if is_away:
            world.ledger.outages.failed("refused", part="a test")
        gate.touch()
        assert [each.result(timeout=30).verdicts for each in late] == [["acknowledged"]] * 2
    assert {state for state, _ in before} == {State.TIMED_OUT}
    assert [(world.state(app), world.history(app)) for app in world.defined] == before
    # The first is logged at once, and the other one a moment later, by the next heartbeat. In an outage, both are.
    bench.holdings.late_results.log(at_once=True)
    told = [record.getMessage() for record in caplog.records if "came too late" in record.getMessage()]
    assert len(told) == (1 if is_away else 2)
    assert ["".join(told).count(name) for name in ("fine/1", "broken/1")] == [1, 1]
    world.submit("fine", "2")
    bench.hint("fine", "2")
    assert world.state("fine/2") is State.SUCCEEDED


def test_a_draining_process_gives_messages_back_unclaimed(bench: Bench) -> None:
    bench.holdings.drain()
    assert bench.run("later").verdicts == ["given back"]
    assert bench.world.state("later") is State.READY


def test_jobs_of_an_app_that_has_left_the_definitions_are_not_claimed(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.world.submit("later")
    defined, bench.world.catalogue = bench.world.catalogue, catalogue_of({})
    assert [bench.hint("later").verdicts for _ in range(2)] == [["acknowledged"]] * 2
    assert bench.world.state("later") is State.READY
    assert [record.getMessage() for record in caplog.records] == [
        "later was removed from the definitions; its jobs are not claimed here and stay ready"
    ]
    bench.world.catalogue = defined
    bench.hint("later")
    assert bench.world.state("later") is State.SUCCEEDED


def test_a_batch_runs_by_the_definitions_it_was_claimed_with(bench: Bench) -> None:
    """The definitions differ at each read. They are read for the claim, and again after the batch has ended."""
    world = bench.world
    words = [{"job_id": "{x}", "bash_cmd": f"echo {said}"} for said in ("one", "two", "three")]
    versions = iter([catalogue_of({"told": each}) for each in words])
    bench.running = Execution(
        world.ledger,
        lambda: next(versions, catalogue_of({})),
        bench.holdings,
        bench.worker,
        bench.sent.extend,
        stores=stores(Settings()),
    )
    world.define({"told": words[0]})
    world.submit("told", None, keys=["1", "2", "3"])
    bench.hint("told", "1", "2")
    bench.hint("told", "3")
    outputs = world.ledger.transact(lambda tx: tx.column("SELECT output FROM round ORDER BY job"))
    assert outputs == ["one\n", "one\n", "three\n"]


def test_runs_of_lost_claims_are_stopped() -> None:
    holdings = ClaimsInFlight()
    kept, gone = Claim(1, 1), Claim(2, 1)
    stops = holdings.take([kept, gone])
    assert holdings.keep_only({kept}, [kept, gone]) == [gone]
    assert [stops[claim].is_set() for claim in (kept, gone)] == [False, True]
    holdings.release([kept, gone])
    assert holdings.claims() == []


def test_draining_sets_the_leave_event_and_only_stop_all_the_stop_event() -> None:
    holdings = ClaimsInFlight()
    claim = Claim(1, 1)
    stop = holdings.take([claim])[claim]
    leave = holdings.leave_of(claim)
    holdings.drain()
    assert (leave.is_set(), stop.is_set()) == (True, False)
    holdings.stop_all()
    assert stop.is_set()


def test_a_run_that_must_stop_also_gets_the_leave_event() -> None:
    holdings = ClaimsInFlight()
    claim = Claim(1, 1)
    holdings.take([claim])
    holdings.keep_only(set(), [claim])
    assert holdings.leave_of(claim).is_set()


def test_a_heartbeat_does_not_report_a_finished_run_as_lost() -> None:
    holdings = ClaimsInFlight()
    over = Claim(1, 1)
    holdings.take([over])
    holdings.release([over])
    assert holdings.keep_only(set(), [over]) == []


@pytest.mark.parametrize("app", ["days", "days_later"])
def test_a_function_is_not_called_if_an_earlier_round_has_made_all_partitions(
    bench: Bench, tmp_path: Path, app: str
) -> None:
    """The first round finishes each partition and then fails."""
    source = tmp_path / "days.py"
    source.write_text(DAYS.format(calls=str(tmp_path / "calls")))
    bench.world.catalogue = load([str(source)])
    bench.world.submit(app, None, start="2024-04-01", end="2024-04-02")
    [job] = [name for name in bench.world.states() if name.startswith(f"{app}/")]
    key = job.partition("/")[2]
    bench.hint(app, key)
    bench.judge()
    assert bench.world.history(job)[-3:] == ["executed", "waiting", "ready"]
    bench.hint(app, key)
    bench.judge()
    assert bench.world.state(job) is State.SUCCEEDED
    last = bench.round_of(job)
    assert (last.round, last.ending, last.error) == (1, "done", None)
    assert last.output == "All of its partitions had been made by an earlier round."
    assert (tmp_path / "calls").read_text() == f"{app} 2024-04-01 2024-04-02\n"
