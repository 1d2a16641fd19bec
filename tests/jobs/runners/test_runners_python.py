"""Functions in a thread of the worker: their outcomes, errors, logs and answers."""

import asyncio
import functools
import logging
import re
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sluice import Fatal, Rerun, Retry, Stop, Success, Wait
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import KEPT_BYTES, Ending, Job
from sluice.jobs.own_success import OwnSuccess
from sluice.jobs.policy.policy import Policy
from sluice.jobs.runners import runner_for
from tests.jobs.runners.runner_bench import Bench, error_of, eventually, python_app, stores_in


def test_an_exception_is_reported_with_the_frames_of_user_code_only(bench: Bench) -> None:
    def inner() -> None:
        raise ValueError("no such day")

    def outer() -> None:
        try:
            inner()
        except ValueError as error:
            raise RuntimeError("cannot load") from error

    error = error_of(bench.call(outer))
    assert error.startswith("RuntimeError: cannot load\n")
    assert "ValueError: no such day" in error
    assert "The above exception was the direct cause" in error
    assert re.findall(r", in (\w+)", error) == ["outer", "inner", "outer"]


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (SystemExit(3), "SystemExit: 3\n"),
        (SystemExit(0), "SystemExit: 0\n"),
        (KeyboardInterrupt(), "KeyboardInterrupt\n"),
        (GeneratorExit(), "GeneratorExit\n"),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError\n"),
        (
            ExceptionGroup("two", [ValueError("a"), TypeError("b")]),
            "ExceptionGroup: two (2 sub-exceptions)\n",
        ),
    ],
)
def test_no_exception_of_a_function_leaves_the_runner(bench: Bench, raised: BaseException, told: str) -> None:
    def function() -> None:
        raise raised

    assert error_of(bench.call(function)).startswith(told)


def test_an_exception_that_cannot_be_printed_is_still_reported(bench: Bench) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    def function() -> None:
        raise MuteError

    assert "MuteError: <exception str() failed>" in error_of(bench.call(function))


def test_an_endless_recursion_is_an_error(bench: Bench) -> None:
    def function() -> None:
        function()

    assert error_of(bench.call(function)).startswith("RecursionError: ")


def test_an_error_is_cut_and_made_storable(bench: Bench) -> None:
    def function() -> None:
        raise ValueError("a\x00\udc80" + "x" * 1_000_000)

    error = error_of(bench.call(function))
    assert error.startswith("ValueError: a?x")
    assert len(error) < 3 * KEPT_BYTES


def test_the_log_of_a_job_is_in_its_output_and_the_workers_log(
    bench: Bench, worker_log: pytest.LogCaptureFixture
) -> None:
    def function(job: Job) -> None:
        job.log.debug("quiet %s", "one")
        job.log.info("loading %d of %d", 1, 3)
        try:
            raise ValueError("odd")
        except ValueError:
            job.log.exception("went on")

    output = bench.call(function).output
    lines = [line.partition("Z ")[2] for line in output.splitlines() if re.match(r"\d{4}-\d\d-\d\dT", line)]
    assert lines == ["DEBUG quiet one", "INFO loading 1 of 3", "ERROR went on"]
    assert "ValueError: odd" in output
    told = [(record.levelno, record.getMessage().splitlines()[0]) for record in worker_log.records]
    assert told == [
        (logging.INFO, "etl/20140101_7: loading 1 of 3"),
        (logging.ERROR, "etl/20140101_7: went on"),
    ]


def test_a_long_log_is_cut(bench: Bench) -> None:
    def function(job: Job) -> None:
        for number in range(5_000):
            job.log.debug("line %d", number)

    output = bench.call(function).output
    assert "bytes left out" in output
    assert output.endswith("line 4999\n")


