"""Arguments of a user's function, and the kinds of functions that can be run."""

import asyncio
import functools
from collections.abc import Iterator
from typing import Any

import pytest

from sluice.jobs.model.job import Ending, Job
from tests.jobs.runners.runner_bench import Bench, error_of, python_app


def test_arguments_get_the_identifiers_and_kwargs_of_the_same_name(bench: Bench) -> None:
    seen: list[object] = []
    outcome = bench.call(
        lambda date, colour, size=3: seen.extend([date, colour, size]), kwargs={"colour": "red"}
    )
    assert (outcome.ending, seen) == (Ending.DONE, [20140101, "red", 3])


def test_a_function_need_not_take_the_identifiers(bench: Bench) -> None:
    assert bench.call(lambda: None).ending is Ending.DONE


def test_a_function_may_take_the_job_alone(bench: Bench) -> None:
    seen: list[Job] = []

    def function(job: Job) -> None:
        seen.append(job)

    assert bench.call(function, kwargs={"colour": "red"}).ending is Ending.DONE
    assert (seen[0].ids, seen[0].kwargs) == ({"date": 20140101, "client_id": 7}, {"colour": "red"})


def test_a_function_may_take_the_job_and_arguments_by_name(bench: Bench) -> None:
    seen: list[object] = []

    def function(job: Job, client_id: int, *, colour: str = "blue") -> None:
        seen.extend([job.key, client_id, colour])

    assert bench.call(function, kwargs={"colour": "red", "size": 3}).ending is Ending.DONE
    assert seen == ["20140101_7", 7, "red"]


def test_a_function_may_take_all_values_as_keyword_arguments(bench: Bench) -> None:
    seen: dict[str, object] = {}
    outcome = bench.call(lambda **rest: seen.update(rest), ids={"a": 1}, kwargs={"b": 2}, work_ids=(3, 4))
    assert (outcome.ending, seen) == (Ending.DONE, {"a": 1, "b": 2, "work_ids": [3, 4]})


def test_work_ids_and_a_span_are_arguments(bench: Bench) -> None:
    seen: list[object] = []
    bench.call(lambda work_ids: seen.extend(work_ids), ids={}, work_ids=(3, "x"))  # noqa: PLW0108  # The name of the parameter counts.
    bench.call(lambda span: seen.extend(span), ids={}, span=("2024-04-01", "2024-04-07"))  # noqa: PLW0108  # The name of the parameter counts.
    assert seen == [3, "x", "2024-04-01", "2024-04-07"]


def test_a_step_gets_its_ends_and_missing_partitions_as_arguments(bench: Bench) -> None:
    seen: list[object] = []

    def look(start: str, end: str, partitions: list[str]) -> None:
        seen.extend([start, end, partitions])

    bench.call(look, ids={}, span=("a", "c"), partitions=("b", "c"))
    assert seen == ["a", "c", ["b", "c"]]
    assert "look() needs end, partitions, start, which etl/20140101_7 has neither" in str(
        bench.call(look, ids={}).error
    )
    taken = bench.call(look, ids={}, span=("a", "c"), kwargs={"start": "z"})
    assert taken.error == "The kwargs start are fixed by the key 20140101_7; leave them out."


def test_a_chunk_has_no_partitions_and_a_finished_span_has_none_left(bench: Bench) -> None:
    seen: list[object] = []
    refused = bench.call(lambda job: seen.append(job.partitions), ids={}, work_ids=(1,))
    bench.call(lambda job: seen.append(job.partitions), ids={}, span=("a", "a"))
    assert seen == [[]]
    assert "job.partitions is not available to this run" in str(refused.error)
    assert "only in apps that are keyed by partition" in str(refused.error)


def test_kwargs_may_be_called_start_and_end_if_the_job_is_no_step(bench: Bench) -> None:
    seen: list[object] = []
    bench.call(lambda start, end: seen.extend([start, end]), ids={}, kwargs={"start": 1, "end": 2})
    assert seen == [1, 2]


def test_each_run_gets_its_own_list_of_work_ids(bench: Bench) -> None:
    seen: list[object] = []

    def main(work_ids: list[int], job: Job, **kwargs: object) -> None:
        seen.append([*work_ids])
        work_ids.reverse()
        assert job.work_ids is work_ids
        assert not job.ids
        seen.append(kwargs)

    assignment = bench.assign(python_app(main), ids={}, kwargs={"k": 1}, work_ids=(1, 2, "x"))
    for _ in range(2):
        assert bench.run(assignment).ending is Ending.DONE
    assert seen == [[1, 2, "x"], {"k": 1}] * 2


def test_a_job_that_is_no_chunk_has_no_work_ids(bench: Bench) -> None:
    seen: list[object] = []

    def main(job: Job, work_ids: list[int] | None = None, **_: object) -> None:
        seen.extend([work_ids, job.work_ids])

    bench.call(main)
    assert seen == [None, None]


def test_positional_only_arguments_are_filled_from_the_left(bench: Bench) -> None:
    seen: list[object] = []

    def function(date: int, size: int = 1, client_id: int = 0, /, *rest: int, colour: str) -> None:
        seen.extend([date, size, client_id, rest, colour])

    assert bench.call(function, kwargs={"colour": "red"}).ending is Ending.DONE
    assert seen == [20140101, 1, 0, (), "red"]


def test_unexpected_kwargs_are_named_in_the_error(bench: Bench) -> None:
    def load(date: int) -> None:
        pytest.fail("it must not be called")

    outcome = bench.call(load, kwargs={"size": 1, "colour": 2})
    assert error_of(outcome).endswith("load() does not take the kwargs colour, size.")


def test_missing_arguments_are_named_in_the_error(bench: Bench) -> None:
    def load(date: int, colour: str, size: int) -> None: ...

    assert error_of(bench.call(load)).endswith(
        "load() needs colour, size, which etl/20140101_7 has neither as an identifier nor as a kwarg."
    )


def test_a_kwarg_cannot_replace_an_identifier(bench: Bench) -> None:
    outcome = bench.call(lambda date: None, kwargs={"date": 1})
    assert error_of(outcome) == "The kwargs date are fixed by the key 20140101_7; leave them out."


def test_wrapped_partial_and_builtin_callables_can_be_run(bench: Bench) -> None:
    seen: list[object] = []

    def function(date: int, colour: str) -> None:
        seen.append((date, colour))

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        function(*args, **kwargs)

    bench.call(wrapped, kwargs={"colour": "red"})
    bench.call(functools.partial(function, colour="blue"))
    assert bench.call(dict).ending is Ending.DONE
    assert seen == [(20140101, "red"), (20140101, "blue")]


def test_an_async_function_runs_to_its_end(bench: Bench) -> None:
    seen: list[int] = []

    async def function(date: int) -> None:
        await asyncio.sleep(0)
        seen.append(date)

    assert bench.call(function).ending is Ending.DONE
    assert seen == [20140101]


def test_the_traceback_of_an_async_function_begins_in_user_code(bench: Bench) -> None:
    async def function() -> None:
        await asyncio.sleep(0)
        raise KeyError("gone")

    error = error_of(bench.call(function))
    assert error.startswith("KeyError: 'gone'\n")
    assert "asyncio" not in error
    assert "jobs/runners/call" not in error


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_generator_is_an_error_because_its_body_did_not_run(bench: Bench, kind: str) -> None:
    def plain() -> Iterator[int]:
        yield 1

    async def asynchronous() -> Any:
        yield 1

    assert "its body did not run" in error_of(bench.call(plain if kind == "plain" else asynchronous))
