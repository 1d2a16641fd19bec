"""Choice of the runner for an app, and the token of a job."""

from pathlib import Path

import pytest

from sluice.jobs.keys.template import Template
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Ending, Job, idempotency_token
from sluice.jobs.model.program import Program
from sluice.jobs.runners import runner_for
from sluice.jobs.runners.command.bash import BashRunner
from sluice.jobs.runners.command.program import ProgramRunner
from sluice.jobs.runners.external import ManagedRunner
from sluice.jobs.runners.function.isolated import IsolateRunner
from sluice.jobs.runners.function.thread import PythonRunner
from tests.jobs.runners.runner_bench import (
    Bench,
    bash_app,
    isolated_app,
    managed_app,
    program_app,
    python_app,
    stores_in,
)
from tests.jobs.runners.scripted_grid import Place


def test_each_kind_of_app_gets_its_runner() -> None:
    assert isinstance(runner_for(bash_app("true"), stores_in(Path())), BashRunner)
    assert isinstance(runner_for(python_app(print), stores_in(Path())), PythonRunner)
    assert isinstance(runner_for(program_app(Program()), stores_in(Path())), ProgramRunner)
    assert isinstance(runner_for(isolated_app("nothing"), stores_in(Path())), IsolateRunner)
    assert isinstance(runner_for(managed_app(Place().grid), stores_in(Path())), ManagedRunner)


@pytest.mark.parametrize(
    ("job_type", "reason"),
    [
        ("python", "etl has no function to run."),
        ("pyspark", "etl cannot be isolated: its function is not at the top of a module."),
        ("cobol", "etl has the job type cobol, which this worker has no runner for."),
    ],
)
def test_jobs_of_an_app_that_cannot_run_fail_with_a_reason(bench: Bench, job_type: str, reason: str) -> None:
    app = App(name="etl", origin="a test", job_type=job_type, template=Template.parse("{date}"))
    outcome = bench.run(bench.assign(app))
    assert (outcome.ending, outcome.error) == (Ending.ERROR, reason)


def test_a_token_is_the_same_in_all_rounds_and_differs_between_jobs(bench: Bench) -> None:
    tokens: list[str] = []
    for round_, claim in ((0, 1), (1, 2)):
        bench.call(lambda job: tokens.append(job.token), round_=round_, claim=claim)
    bench.call(lambda job: tokens.append(job.token), key="20140101_8")
    assert tokens[0] == tokens[1] != tokens[2]


def test_tokens_differ_even_if_their_concatenated_parts_are_equal() -> None:
    parts = [("a", "b", "c"), ("ab", "", "c"), ("", "ab", "c"), ("a", "bc", ""), ("a", "b", "d")]
    assert len({idempotency_token(*it) for it in parts}) == len(parts)


def test_a_job_object_has_the_fields_of_its_claim(bench: Bench) -> None:
    seen: list[object] = []

    def look(job: Job) -> None:
        seen.extend([job.app, job.key, job.ids, job.work_ids, job.span, job.kwargs, job.round, job.claim])

    bench.call(look, ids={"a": 1}, work_ids=(1, 2), span=("x", "y"), kwargs={"k": []}, round_=3, claim=9)
    assert seen == ["etl", "20140101_7", {"a": 1}, [1, 2], ("x", "y"), {"k": []}, 3, 9]
