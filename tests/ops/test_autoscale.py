"""``sluice autoscale``: its options, and the workers that it starts and stops."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.errors import BadRequest, BadSetting
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ops.autoscale.controller import Autoscaler
from sluice.ops.autoscale.decision import ScalingTarget
from sluice.ops.autoscale.workers import Guard, LocalWorker, LocalWorkers, watch
from sluice.ops.cli.commands.processes.autoscale import read_targets
from sluice.ops.cli.local_worker import StopEvent
from sluice.ops.cli.main import main
from tests.ops.site import Site
from tests.ops.typist import NO_LEDGER
from tests.world import World, catalogue_of

APP = {"job_id": "{x}", "bash_cmd": "true"}
#: Program that exits on SIGTERM.
HEARS = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(0)); time.sleep(600)"
#: Program that writes the process ID of a child to its own file.
HAS_A_CHILD = """
import os, pathlib, subprocess, sys
child = subprocess.Popen(["sleep", "600"])
new = pathlib.Path(sys.argv[1]) / f"{os.getpid()}.new"
new.write_text(str(child.pid))
new.rename(new.with_suffix(""))
child.wait()
"""
#: Program that writes a line to its own file when it is ready for signals, and a line for each SIGTERM. It exits one
#: second after the last SIGTERM.
TAKES_ITS_TIME = """
import os, pathlib, signal, sys
log = open(pathlib.Path(sys.argv[1]) / str(os.getpid()), "w", buffering=1)
# Blocked and waited for, because a signal handler that wakes a wait can run before that wait begins.
awaited = {signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
log.write("hears\\n")
signal.sigwait(awaited)
log.write("got SIGTERM\\n")
while signal.sigtimedwait(awaited, 1.0):
    log.write("got SIGTERM\\n")
log.write("goes\\n")
"""


def test_queues_are_read_with_their_bounds() -> None:
    catalogue = catalogue_of({"a": APP, "b": APP})
    texts = ["a, b=1..4", "planner,groomer,scheduler=1..1"]
    found = read_targets(texts, catalogue, capacity=2, coroutine_capacity=1, cool_down_s=0.0)
    assert found == [_target("a", "b", least=1), _target("planner", "groomer", "scheduler", least=1, most=1)]
    assert [target.apps for target in found] == [["a", "b"], []]


def test_the_target_knows_which_apps_are_coroutines(tmp_path: Path) -> None:
    (tmp_path / "apps.py").write_text("from sluice import app\n@app\ndef a(): ...\n@app\nasync def c(): ...")
    found = read_targets(
        ["a,c=0..2"], load([str(tmp_path / "apps.py")]), capacity=2, coroutine_capacity=100, cool_down_s=0.0
    )
    assert [(each.coroutines, each.capacity, each.coroutine_capacity) for each in found] == [({"c"}, 2, 100)]


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        ([], "No queue was named"),
        (["a"], "cannot be read"),
        (["a=1"], "cannot be read"),
        (["=1..2"], "cannot be read"),
        (["a=2..1"], "2..1 is no range"),
        (["a=0..0"], "0..0 is no range"),
        (["a=1..9999"], "1..9999 is no range"),
        (["a=1..2", "a,b=1..2"], "a is named twice"),
        (["z=1..2"], "There is no queue z"),
    ],
)
def test_invalid_queues_and_bounds_are_refused(texts: list[str], error: str) -> None:
    with pytest.raises(BadRequest, match=error):
        read_targets(
            texts, catalogue_of({"a": APP, "b": APP}), capacity=1, coroutine_capacity=1, cool_down_s=0.0
        )


def test_autoscale_needs_a_shared_ledger_and_broker(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.define({"a": APP})
    assert main(["autoscale", "--queue", "a=1..2"]) == 2
    assert "Set SLUICE_LEDGER_URL and SLUICE_BROKER_URL" in capfd.readouterr().err


@pytest.fixture
def crew() -> Iterator[LocalWorkers]:
    with Guard() as guard:
        made = _crew(guard, sys.executable, "-c", HEARS)
        yield made
        made.kill()


def test_workers_without_jobs_are_stopped_first_then_the_youngest(crew: LocalWorkers) -> None:
    first, second, third, fourth = (crew.start() for _ in range(4))
    assert crew.stop(1, {first: 1, second: 2, third: 1}) == [fourth]
    assert crew.stop(1, {first: 1, second: 2, third: 1}) == [third]
    assert (crew.working, crew.leaving) == (2, 2)


def test_jobs_of_a_child_process_count_for_its_worker(tmp_path: Path) -> None:
    with Guard() as guard:
        crew = _crew(guard, sys.executable, "-c", HAS_A_CHILD, str(tmp_path))
        first, second = crew.start(), crew.start()
        _until(lambda: {str(first), str(second)} <= {each.name for each in tmp_path.iterdir()})
        child = int((tmp_path / str(second)).read_text())
        stranger = os.getpid()
        assert crew.stop(1, {child: 5, stranger: 9}) == [first]
        crew.kill()


def test_an_exited_worker_is_reported_once(crew: LocalWorkers) -> None:
    asked, killed = crew.start(), crew.start()
    os.kill(killed, signal.SIGKILL)
    assert crew.stop(1, {killed: 1}) == [asked]
    gone = _gone(crew, 2)
    assert {(each.pid, each.asked) for each in gone} == {(asked, True), (killed, False)}
    assert crew.take_exited() == []
    assert (crew.working, crew.leaving) == (0, 0)


def test_a_worker_that_exits_just_before_its_signal_is_reported(crew: LocalWorkers) -> None:
    pid = crew.start()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert crew.stop(1, {}) == [pid]
    assert [each.pid for each in crew.take_exited()] == [pid]


def test_the_guard_signals_only_the_workers_that_are_left(crew: LocalWorkers) -> None:
    left, gone = crew.start(), crew.start()
    # It leads no process group, as a process that has reused the ID of a worker.
    member = subprocess.Popen([sys.executable, "-c", HEARS])
    try:
        watch([f"+{left}\n", f"+{gone}\n", f"-{gone}\n", f"+{member.pid}\n"])
        assert [each.pid for each in _gone(crew, 1)] == [left]
        assert (crew.working, member.poll()) == (1, None)
    finally:
        member.kill()
        member.wait()


def test_without_a_ledger_no_worker_is_stopped_and_exited_ones_are_replaced(
    crew: LocalWorkers, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crew.target = _target("a", "b")
    monkeypatch.setattr("sluice.ledger.database.connection.PATIENCE_S", 0.1)
    said: list[str] = []
    world.apps("a, b")
    world.submit("a", None, keys=["1", "2", "3", "4", "5"])
    keeper = Autoscaler(world.ledger, [crew], said.append)
    keeper.step()
    assert crew.working == 3
    with closing(Ledger(NO_LEDGER, connections=1)) as silent:
        keeper = Autoscaler(silent, [crew], said.append)
        for pid in crew.stop(1, {}):
            assert [each.pid for each in _gone(crew, 1)] == [pid]
        for _ in range(3):
            keeper.step()
    assert (crew.working, crew.leaving) == (3, 0)
    (outage,) = (record.getMessage() for record in caplog.records if record.name == "sluice.outages")
    assert "is unreachable" in outage
    assert "No worker is stopped" not in "".join(said)
    world.cancel(_submission(world))
    keeper = Autoscaler(world.ledger, [crew], said.append)
    keeper.step()
    assert (crew.working, crew.leaving) == (0, 3)


class Unforeseen(Exception):
    """Raised in the middle of a step."""


def test_after_an_error_each_worker_is_signalled_once_and_waited_for(world: World, tmp_path: Path) -> None:
    def say(text: str) -> None:
        if "started" in text:
            _until(lambda: [each.read_text() for each in tmp_path.iterdir()] == ["hears\n"] * 2)
            raise Unforeseen

    with Guard() as guard:
        crew = _crew(guard, sys.executable, "-c", TAKES_ITS_TIME, str(tmp_path), least=2)
        with pytest.raises(Unforeseen):
            Autoscaler(world.ledger, [crew], say).keep(StopEvent(), 0.01)
        assert (crew.working, crew.leaving) == (0, 0)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["hears\ngot SIGTERM\ngoes\n"] * 2


def test_the_guard_does_not_signal_a_stopping_worker_again(tmp_path: Path) -> None:
    with Guard() as guard:
        crew = _crew(guard, sys.executable, "-c", TAKES_ITS_TIME, str(tmp_path), least=2)
        pid = crew.start()
        log = tmp_path / str(pid)
        _until(lambda: log.exists() and log.read_text() == "hears\n")
        crew.stop(1, {})
        _until(lambda: "SIGTERM" in log.read_text())
    _gone(crew, 1)
    assert log.read_text() == "hears\ngot SIGTERM\ngoes\n"


def test_an_interrupt_during_a_step_kills_the_workers(world: World, tmp_path: Path) -> None:
    def say(text: str) -> None:
        if "started" in text:
            raise KeyboardInterrupt

    with Guard() as guard:
        crew = _crew(guard, sys.executable, "-c", TAKES_ITS_TIME, str(tmp_path), least=2)
        with pytest.raises(KeyboardInterrupt):
            Autoscaler(world.ledger, [crew], say).keep(StopEvent(), 0.01)
        assert (crew.working, crew.leaving) == (0, 0)
    assert [log for log in tmp_path.iterdir() if "SIGTERM" in log.read_text()] == []


def test_a_failed_start_is_reported_once_and_tried_again(world: World, tmp_path: Path) -> None:
    program, said = tmp_path / "worker", list[str]()
    with Guard() as guard:
        crew = _crew(guard, str(program), least=2)
        keeper = Autoscaler(world.ledger, [crew], said.append)
        for _ in range(3):
            keeper.step()
        assert (crew.working, len(said)) == (0, 1)
        assert "each check tries again" in said[0]
        assert str(program) in said[0]
        program.write_text(f"#!{sys.executable}\n{HEARS}\n")
        program.chmod(0o755)
        keeper.step()
        assert (crew.working, len(said)) == (2, 2)
        crew.kill()


def test_a_refused_query_is_reported_once_and_stops_no_worker(crew: LocalWorkers, world: World) -> None:
    refused, said = Event(), list[str]()

    def refuse(_: Tx, __: object) -> None:
        if refused.is_set():
            raise BadSetting("The ledger does not let this role do it.")

    crew.target = _target("a", least=1)
    keeper = Autoscaler(world.ledger.beside(refuse), [crew], said.append)
    keeper.step()
    refused.set()
    for _ in range(3):
        keeper.step()
    refused.clear()
    keeper.step()
    assert (crew.working, crew.leaving) == (1, 0)
    _, refusal, answer = said
    assert (refusal.count("No worker is stopped"), refusal.count("does not let this role")) == (1, 1)
    assert answer == "The ledger answers again."


def _target(*queues: str, least: int = 0, most: int = 4) -> ScalingTarget:
    return ScalingTarget(queues=queues, least=least, most=most, capacity=2, cool_down_s=0.0)


def _crew(guard: Guard, *command: str, least: int = 0) -> LocalWorkers:
    return LocalWorkers(_target("a", least=least), command, os.environ, guard)


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _submission(world: World) -> str:
    (id_,) = world.ledger.transact(lambda tx: tx.column("SELECT id FROM submission"))
    return str(id_)


def _gone(crew: LocalWorkers, number: int) -> list[LocalWorker]:
    deadline, found = time.monotonic() + 20, list[LocalWorker]()
    while len(found) < number:
        assert time.monotonic() < deadline
        found += crew.take_exited()
        time.sleep(0.02)
    return found
