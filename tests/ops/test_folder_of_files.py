"""A folder of Python files is a source of definitions: one app by chunk for each file, with a schedule."""

from pathlib import Path

import pytest

from tests.homes import started_ledger
from tests.ops.typist import Typist

REPORT = """
from sluice import schedule

STAU_CONFIG = {"chunk_size": 100, "dependencies": [{"job_type": "orders", "max_lag": "6h"}]}

every_night = schedule(id="nightly", app="report", cron="30 2 * * *", timezone="Europe/Copenhagen")


def select_work(**kwargs):
    return list(range(1000))


def main(work_ids, **kwargs):
    print("the report on", work_ids[0], "to", work_ids[-1])
"""
ORDERS = """
STAU_CONFIG = {"chunk_size": 200, "on_failure": "bisect", "max_fails": 2}


def main(work_ids, **kwargs):
    print("the orders of", len(work_ids))
"""


@pytest.fixture
def nightly(tmp_path: Path) -> Typist:
    folder = tmp_path / "nightly"
    folder.mkdir()
    (folder / "report.py").write_text(REPORT)
    (folder / "orders.py").write_text(ORDERS)
    return Typist(tmp_path, SLUICE_APPS="nightly", SLUICE_HOME=str(tmp_path / ".sluice"))


def test_the_apps_of_a_folder_are_planned_run_and_scheduled(nightly: Typist, tmp_path: Path) -> None:
    with started_ledger(tmp_path / ".sluice"):
        plan = nightly.runs("plan", "report")
        assert "15 jobs would run" in plan.out, plan.err
        ran = nightly.runs("run", "report", "--work-ids", "1-400")
        assert (ran.code, "succeeded: 6 succeeded" in ran.out) == (0, True), ran
        fresh = nightly.runs("freshness", "orders")
        assert (fresh.code, "400" in fresh.out) == (0, True), fresh
        due = nightly.runs("schedules", "next")
        assert "02:30:00" in due.out.splitlines()[-1], due.err
