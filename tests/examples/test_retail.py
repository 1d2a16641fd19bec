"""The example project ``retail`` in virtual time, with its real functions."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.examples.retail.files import days, write_damaged, write_implausible, write_takings
from sluice.jobs.examples.retail.pipeline import SHOPS
from sluice.testing import Took

_APPS = "sluice.jobs.examples.retail.pipeline"
_MONDAY, _SUNDAY = date(2026, 10, 12), date(2026, 10, 18)
#: Each run takes a second of virtual time, and then does its real work.
_REAL = Took(1, real=True)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder with the takings of all shops in one week."""
    monkeypatch.setenv("RETAIL_DATA", str(tmp_path))
    for day in days(_MONDAY, _SUNDAY):
        for shop in SHOPS:
            write_takings(tmp_path, day, shop)
    return tmp_path


def test_a_week_of_takings_becomes_features(pipeline: Callable[..., Any], data: Path) -> None:
    run = pipeline(_APPS, work=_REAL)
    id_ = run.submit("features", None, start=str(_MONDAY), end=str(_SUNDAY))
    run.until_quiet()
    assert run.submission(id_) == "succeeded"
    assert (run.ran("ingest"), run.ran("daily"), run.ran("features")) == (84, 7, 1)
    week = sum(json.loads(file.read_text()) for file in (data / "revenue").glob("*.json"))
    assert json.loads((data / "features" / f"{_SUNDAY}.json").read_text()) == pytest.approx(week)


def test_implausible_data_stops_the_day(pipeline: Callable[..., Any], data: Path) -> None:
    write_implausible(data, _MONDAY, "s04")
    run = pipeline(_APPS, work=_REAL)
    run.submit("ranking", f"{_MONDAY:%Y%m%d}")
    run.until_quiet()
    assert run.state("check", f"{_MONDAY:%Y%m%d}_s04") == "failed"
    assert run.state("ranking", f"{_MONDAY:%Y%m%d}") == "upstream_failed"
    assert run.ran("daily") == 0


def test_each_failure_and_each_recovery_is_reported_once(pipeline: Callable[..., Any], data: Path) -> None:
    write_implausible(data, _MONDAY, "s04")
    run = pipeline(_APPS, work=_REAL)
    run.submit("ranking", f"{_MONDAY:%Y%m%d}")
    run.until_quiet()
    write_takings(data, _MONDAY, "s04")
    run.submit("ranking", f"{_MONDAY:%Y%m%d}", rerun="downstream")
    run.submit("ingest", f"{_MONDAY:%Y%m%d}_s04", rerun="job")
    run.until_quiet()
    assert run.state("ranking", f"{_MONDAY:%Y%m%d}") == "succeeded"
    failed, recovered = run.notifications()
    for alert, event, state in ((failed, "failed", "failed"), (recovered, "recovered", "succeeded")):
        name = (alert.event, alert.app, alert.key, alert.receiver.app)
        assert name == (event, "check", f"{_MONDAY:%Y%m%d}_s04", "alert")
        assert alert.body["state"] == state
        assert json.loads((data / "alerts" / f"{alert.body['id']}.json").read_text()) == alert.body


def test_a_damaged_file_is_not_read_twice(pipeline: Callable[..., Any], data: Path) -> None:
    write_damaged(data, _MONDAY, "s04")
    run = pipeline(_APPS, work=_REAL, what_if={"ingest": {"max_fails": 5}})
    run.submit("daily", f"{_MONDAY:%Y%m%d}")
    run.until_quiet()
    assert run.ran("ingest", f"{_MONDAY:%Y%m%d}_s04") == 1


def test_the_ranking_has_every_region_that_had_sales(pipeline: Callable[..., Any], data: Path) -> None:
    run = pipeline(_APPS, work=_REAL)
    run.submit("ranking", f"{_MONDAY:%Y%m%d}")
    run.until_quiet()
    assert run.ran("region") == 4
    assert sorted(run.result("ranking", f"{_MONDAY:%Y%m%d}")) == ["east", "north", "south", "west"]
