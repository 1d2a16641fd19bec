"""Output of code in threads of the worker: each run has its own, and none of it is lost or doubled."""

# ruff: noqa: T201  # Functions of users may print.

import asyncio
import functools
import logging
import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sluice import Step
from sluice.actors.worker.logs import set_up_logs
from sluice.jobs.model.job import KEPT_BYTES, Echo, GrowingText, Job
from sluice.jobs.observe.log_context import Speaking, Subject, spoken_of
from sluice.jobs.runners.run_output import LINE_BYTES_MAX, captured_runs
from sluice.jobs.runners.saga_run import SagaRunner
from sluice.jobs.sagas.spec import Saga
from tests.jobs.runners.runner_bench import Bench, managed_app, python_app
from tests.jobs.runners.scripted_grid import Tie
from tests.ops.typist import ROOT


def captured(test: Callable[..., None]) -> Callable[..., None]:
    """Capture output during the test as `sluice worker` does: what a run prints goes to the run alone.

    A fixture could not: pytest replaces the streams after the fixtures were made.
    """

    @functools.wraps(test)
    def wrapped(*args: Any, **named: Any) -> None:
        with captured_runs(passes_on=False):
            test(*args, **named)

    return wrapped


def unstamped(text: str) -> list[str]:
    """Return the lines without the times of log lines."""
    return [line.partition("Z ")[2] if line[:2] == "20" else line for line in text.splitlines()]


