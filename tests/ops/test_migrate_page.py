"""docs/migrate.md and docs/migrate-files.md: their programs for Sluice run as documented."""

import ast
import re
from pathlib import Path

import pytest

from sluice.ops.simulation.plugin import Pipelines
from sluice.testing import Took

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "migrate.md").read_text()
FILES = (DOCS / "migrate-files.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
OF_SLUICE = [program for program in PROGRAMS if "from sluice import" in program]
#: Alternatives and conditions of the table for Airflow.
NEEDS = """
from sluice import any_of, app

@app
def fetch(n: int) -> None: ...

@app
def clean(n: int) -> None: ...
"""


def test_each_tool_has_a_program_before_and_after() -> None:
    assert len(PROGRAMS) == 6
    assert len(OF_SLUICE) == 3
    for program in PROGRAMS:
        ast.parse(program)


@pytest.mark.parametrize("program", OF_SLUICE)
def test_the_program_makes_the_report_from_two_fetches(
    tmp_path: Path, pipeline: Pipelines, program: str
) -> None:
    source = tmp_path / "program.py"
    source.write_text(program)
    run = pipeline(str(source), work=Took(1, real=True))
    run.submit("report", "2026-11-20")
    run.until_quiet()
    assert run.ran("fetch") == 2
    assert run.result("report", "20261120") == len("graz") + len("oslo")


def test_the_dependencies_in_the_tables_are_valid(tmp_path: Path, pipeline: Pipelines) -> None:
    needs = [
        each for each in re.findall(r"`(needs=\[.*?\])`", PAGE) if "shop" not in each and '["' not in each
    ]
    assert len(needs) >= 5
    apps = [f"@app({each})\ndef app_{n}(n: int) -> None: ...\n" for n, each in enumerate(needs)]
    source = tmp_path / "needs.py"
    source.write_text("\n".join([NEEDS, *apps]))
    run = pipeline(str(source))
    run.submit("fetch", "1")
    run.until_quiet()
    assert run.state("fetch", "1") == "succeeded"


def test_a_month_of_the_nodes_of_chronon_has_the_documented_jobs(tmp_path: Path, pipeline: Pipelines) -> None:
    found = re.search(r"^```yaml\n# features.yaml\n(.*?)^```", FILES, re.MULTILINE | re.DOTALL)
    assert found
    source = tmp_path / "features.yaml"
    source.write_text(found[1])
    run = pipeline(str(source))
    run.submit("features", mode="offline", start="2024-04-01", end="2024-04-30")
    run.until_quiet()
    assert [run.ran(app) for app in ("joined", "grouped", "staging")] == [30, 5, 120]