def test_several_threads_of_a_job_may_log_at_once(bench: Bench) -> None:
    def function(job: Job) -> None:
        def talk() -> None:
            for _ in range(50):
                job.log.debug("abc")

        threads = [threading.Thread(target=talk) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert bench.call(function).output.count("DEBUG abc\n") == 200


def test_prints_go_to_a_process_that_does_not_capture_runs(
    bench: Bench, capfd: pytest.CaptureFixture[str]
) -> None:
    assert bench.call(lambda: sys.stdout.write("to the process\n")).output == ""
    assert capfd.readouterr().out == "to the process\n"


def test_progress_is_reported(bench: Bench) -> None:
    def function(job: Job) -> None:
        job.progress(1, 3)
        job.progress(2)

    bench.call(function)
    assert bench.progress == [(1, 3), (2, None)]


def test_a_function_that_stops_on_request_hands_its_job_back(bench: Bench) -> None:
    begun = threading.Event()

    def function(job: Job) -> None:
        begun.set()
        eventually(lambda: job.cancelled)
        job.log.debug("cleaned up")

    running = bench.meanwhile(lambda: bench.call(function))
    begun.wait(10)
    bench.stop.set()
    outcome = running.result()
    assert outcome.ending is Ending.HANDED_BACK
    assert outcome.output.endswith("cleaned up\n")


def test_a_function_that_raises_after_it_read_the_stop_hands_its_job_back(bench: Bench) -> None:
    def function(job: Job) -> None:
        bench.stop.set()
        if job.cancelled:
            raise RuntimeError("enough")

    assert bench.call(function).ending is Ending.HANDED_BACK


def test_a_stop_that_a_function_has_not_read_does_not_change_its_outcome(bench: Bench) -> None:
    def succeed(job: Job) -> None:
        assert not job.cancelled
        bench.stop.set()

    assert bench.call(succeed).ending is Ending.DONE
    bench.stop.clear()

    def fail(job: Job) -> None:
        bench.stop.set()
        raise ValueError("no such day")

    assert bench.call(fail).ending is Ending.ERROR


def test_a_job_that_is_stopped_before_it_begins_is_not_run(bench: Bench) -> None:
    bench.stop.set()
    outcome = bench.call(lambda: pytest.fail("it must not be called"))
    assert outcome.ending is Ending.HANDED_BACK


def test_a_function_over_its_timeout_is_cancelled_and_its_job_times_out(bench: Bench) -> None:
    def function(job: Job) -> None:
        assert not job.cancelled
        eventually(lambda: job.cancelled)

    outcome = bench.call(function, policy=Policy(timeout_s=0.1))
    assert (outcome.ending, outcome.error) == (Ending.TIMED_OUT, "It ran over its timeout of 0.1 s.")


def test_a_function_that_ignores_its_timeout_is_timed_out_when_it_ends(bench: Bench) -> None:
    late = threading.Event()

    def function(job: Job) -> None:
        late.wait(0.1)

    assert bench.call(function, policy=Policy(timeout_s=0.05)).ending is Ending.TIMED_OUT


@pytest.mark.parametrize("policy", [Policy(env={"A": "b"}), Policy(cwd="/")])
def test_options_that_need_a_process_are_refused_with_advice(bench: Bench, policy: Policy) -> None:
    assert "set isolate: true" in error_of(bench.call(lambda: None, policy=policy))


def test_a_transaction_uses_the_workers_connection(bench: Bench) -> None:
    steps: list[str] = []

    @contextmanager
    def transaction(succeed: Callable[[Any], None]) -> Iterator[Any]:
        with closing(sqlite3.connect(":memory:")) as connection:
            yield connection
            steps.append("written")
            succeed(connection)

    def function(job: Job) -> None:
        with job.transaction() as connection:
            assert connection.execute("SELECT 7").fetchone() == (7,)
        steps.append("committed")

    assignment = bench.assign(python_app(function), success=OwnSuccess())
    outcome = bench.run(assignment, transaction=transaction)
    assert (outcome.ending, outcome.succeeded_in) == (Ending.DONE, 0)
    assert steps == ["written", "committed"]


def test_an_unavailable_transaction_is_refused_with_advice(bench: Bench) -> None:
    def function(job: Job) -> None:
        with pytest.raises(BadRequest, match=r"job.transaction\(\) is not available") as refusal:
            job.transaction()
        assert "isolate: false" in refusal.value.advice

    assert bench.call(function).ending is Ending.DONE


def test_finished_partitions_are_acknowledged_one_by_one(bench: Bench) -> None:
    done: list[str] = []
    step: dict[str, Any] = {"span": ("2024-04-01", "2024-04-03"), "partitions": ("2024-04-01", "2024-04-03")}
    bench.run(bench.assign(python_app(lambda job: job.done("2024-04-01")), **step), acknowledge=done.append)
    assert done == ["2024-04-01"]
    other = bench.assign(python_app(lambda job: job.done("2024-04-02")), **step)
    assert "job.done('2024-04-02') is not available" in error_of(bench.run(other, acknowledge=done.append))
    assert done == ["2024-04-01"]
    assert "job.done() is not available" in error_of(bench.call(lambda job: job.done("2024-04-01")))


def test_one_runner_serves_many_threads(bench: Bench) -> None:
    runner = runner_for(python_app(lambda job, client_id: job.log.debug("%d", client_id)), stores_in(Path()))
    assignments = [bench.assign(python_app(None), ids={"client_id": number}) for number in range(50)]
    run = functools.partial(runner.run, stop=bench.stop, report=lambda *_: None)
    runs = [bench.meanwhile(functools.partial(run, it)) for it in assignments]
    assert [run.result().output.split()[-1] for run in runs] == [str(number) for number in range(50)]


@pytest.mark.parametrize("returned", [False, True])
@pytest.mark.parametrize(
    ("answer", "final", "retry_after_s"),
    [
        (Fatal("this card is stolen"), True, None),
        (Fatal, True, None),
        (Retry("the till is busy"), False, None),
        (Retry("the till is busy", after="5m"), False, 300.0),
        (Retry, False, None),
    ],
)
def test_fatal_and_retry_fail_the_round_whether_raised_or_returned(
    bench: Bench, answer: Fatal | Retry, final: bool, retry_after_s: float | None, returned: bool
) -> None:
    def function() -> object:
        if returned:
            return answer
        raise answer

    outcome = bench.call(function)
    assert getattr(answer, "text", "") in error_of(outcome)
    assert (outcome.final, outcome.retry_after_s) == (final, retry_after_s)


def test_an_answer_returned_by_a_coroutine_counts(bench: Bench) -> None:
    async def function() -> object:
        return Fatal("this card is stolen")

    assert bench.call(function).final


def test_a_function_may_return_success_but_not_wait_stop_or_rerun(bench: Bench) -> None:
    assert bench.call(Success).ending is Ending.DONE
    assert bench.call(lambda: Success).ending is Ending.DONE
    for answer in (Wait("paid"), Wait, Stop, Rerun):
        name = getattr(answer, "__name__", type(answer).__name__)
        assert error_of(bench.call(lambda it=answer: it)) == (
            f"The function returned {name}, which only a step of a saga may return."
        )


def test_the_delay_of_a_retry_is_bounded() -> None:
    """A time beyond the ledger's calendar would make the judging of the whole batch fail."""
    with pytest.raises(ValueError, match="more than ten years"):
        Retry("later", after="4000d")
