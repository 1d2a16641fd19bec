"""Chunks and steps in a process of their own: work IDs and partitions arrive as in a thread."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from sluice.jobs import examples
from sluice.jobs.catalogue import load
from sluice.jobs.model.job import Ending
from tests.jobs.runners.runner_bench import Bench

EXAMPLE = Path(examples.__file__).with_name("stau")


def test_work_ids_reach_the_function_as_a_list(bench: Bench) -> None:
    outcome = bench.isolate("show_chunk", ids={}, work_ids=(-3, 1, 2**63 - 1, "é"), kwargs={"k": [1]})
    assert outcome.ending is Ending.DONE
    assert json.loads(outcome.output) == ["list", [-3, 1, 2**63 - 1, "é"], {"k": [1]}]


def test_the_partitions_of_a_step_reach_the_function(bench: Bench) -> None:
    outcome = bench.isolate("show_step", ids={}, span=("a", "c"), partitions=("b", "c"))
    assert json.loads(outcome.output) == ["a", "c", ["b", "c"], ["a", "c"]]


def test_many_work_ids_reach_the_function(bench: Bench) -> None:
    outcome = bench.isolate("count_chunk", ids={}, work_ids=tuple(range(200_000)))
    assert outcome.output == "200000\n"


def test_the_function_of_a_file_in_the_format_of_stau_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    app = replace(load([str(EXAMPLE)]).app("goodbye"), isolate=True)
    outcome = bench.run(bench.assign(app, ids={}, kwargs={"final_message": "Thanks"}, work_ids=(0, 1)))
    assert outcome.output.splitlines() == ["Goodbye work ID 0", "Goodbye work ID 1", "Thanks"]
