"""Output of running jobs is stored while they run, by one statement for all, and a short job costs none."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sluice.actors.assembly import stores
from sluice.actors.executor import live_output
from sluice.actors.executor.claims_in_flight import ClaimsInFlight
from sluice.actors.executor.execution import Execution
from sluice.actors.executor.live_output import AFTER_S, EVERY_S, LiveOutput
from sluice.actors.settings.settings import Settings
from sluice.broker.messages import Execute, JobRound
from sluice.jobs.catalogue import load
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.job import KEPT_BYTES, Ending
from sluice.jobs.model.names import Claim
from sluice.jobs.runners.output import Excerpt
from sluice.jobs.runners.run_output import captured_runs
from tests.actors.bench import Acknowledged, Bench
from tests.actors.ledgers import Counting, Refusing
from tests.broker.conftest import until
from tests.world import World

#: Seconds between two checks, each of which takes a moment.
LOOK_S = EVERY_S + 0.01


class Talker:
    """Runs without a worker: texts that grow, and a clock that the test sets."""

    def __init__(self, ledger: Counting | Refusing) -> None:
        self.live = LiveOutput(ledger)
        self.began = time.monotonic()
        self._texts: dict[Claim, tuple[Excerpt, Excerpt]] = {}

    def begin(self, right: Claim) -> None:
        texts = self.live.echo(right).texts
        assert texts is not None
        self._texts[right] = (Excerpt(), Excerpt())
        texts(*self._texts[right])

    def say(self, right: Claim, text: str, *, aside: str = "") -> None:
        output, stderr = self._texts[right]
        output.add_text(text)
        stderr.add_text(aside)

    def store(self, after_s: float) -> None:
        self.live.store(self.began + after_s)


@pytest.fixture
def claims(world: World) -> list[Claim]:
    """Return the claims of three running jobs."""
    world.apps("a", job_id="{x}")
    for key in "123":
        world.submit("a", key)
    return [world.take(f"a/{key}").right for key in "123"]


@pytest.fixture
def counting(world: World) -> Iterator[Counting]:
    with closing(Counting(world)) as made:
        yield made


def outputs(world: World) -> list[str | None]:
    return world.ledger.transact(lambda tx: tx.column("SELECT output FROM round ORDER BY job"))


def test_one_statement_stores_the_new_output_of_all_jobs(
    world: World, claims: list[Claim], counting: Counting
) -> None:
    talker = Talker(counting)
    for right in claims:
        talker.begin(right)
    talker.store(AFTER_S + 1)
    assert counting.statements == 0, "nothing was written"
    talker.say(claims[0], "one\n")
    talker.say(claims[1], "two\n", aside="aside\n")
    talker.store(AFTER_S + 2)
    assert (outputs(world), counting.statements) == (["one\n", "two\n", None], 1)
    talker.store(AFTER_S + 3)
    assert counting.statements == 1, "nothing new was written"
    talker.say(claims[0], "more\n")
    talker.store(AFTER_S + 4)
    assert (outputs(world), counting.statements) == (["one\nmore\n", "two\n", None], 2)


def test_the_output_of_a_job_that_has_just_begun_or_has_ended_is_not_stored(
    claims: list[Claim], counting: Counting
) -> None:
    talker = Talker(counting)
    talker.begin(claims[0])
    talker.say(claims[0], "one\n")
    talker.store(AFTER_S - 0.1)
    talker.live.forget(claims[0])
    talker.store(AFTER_S + 10)
    assert counting.statements == 0


def test_much_output_is_stored_with_its_middle_left_out_and_at_most_once_a_second(
    world: World, claims: list[Claim], counting: Counting
) -> None:
    talker = Talker(counting)
    talker.begin(claims[0])
    at_s = AFTER_S + 0.1
    for _ in range(20):
        talker.say(claims[0], "x" * 100 * KEPT_BYTES + "\n", aside="y" * 100 * KEPT_BYTES)
        talker.store(at_s)
        at_s += LOOK_S
    assert counting.statements == 10
    (output, *_) = outputs(world)
    assert output is not None
    assert len(output) <= 2 * KEPT_BYTES
    assert "bytes left out" in output


def test_little_output_is_stored_at_each_look(claims: list[Claim], counting: Counting) -> None:
    talker = Talker(counting)
    talker.begin(claims[0])
    for look in range(5):
        talker.say(claims[0], "a line\n")
        talker.store(AFTER_S + 0.1 + look * LOOK_S)
    assert counting.statements == 5


def test_output_is_stored_when_the_ledger_is_back(world: World, claims: list[Claim]) -> None:
    with closing(Refusing(world)) as ledger:
        talker = Talker(ledger)
        talker.begin(claims[0])
        talker.say(claims[0], "one\n")
        ledger.refuse(Unreachable(ERROR))
        with pytest.raises(Unreachable):
            talker.store(AFTER_S + 1)
        talker.say(claims[0], "two\n")
        ledger.relent()
        talker.store(AFTER_S + 2)
    assert outputs(world)[0] == "one\ntwo\n"


def test_the_thread_checks_nothing_while_no_job_runs(
    claims: list[Claim], counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_output, "EVERY_S", 0.005)
    talker = Talker(counting)
    checks, store = list[float](), talker.live.store
    monkeypatch.setattr(talker.live, "store", lambda now: (checks.append(now), store(now)))
    talker.live.start()
    for right in claims[:2]:
        before = len(checks)
        talker.begin(right)
        until(lambda before=before: len(checks) >= before + 3)
        talker.live.forget(right)
        until(lambda: not talker.live._any.is_set())
        rests = len(checks)
        time.sleep(0.05)
        assert len(checks) == rests
    talker.live.end()
    assert not talker.live._thread.is_alive()


ERROR = "The ledger does not answer."


def test_the_thread_survives_every_error_and_logs_an_outage_once(
    world: World, claims: list[Claim], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live_output, "EVERY_S", 0.005)
    monkeypatch.setattr(live_output, "AFTER_S", 0.0)
    caplog.set_level("INFO", "sluice.outages")
    with closing(Refusing(world)) as ledger:
        talker = Talker(ledger)
        talker.live.start()
        talker.begin(claims[0])
        ledger.refuse(ValueError("a defect"))
        talker.say(claims[0], "one\n")
        assert ledger.has_refused(3)
        ledger.refuse(Unreachable(ERROR))
        assert ledger.has_refused(3)
        ledger.relent()
        until(lambda: outputs(world)[0] == "one\n")
        until(lambda: "answers again" in caplog.text)
        talker.live.end()
    told = [record.getMessage() for record in caplog.records if record.name == "sluice.executor"]
    assert told == ["the output of running jobs was not stored"]
    start, end = (record.getMessage() for record in caplog.records if record.name == "sluice.outages")
    assert start.endswith("is unreachable; work that needs it waits, and attempts are repeated: " + ERROR)
    assert "answers again, after " in end


APPS = """
import sys
import threading
from sluice import app