@captured
def test_everything_that_a_function_writes_is_in_its_output_in_order(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    def function(job: Job) -> None:
        print("first")
        print("second", file=sys.stderr)
        job.log.info("third")
        logging.getLogger("acme.shop").warning("fourth %d", 4)
        logging.warning("fifth")
        sys.stdout.buffer.write("sixth é\n".encode())
        sys.stdout.writelines(["seventh\n", "eighth"])

    outcome = bench.call(function)
    lines = unstamped(outcome.output)
    assert lines[:5] == [
        "first",
        "second",
        "INFO third",
        "WARNING acme.shop: fourth 4",
        "WARNING root: fifth",
    ]
    assert lines[5:] == ["sixth é", "seventh", "eighth"]
    assert outcome.stderr == "second\n"
    assert capsys.readouterr() == ("", "")


WARNS = """
import pathlib, sys
from sluice.testing import run
pathlib.Path(sys.argv[1]).write_text('''
import warnings
from sluice import app

@app(job_id="{n}")
def old(n):
    warnings.warn("it is old")
''')
outcome = run(sys.argv[1], "old", "1")
assert "UserWarning: it is old" in outcome.output, outcome
assert outcome.stderr == outcome.output
"""


def test_warnings_are_in_the_output(tmp_path: Path) -> None:
    """It runs in a process of its own, because pytest records the warnings of its own process."""
    command = [sys.executable, "-c", WARNS, str(tmp_path / "apps.py")]
    subprocess.run(command, check=True, timeout=60, cwd=ROOT)


@captured
def test_the_streams_outside_of_a_run_are_those_of_the_process(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    print("before")
    assert bench.call(lambda: print("within")).output == "within\n"
    print("after", file=sys.stderr)
    logging.getLogger("acme").warning("a record of the worker")
    assert capsys.readouterr() == ("before\n", "after\n")


@captured
def test_two_jobs_that_print_at_the_same_time_keep_their_lines_apart(bench: Bench) -> None:
    """Each thread writes a line in two pieces, as ``print`` does, and the other thread writes in between."""
    both = threading.Barrier(2)

    def function(client_id: int) -> None:
        for number in range(500):
            sys.stdout.write(f"{client_id}: {number}")
            if number % 50 == 0:
                both.wait(timeout=10)
            print()

    runs = [
        bench.meanwhile(lambda n=number: bench.run(bench.assign(python_app(function), ids={"client_id": n})))
        for number in (1, 2)
    ]
    outputs = [run.result(timeout=20).output for run in runs]
    assert [text.splitlines() for text in outputs] == [
        [f"{client}: {number}" for number in range(500)] for client in (1, 2)
    ]


@pytest.mark.parametrize("within_the_run", [True, False])
@captured
def test_tasks_of_a_thread_pool_print_for_the_job_that_submitted_them(
    bench: Bench, within_the_run: bool
) -> None:
    """A pool that several jobs share starts its threads in the first of them."""
    shared = ThreadPoolExecutor(1)

    def function(client_id: int) -> None:
        pool = ThreadPoolExecutor(1) if within_the_run else shared
        pool.submit(print, f"a task of {client_id}").result()

    for number in (1, 2):
        outcome = bench.run(bench.assign(python_app(function), ids={"client_id": number}))
        assert outcome.output == f"a task of {number}\n"
    shared.submit(print, "a task of no job").result()
    shared.shutdown()


@captured
def test_threads_and_coroutines_of_a_job_print_for_the_job(bench: Bench) -> None:
    async def function(job: Job) -> None:
        thread = threading.Thread(target=print, args=("a thread",))
        thread.start()
        thread.join()
        timer = threading.Timer(0.0, lambda: logging.getLogger("acme").error("a timer"))
        timer.start()
        timer.join()
        await asyncio.to_thread(print, "a coroutine's thread")
        await asyncio.gather(*(_says(number) for number in range(2)))

    lines = unstamped(bench.call(function).output)
    assert lines == ["a thread", "ERROR acme: a timer", "a coroutine's thread", "says 0", "says 1"]


async def _says(number: int) -> None:
    await asyncio.sleep(0)
    print("says", number)


@captured
def test_a_thread_of_a_class_of_its_own_prints_for_the_job_and_is_not_kept(bench: Bench) -> None:
    class Talker(threading.Thread):
        def run(self) -> None:
            print("it talks")

    found: list[threading.Thread] = []

    def function() -> None:
        talker = Talker()
        talker.start()
        talker.join()
        found.append(talker)

    assert bench.call(function).output == "it talks\n"
    assert "run" not in vars(found[0])


@captured
def test_log_lines_of_threads_and_tasks_have_the_fields_of_the_job(bench: Bench) -> None:
    found: list[Subject | None] = []

    def function() -> None:
        thread = threading.Thread(target=lambda: found.append(spoken_of()))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: found.append(spoken_of())).result()

    with Speaking(Subject(app="etl")):
        bench.call(function)
    assert found == [Subject(app="etl"), Subject(app="etl")]
    assert spoken_of() is None


@captured
def test_a_forked_process_writes_to_the_worker(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    def function() -> None:
        print("before")
        sys.stdout.flush()
        child = multiprocessing.get_context("fork").Process(
            target=print, args=("forked",), kwargs={"flush": True}
        )
        child.start()
        child.join()
        assert child.exitcode == 0

    assert bench.call(function).output == "before\n"
    assert capfd.readouterr().out == "forked\n"


@captured
def test_a_thread_that_outlives_its_job_prints_to_the_worker(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    over, thread = threading.Event(), []

    def function() -> None:
        def late() -> None:
            print("in time")
            begun.set()
            over.wait(10)
            print("too late")

        begun = threading.Event()
        thread.append(threading.Thread(target=late))
        thread[0].start()
        begun.wait(10)

    assert bench.call(function).output == "in time\n"
    over.set()
    thread[0].join()
    assert capsys.readouterr().out == "too late\n"


@captured
def test_the_output_has_both_ends_however_much_is_printed(bench: Bench) -> None:
    def function() -> None:
        for number in range(20_000):
            print("line", number, "x" * 100)
        print("y" * (10 * LINE_BYTES_MAX), end="")

    output = bench.call(function).output
    assert output.startswith("line 0 ")
    assert "bytes left out" in output
    assert output.endswith("y" * 100)
    assert len(output) <= 2 * KEPT_BYTES


@captured
def test_an_unfinished_line_is_kept_in_one_piece_until_it_is_flushed(bench: Bench) -> None:
    def function(job: Job) -> None:
        print("10%", end="")
        job.log.info("halfway")
        print(" 100%", end="", flush=True)
        print("done", file=sys.stderr)
        print("rest", end="")

    assert unstamped(bench.call(function).output) == ["INFO halfway", "10% 100%done", "rest"]


@captured
def test_a_run_has_no_terminal_and_cannot_close_the_streams_of_the_worker(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    def function() -> None:
        print(sys.stdout.isatty())
        sys.stdout.close()
        with pytest.raises(TypeError, match="must be str, not bytes"):
            sys.stdout.write(b"bytes")

    assert bench.call(function).output == "False\n"
    print("still open")
    assert capsys.readouterr().out == "still open\n"


@captured
def test_a_finalizer_that_prints_while_the_job_prints_does_not_block_it(bench: Bench) -> None:
    class Loud:
        def __del__(self) -> None:
            print("gone", file=sys.stderr)

    class Encoded(str):
        def encode(self, *_: Any) -> bytes:
            Loud()
            return b"text\n"

    assert bench.call(lambda: sys.stdout.write(Encoded("text"))).output == "gone\ntext\n"


def test_printed_text_is_passed_on_where_a_user_looks_at_the_process(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    def function() -> None:
        print("out")
        print("err", file=sys.stderr)
        sys.stdout.buffer.write(b"bytes\n")
        sys.stdout.flush()

    with captured_runs(passes_on=True):
        assert bench.call(function).output == "out\nerr\nbytes\n"
    assert capsys.readouterr() == ("out\nbytes\n", "err\n")


def test_a_line_of_the_workers_log_is_not_printed_by_the_run(
    bench: Bench, capsys: pytest.CaptureFixture[str], restored_logs: None
) -> None:
    set_up_logs("text", verbose=True)
    with captured_runs(passes_on=False):

        def function(job: Job) -> None:
            job.log.info("own")
            logging.getLogger("acme").info("of a library")

        outcome = bench.call(function)
    assert unstamped(outcome.output) == ["INFO own", "INFO acme: of a library"]
    assert outcome.stderr == ""
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(" INFO    ")[2] for line in told] == [
        "sluice.job: etl/20140101_7: own",
        "acme: of a library",
    ]


@pytest.fixture
def restored_logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_records_below_the_level_of_the_commands_log_are_in_the_output(
    bench: Bench, capsys: pytest.CaptureFixture[str], restored_logs: None
) -> None:
    """`sluice up` shows warnings only; the output of a job is the same in every command."""
    set_up_logs("text")
    with captured_runs(passes_on=True):
        output = bench.call(lambda: logging.getLogger("acme").info("of a library")).output
    assert unstamped(output) == ["INFO acme: of a library"]
    assert capsys.readouterr().err == ""


@captured
def test_the_steps_of_a_saga_print_for_their_job(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    class Book(Step):
        def do(self, flight: Any) -> None:
            print("booked", file=sys.stderr)
            flight.log.info("logged")

    def build(flight: Any) -> list[Step]:
        print("built")
        return [Book()]

    outcome = SagaRunner(Saga(build=build)).run(bench.assign(python_app(None)), stop=bench.stop)
    lines = unstamped(outcome.output)
    assert [line for line in lines if not line.startswith("INFO")] == ["built", "booked"]
    assert "INFO logged" in lines
    assert outcome.stderr == "booked\n"
    assert capsys.readouterr() == ("", "")


@captured
def test_a_job_manager_prints_for_its_job(bench: Bench) -> None:
    class Grid:
        def __init__(self) -> None:
            print("made")

        def run(self, job: Job) -> str:
            print("started")
            return "4711"

        def check(self, handle: str) -> str:
            print("checked", handle)
            return "succeeded"

        def cancel(self, handle: str) -> None: ...

    outcome = bench.run(bench.assign(managed_app(Grid)), attachment=Tie())
    assert unstamped(outcome.output) == ["made", "started", "checked 4711"]


@captured
def test_the_texts_of_a_run_can_be_read_while_it_runs(bench: Bench) -> None:
    texts: list[GrowingText] = []
    seen: list[tuple[int, str, str]] = []

    def function() -> None:
        print("so far")
        print("aside", file=sys.stderr)
        output, stderr = texts
        seen.append((output.size, output.text(), stderr.text()))

    assignment = replace(
        bench.assign(python_app(function)), echo=Echo(texts=lambda *both: texts.extend(both))
    )
    bench.run(assignment)
    assert seen == [(13, "so far\naside\n", "aside\n")]
