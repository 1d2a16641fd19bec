"""The programs of the page that compares tools: Sluice's load and pass their test, and all of them can be counted.

``test_site`` checks that the counts on the page are current.
"""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.sources.functions import load_file
from sluice.ops.simulation.pipeline import Simulated
from sluice.ops.tools.reference.compare_page import DOCS, PROGRAMS, TASKS, TOOLS, ProgramSize, size
from sluice.testing import Took

SLUICE = PROGRAMS / "sluice"
PAGE = (DOCS / "compare.md").read_text()
ALL = sorted(PROGRAMS.rglob("*.py"))


@pytest.mark.parametrize(
    ("modules", "apps"),
    [
        (["define"], {"fetch"}),
        (["depend"], {"fetch", "report"}),
        (["fan_out"], {"fetch", "report"}),
        (["retries"], {"fetch"}),
        (["fan_out", "nightly"], {"fetch", "report"}),
        (["cancel"], {"fetch"}),
    ],
)
def test_a_program_of_sluice_loads(modules: list[str], apps: set[str]) -> None:
    assert set(load([str(SLUICE / f"{module}.py") for module in modules])) == apps


def test_the_test_of_the_page_passes(
    pipeline: Callable[..., Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SLUICE)
    load_file(SLUICE / "test_report.py").test_report(pipeline)


def test_the_schedule_of_the_page_makes_the_report_of_the_previous_day(
    pipeline: Callable[..., Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SLUICE)
    run = pipeline("fan_out.py", "nightly.py", work=Took(1, real=True), starts="2026-11-20T18:00:00Z")
    run.pass_time("12h")
    assert run.result("report", "20261120") == 13


def test_the_dependency_of_the_page_passes_the_result(
    pipeline: Callable[..., Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SLUICE)
    run = pipeline("depend.py", work=Took(1, real=True))
    run.submit("report", "20261120_oslo")
    run.until_quiet()
    assert run.result("report", "20261120_oslo") == 4


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.relative_to(PROGRAMS).as_posix())
def test_a_program_is_python_and_is_linked(path: Path) -> None:
    ast.parse(path.read_text())
    link = path.relative_to(PROGRAMS.parent).as_posix()
    assert f"]({link})" in PAGE


def test_each_tool_has_a_program_for_each_task() -> None:
    assert {path.parent.name for path in ALL} == set(TOOLS)
    for tool in TOOLS:
        assert set(TASKS) <= {path.stem for path in ALL if path.parent.name == tool}


def test_imports_comments_and_empty_lines_do_not_count() -> None:
    assert size("import os\nfrom a import (\n    b,\n)\n\n# A comment.\n\n") == ProgramSize(0, 0)


def test_words_are_names_keywords_and_literals() -> None:
    assert size(
        'def f(x: int) -> str:  # A comment.\n    return g(\n        x, "a b", 1\n    )\n'
    ) == ProgramSize(4, 10)


def test_an_import_within_a_function_does_not_count() -> None:
    assert size("def f():\n    import os\n    return os.name\n") == ProgramSize(2, 5)