GO = threading.Event()

@app(job_id="{x}")
def short(x):
    print("printed", x)

@app(job_id="{x}")
def long(x):
    print("so far", x)
    print("aside", file=sys.stderr)
    assert GO.wait(20)
    print("the rest")

@app(job_id="{x}")
def silent(x):
    pass

@app(job_id="{x}", isolate=True)
def apart(x):
    print("printed", x)

@app(job_id="{x}", isolate=True)
def silent_apart(x):
    pass

@app(job_id="{x}")
def commits(job):
    print("before")
    with job.transaction():
        pass
    print("after", file=sys.stderr)
"""


@pytest.fixture
def talking(bench: Bench, counting: Counting, tmp_path: Path) -> Iterator[Bench]:
    """Yield a bench with an executor that stores output of running jobs, on a ledger that counts statements."""
    (tmp_path / "talking.py").write_text(APPS)
    bench.world.catalogue = load([str(tmp_path / "talking.py")])
    bench.running = Execution(
        counting,
        lambda: bench.world.catalogue,
        ClaimsInFlight(),
        bench.worker,
        bench.sent.extend,
        stores=stores(Settings()),
    )
    bench.running.start()
    yield bench
    bench.running.give_up()


@pytest.mark.parametrize(("app", "silent"), [("short", "silent"), ("apart", "silent_apart")])
def test_a_short_job_that_prints_costs_as_many_statements_as_one_that_does_not(
    talking: Bench, counting: Counting, app: str, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process may take longer to start than a short job may run.
    monkeypatch.setattr(live_output, "AFTER_S", 60.0)
    counts = []
    for each in (app, silent):
        before = counting.statements
        with captured_runs(passes_on=False):
            talking.run(each)
        counts.append(counting.statements - before)
    assert (talking.round_of(app).output, talking.round_of(silent).output) == ("printed 1\n", "")
    assert counts[0] == counts[1]


def test_the_output_of_a_long_job_is_in_the_ledger_while_it_runs(
    talking: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking.world.submit("long")
    job = talking.world.known("long")
    with ThreadPoolExecutor(1) as pool, captured_runs(passes_on=False):
        message = Execute(app="long", jobs=(JobRound(job.id, talking.world.round("long")),))
        ran: Future[None] = pool.submit(talking.running.execute, message, Acknowledged())
        until(lambda: talking.world.state("long") == "running" and talking.round_of("long").output)
        running = talking.round_of("long")
        assert (running.ending, running.output, running.stderr) == (None, "so far 1\naside\n", "aside\n")
        _function(talking, "long").__globals__["GO"].set()
        ran.result(timeout=20)
    done = talking.round_of("long")
    assert (done.ending, done.output) == (Ending.DONE, "so far 1\naside\nthe rest\n")


def _function(bench: Bench, app: str) -> Callable[..., object]:
    function = bench.world.catalogue.app(app).function
    assert function is not None
    return function


def test_the_stderr_after_a_transaction_is_kept(talking: Bench) -> None:
    with captured_runs(passes_on=False):
        talking.run("commits")
    done = talking.round_of("commits")
    assert (done.ending, done.output, done.stderr) == ("done", "before\nafter\n", "after\n")
