"""Results in ``sluice run``, ``sluice show`` and the console, and in virtual time."""

import re
from pathlib import Path

import pytest

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Assignment
from sluice.ledger.database.connection import Tx
from sluice.ops.console.calls.jobs import RESULT_CHARS_MAX
from sluice.ops.simulation.plugin import Pipelines
from sluice.testing import Faults, Took
from tests.ops.caller import console
from tests.ops.typist import Typist

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
#: The definitions of the page, which are in one file.
SHOP = "\n\n".join(re.findall(r"^```python\n# shop\.py.*?\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
LONG = """
from sluice import app

@app(job_id="{n}")
def long(n):
    return {"url": "https://ann:secret@shop/", "text": "x" * 1000}

@app(job_id="{n}")
def much(n):
    return "x" * 300_000

@app(job_id="{n}")
def number(n):
    return {"number": 2**60 + 1}
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Return the file with the page's definitions."""
    (tmp_path / "shop.py").write_text(SHOP)
    return str(tmp_path / "shop.py")


@pytest.fixture
def shop(desk_apart: Typist) -> Typist:
    desk_apart.write("shop.py", SHOP)
    desk_apart.write("long.py", LONG)
    desk_apart.environment["SLUICE_APPS"] = "shop.py,long.py"
    return desk_apart


def test_show_has_the_result_of_a_job(shop: Typist) -> None:
    shop.asks("run", "report", "20261120")
    assert shop.asks("show", "report", "20261120")["result"] == {"graz": 480.0, "oslo": 480.0}
    shown = shop.types("show", "sales", "graz_20261120").out
    assert 'result {"day":"2026-11-20","shop":"graz","orders":12,"revenue":480.0}' in shown


def test_show_cuts_a_long_result_and_masks_passwords(shop: Typist) -> None:
    shop.asks("run", "long", "1")
    found = shop.asks("show", "long", "1")
    assert found["result"] == {"url": "https://***@shop/", "text": "x" * 1000}
    shown = " ".join(shop.types("show", "long", "1").out.split())
    assert "… of 1037 characters; --json has all" in shown
    assert "secret" not in shown


def test_show_names_the_blob_of_a_large_result(shop: Typist) -> None:
    shop.asks("run", "much", "1")
    found = shop.asks("show", "much", "1")
    assert found["result"] is None
    assert found["result_blob"].startswith("much/")
    assert f"result in blob {found['result_blob']}" in " ".join(shop.types("show", "much", "1").out.split())


def test_the_console_has_the_result_of_a_job(shop: Typist) -> None:
    for app in ("number", "long", "much"):
        shop.asks("run", app, "1")
    with console(shop) as caller:
        assert caller.reads("/api/jobs/long/1") == shop.asks("show", "long", "1")
        assert caller.gets("/api/jobs/number/1/result").body == b'{\n  "number": 1152921504606846977\n}'
        assert caller.gets("/api/jobs/long/1/result").document["url"] == "https://***@shop/"
        large = caller.gets("/api/jobs/much/1/result").body.decode()
        assert large[RESULT_CHARS_MAX:] == f"\n… {300_002 - RESULT_CHARS_MAX} characters left out"
        whole = caller.gets("/api/jobs/much/1/result?download")
        assert (whole.document, whole.headers["Content-Disposition"][:11]) == ("x" * 300_000, "attachment;")
        missing = caller.gets("/api/jobs/number/2/result")
        assert (missing.status, missing.document["title"]) == (404, "Not Found")


def test_a_result_that_is_not_stored_yet_is_reported(shop: Typist) -> None:
    shop.asks("run", "number", "1")
    shop.ledger.transact(_commit_without_result)
    reason = "its worker died between the commit of its success and the end of its function"
    found = shop.asks("show", "number", "1")
    assert (found["result"], found["result_pending"]) == (None, reason)
    assert f"no result: {reason}" in " ".join(shop.types("show", "number", "1").out.split())
    with console(shop) as caller:
        assert caller.reads("/api/jobs/number/1")["result_pending"] == reason
        assert reason in caller.gets("/api/jobs/number/1/result").document["detail"]


def _commit_without_result(tx: Tx) -> None:
    """Put the round of a job into the state that a worker leaves if it dies after the job's transaction."""
    tx.write("UPDATE round SET result = NULL, result_pending = true")


def test_bypass_prints_the_result(shop: Typist) -> None:
    said = shop.types("run", "--bypass", "sales", "graz_20261120", "--json")
    assert said.document["jobs"][0]["result"]["orders"] == 12


def test_a_pipeline_in_virtual_time_has_results(pipeline: Pipelines, source: str) -> None:
    run = pipeline(source, work=Took(1, real=True))
    run.submit("report", "2026-11-20")
    run.until_quiet()
    assert run.result("report", "2026-11-20") == {"graz": 480.0, "oslo": 480.0}


def test_a_test_may_set_the_results_of_simulated_jobs(pipeline: Pipelines, source: str) -> None:
    def sales(job: Assignment) -> Took:
        return Took(60, result={"day": "2026-11-20", "shop": job.ids["shop"], "orders": 1, "revenue": 7.0})

    run = pipeline(
        source,
        work={"sales": sales, "report": Took(1, real=True)},
        faults=Faults(crash_before_commit=0.03, crash_after_commit=0.03, lose=0.3),
    )
    run.submit("report", "2026-11-20")
    run.until_quiet()
    assert run.result("sales", "graz_2026-11-20")["orders"] == 1
    assert run.result("report", "2026-11-20") == {"graz": 7.0, "oslo": 7.0}


def test_a_job_without_success_has_no_result_in_virtual_time(pipeline: Pipelines, source: str) -> None:
    run = pipeline(source, work=Took(1, error="closed"))
    run.submit("sales", "graz_2026-11-20")
    run.until_quiet()
    with pytest.raises(BadRequest, match="sales/graz_20261120 has no result: it is failed"):
        run.result("sales", "graz_2026-11-20")
