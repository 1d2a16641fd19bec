"""Calls of ``job.expand`` by functions of each kind."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.actors.client import Client
from sluice.jobs.catalogue import load
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.states import State
from tests.actors.bench import Bench

SOURCE = """
from sluice import app

WORDS = {"job_id": "{day}", "identifiers": {"day": "date"}}


@app(job_id="{day}_{n}", identifiers={"day": "date", "n": "int"})
def part(day, n: int) -> int:
    return n


@app(**WORDS)
def join(job, day) -> int:
    return sum(job.results(part).values())


@app(**WORDS)
def in_thread(job, day):
    job.expand(part, [{"n": 1}, {"n": 2}], then=join)


@app(**WORDS)
async def in_coroutine(job, day):
    job.expand(part, [part.job(day=day, n=1), "2026-11-20_2"], then=join.job(day))


@app(isolate=True, **WORDS)
def in_process(job, day):
    job.expand("part", ({"day": day, "n": n} for n in (1, 2)), then="join")


@app(**WORDS)
def in_transaction(job, day):
    with job.transaction() as connection:
        job.expand(part, [{"n": 1}], then=join)
        job.expand(part, [{"n": 2}], then=join)


@app(**WORDS)
def wrong(job, day):
    job.expand(part, [{"m": 1}])


@app(isolate=True, **WORDS)
def wrong_apart(job, day):
    job.expand(part, [{"m": 1}])


@app(**WORDS)
def too_late(job, day):
    with job.transaction():
        pass
    job.expand(part, [{"n": 1}])


@app(**WORDS)
def fails(job, day):
    job.expand(part, [{"n": 1}])
    raise ValueError("the file is empty")


@app(**WORDS)
def evaluates(job, day, how):
    eval(how)


@app(needs=[join], **WORDS)
def last(day): ...


@app(**WORDS)
def wide(day, *, width: int = 1): ...


@app(chunk_size=10)
def chunk(job, work_ids):
    job.expand(part, [{"n": 1}])


@app(output_table="days")
def days(job, partitions):
    job.expand(part, [{"n": 1}])


class Grid:
    def run(self, job):
        job.expand(part, [{"n": 1}])

    def check(self, handle): ...

    def cancel(self, handle): ...
"""


@pytest.fixture
def shop(bench: Bench, tmp_path: Path) -> Bench:
    source = tmp_path / "shop.py"
    source.write_text(SOURCE)
    managed = tmp_path / "managed.json"
    managed.write_text(json.dumps({"managed": {"job_id": "{day}", "job_type": f"{source}:Grid"}}))
    bench.world.catalogue = load([str(source), str(managed)])
    return bench


def run(shop: Bench, app: str, key: str = "20261120") -> None:
    shop.hint(app, key)
    shop.judge()


@pytest.mark.parametrize("app", ["in_thread", "in_coroutine", "in_process", "in_transaction"])
def test_each_kind_of_function_adds_jobs(shop: Bench, app: str) -> None:
    shop.world.submit(app, "20261120", push="wanted")
    run(shop, app)
    for n in (1, 2):
        run(shop, "part", f"20261120_{n}")
    assert shop.world.state("join/20261120") is State.READY
    run(shop, "join")
    assert Client(shop.world.ledger, lambda _: None).result("join", "20261120") == 3


@pytest.mark.parametrize("app", ["wrong", "wrong_apart"])
def test_a_wrong_call_fails_the_function(shop: Bench, app: str) -> None:
    shop.world.submit(app, "20261120")
    run(shop, app)
    assert "part has no identifier m; it has day, n." in (shop.round_of(f"{app}/20261120").error or "")


def test_a_call_after_the_success_is_refused(shop: Bench) -> None:
    shop.world.submit("too_late", "20261120")
    run(shop, "too_late")
    assert "call job.expand() before that" in (shop.round_of("too_late/20261120").error_after_commit or "")
    assert "part/20261120_1" not in shop.world.states()


def test_a_failed_run_adds_nothing(shop: Bench) -> None:
    shop.world.submit("fails", "20261120")
    run(shop, "fails")
    assert shop.world.states() == {"fails/20261120": State.FAILED}


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("job.expand(join, [wrong.job(day)])", "adds jobs of join, and wrong/20261120 is not one"),
        ("job.expand(wide, [wide.job(day, width=3)])", "Make width an identifier of wide, or return it"),
        ("job.expand(part, [{}])", "A job of part needs its identifiers n."),
        ("job.expand(part, [{'n': 'one'}])", "No job of part has this identifier: at n"),
        ("job.expand('nowhere', [])", "There is no app 'nowhere'"),
        ("job.expand(chunk, ['1'])", "chunk is not keyed by template"),
        ("job.expand(evaluates, [{}])", "a job would wait for itself"),
        ("job.expand(part, ['20261120_1'], then=part.job(day, 1))", "a job would wait for itself"),
        ("job.expand(last, [{}], then=join)", "would wait for jobs of last, which depend on join"),
        ("job.expand(part, [{'n': n} for n in range(100_001)])", "can add 100,000 jobs"),
    ],
)
def test_a_call_that_cannot_be_planned_fails_the_function(shop: Bench, how: str, reason: str) -> None:
    shop.world.submit("evaluates", "20261120", kwargs={"how": how})
    run(shop, "evaluates")
    assert reason in (shop.round_of("evaluates/20261120").error or "")


@pytest.mark.parametrize(
    ("app", "words", "reason"),
    [
        ("days", {"start": "2026-11-20", "end": "2026-11-20"}, "days is keyed by partition"),
        ("chunk", {"work_ids": [7]}, "chunk is keyed by chunk"),
        ("managed", {"keys": ["20261120"]}, "managed is run by a job manager"),
    ],
)
def test_a_job_of_another_kind_adds_no_jobs(
    shop: Bench, app: str, words: dict[str, Any], reason: str
) -> None:
    shop.world.submit(app, None, **words)
    (job,) = shop.world.states()
    run(shop, app, job.removeprefix(f"{app}/"))
    error = shop.round_of(job).error or ""
    assert f"job.expand is refused: {reason}; only a function that is keyed by template can add jobs" in error
    assert [*shop.world.states()] == [job]


def test_a_flight_cannot_add_jobs() -> None:
    assert not hasattr(Flight, "expand")
