"""``sluice bench --against``: benchmarks run by several contenders, with the figures side by side."""

import struct
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.errors import SluiceError
from sluice.ops.bench import shapes
from sluice.ops.bench.participants import CONTENDERS, OURS
from sluice.ops.bench.sample import ratio, summaries
from sluice.ops.bench.session import Servers, SessionEntry, entries, sit
from sluice.ops.bench.shapes import COURSES
from sluice.ops.bench.timestamps import Marks
from tests.ops.typist import Typist
from tests.servers import rabbitmq_url, redis_url

SCALE = "0.004"


@pytest.fixture(scope="module")
def rabbitmq() -> Iterator[str]:
    with rabbitmq_url() as url:
        yield url


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    with redis_url() as url:
        yield url


#: Benchmarks that together use all functions of a contender's module.
RUN = [
    ("dramatiq", "chain-in-one"),
    ("dramatiq", "fan"),
    ("dramatiq", "layers"),
    ("dramatiq", "start"),
    ("celery", "fan"),
]
#: Compared figure by benchmark. Default: ``jobs_per_s``.
FIGURES = {"chain-in-one": "hop_ms", "start": "start_s"}
#: Figures that may be 0 in so short a time: processor time, commits, rows that wait to be vacuumed.
MAY_BE_NOTHING = ("_a_job", "_cpu_percent", "_dead_rows")
#: Expected numbers of jobs in addition to the measured ones.
BESIDES = {"blocked": {"waiting_jobs": 400 + 1}, "history": {"past_jobs": 94 * (40 + 3)}}


@pytest.mark.parametrize(("other", "course"), RUN)
def test_a_benchmark_is_run_by_two_contenders(
    other: str, course: str, desk_of_module: Typist, rabbitmq: str, redis: str
) -> None:
    _must_be_installed(other)
    found = _run(desk_of_module, course, rabbitmq, "--against", other, "--results", redis)
    figure = FIGURES.get(course, "jobs_per_s")
    ours, theirs = found[OURS, figure], found[other, figure]
    assert theirs["ours_to_this"] == pytest.approx(ours["median"] / theirs["median"])


@pytest.mark.parametrize("course", [course for course in COURSES if course not in {run[1] for run in RUN}])
def test_a_benchmark_is_run_by_sluice_alone(course: str, desk_of_module: Typist, rabbitmq: str) -> None:
    found = _run(desk_of_module, course, rabbitmq)
    assert {contender for contender, _ in found} == {OURS}
    besides = BESIDES.get(course, {})
    assert {figure: found[OURS, figure]["median"] for figure in besides} == besides


#: Contenders that need nothing but the ledger's server.
ON_POSTGRES = ["pgqueuer", "procrastinate", "dbos"]


@pytest.mark.parametrize(
    ("other", "course"), [(other, course) for other in ON_POSTGRES for course in CONTENDERS[other].courses]
)
def test_a_contender_on_postgres_runs_all_of_its_benchmarks(
    other: str, course: str, desk_of_module: Typist, monkeypatch: pytest.MonkeyPatch
) -> None:
    _must_be_installed(other)
    monkeypatch.setenv(shapes.VARIABLE, SCALE)
    began: list[SessionEntry] = []
    servers = Servers(desk_of_module.ledger.url, broker_url="", results_url="")
    found = sit(
        [SessionEntry(course, other)],
        servers,
        runs=1,
        began=lambda entry, _: began.append(entry),
        broke_off=lambda _, error: pytest.fail(str(error)),
    )
    assert began == [SessionEntry(course, other)]
    figures = {each.figure for each in found if each.median > 0}
    assert figures >= (
        {"hop_ms", "hop_p95_ms"} if course.startswith("chain") else {"jobs_per_s", "accepted_per_s"}
    )


def test_a_benchmark_that_fails_leaves_the_figures_of_the_others(embedded_url: str) -> None:
    broken: dict[SessionEntry, str | None] = {}
    found = sit(
        [SessionEntry("flat", "dramatiq"), SessionEntry("load")],
        Servers(embedded_url, broker_url="amqp://guest:guest@127.0.0.1:1", results_url=""),
        runs=2,
        began=lambda *_: None,
        broke_off=lambda entry, error: broken.update({entry: error.where}),
    )
    assert {each.workload for each in found} == {"load"}
    assert [*broken] == [SessionEntry("flat", "dramatiq")]
    assert "Connection" in (broken[SessionEntry("flat", "dramatiq")] or "")


def _must_be_installed(other: str) -> None:
    if missing := [module for module in CONTENDERS[other].modules if find_spec(module) is None]:
        pytest.skip(f"pip install 'sluice-jobs[bench]' for {', '.join(missing)}")


def _run(desk: Typist, course: str, broker: str, *words: str) -> Mapping[tuple[str, str], Any]:
    """Return each figure by its contender and its name."""
    said = desk.runs(
        "--broker", broker, "bench", course, *words, "--runs", "1", "--json", **{shapes.VARIABLE: SCALE}
    )
    assert said.code == 0, said.err
    answer = said.document
    assert answer["settings"]["scale"] == float(SCALE)
    assert all(each["median"] > 0 or each["figure"].endswith(MAY_BE_NOTHING) for each in answer["summaries"])
    return {(each["contender"], each["figure"]): each for each in answer["summaries"]}


def test_benchmarks_need_a_broker_and_known_contenders(desk_of_module: Typist) -> None:
    said = desk_of_module.runs("bench", "flat")
    assert (said.code, "--broker" in said.err) == (2, True)
    said = desk_of_module.runs("bench", "flat", "--against", "absent")
    assert (said.code, "There is no contender 'absent'" in said.err) == (2, True)


def test_a_contender_is_entered_only_for_benchmarks_that_it_can_run() -> None:
    entered = entries(["load", "flat", "diamonds"], ["dramatiq"])
    assert entered == [
        SessionEntry("load"),
        SessionEntry("flat", OURS),
        SessionEntry("flat", "dramatiq"),
        SessionEntry("diamonds", OURS),
    ]


def test_a_ratio_compares_the_same_figure_of_the_same_benchmark() -> None:
    ours = [*summaries("flat", OURS, [{"jobs_per_s": 60.0}]), *summaries("fan", OURS, [{"jobs_per_s": 5.0}])]
    [flat] = summaries("flat", "other", [{"jobs_per_s": 20.0}])
    [unknown] = summaries("flat", "other", [{"cost": 20.0}])
    assert (ratio(ours, flat), ratio(ours, unknown)) == (3.0, None)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([1], "only 1 of 2 jobs had begun"),
        ([1, 1], "2 jobs have begun instead of 2, some of them more than once"),
    ],
)
def test_jobs_that_do_not_begin_or_begin_twice_are_not_measured(
    numbers: list[int], told: str, tmp_path: Path
) -> None:
    marks = Marks(tmp_path / "marks")
    marks.path.write_bytes(b"".join(struct.pack("=qq", number, 0) for number in numbers))
    with pytest.raises(SluiceError, match=told):
        marks.wait_for(2, within_s=0.01)


def test_marks_are_returned_in_the_order_of_time(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "marks")
    given: list[Any] = [(7, 2_000_000_000), (3, 1_000_000_000)]
    marks.path.write_bytes(b"".join(struct.pack("=qq", *mark) for mark in given))
    assert [tuple(mark) for mark in marks.wait_for(2, within_s=1)] == [(3, 1.0), (7, 2.0)]
