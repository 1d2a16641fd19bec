"""docs/wait.md: a file is looked for until it exists, and a job waits until its data is reported."""

import re
from pathlib import Path

import pytest

from sluice.testing import Pipelines, Took
from tests.ops.typist import ROOT

PAGE = (ROOT / "docs" / "wait.md").read_text()


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of the page into the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, code in re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        Path(name).write_text(code)


def test_a_file_is_looked_for_each_minute_until_it_exists(pipeline: Pipelines) -> None:
    run = pipeline("files.py", work=Took(1, real=True))
    run.submit("load", "2026-11-20")
    run.pass_time("5m")
    assert run.state("load", "2026-11-20") == "waiting"
    assert 5 <= run.ran("arrived") <= 6
    Path("incoming").mkdir()
    Path("incoming/2026-11-20.csv").write_text("ann,bob")
    run.until_quiet()
    assert run.result("load", "2026-11-20") == 7


def test_the_wait_for_a_file_ends_at_a_set_time(pipeline: Pipelines) -> None:
    run = pipeline("files.py", work=Took(1, real=True), starts="2026-11-20T17:50:00Z")
    run.submit("load", "2026-11-20", policy={"end_before": "2026-11-20T18:00:00Z"})
    run.until_quiet()
    assert run.states() == {"arrived/20261120": "expired", "load/20261120": "expired"}


def test_a_job_waits_until_its_day_is_reported(pipeline: Pipelines) -> None:
    run = pipeline("deliveries.py")
    run.submit("load", "2026-11-20")
    run.pass_time("1h")
    assert run.state("load", "2026-11-20") == "waiting"
    run.land("deliveries", "2026-11-19")
    run.pass_time("1h")
    assert run.state("load", "2026-11-20") == "waiting"
    run.land("deliveries", "2026-11-20")
    run.until_quiet()
    assert run.state("load", "2026-11-20") == "succeeded"
