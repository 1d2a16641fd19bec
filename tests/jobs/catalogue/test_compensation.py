"""``compensate`` and the mode ``saga``: definitions of how jobs are undone, and properties that these do not change."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.partitions.partition_keys import meant
from tests.jobs.catalogue.sources import write
from tests.planner.definitions import catalogue_of, faults_of

pytestmark = pytest.mark.usefixtures("here")

PAGE = Path(__file__).parents[3] / "docs" / "compensation.md"
TABLE: dict[str, Any] = {"output_table": "t"}
UNDO = {"job_id": "{key}"}


def test_the_example_on_the_compensation_page_can_be_loaded() -> None:
    example = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    catalogue = load([write("trip.py", example)])
    assert [catalogue[app].compensate for app in ("book", "pay", "mail", "refund")] == [
        "unbook",
        "refund",
        "irreversible",
        None,
    ]
    assert catalogue.undoes("refund")
    assert not catalogue.undoes("mail")


def test_compensate_changes_neither_digest_nor_version_of_an_app() -> None:
    plain = catalogue_of({"a": TABLE, "undo": UNDO})["a"]
    undone = catalogue_of({"a": TABLE | {"compensate": "undo"}, "undo": UNDO})["a"]
    assert (undone.digest, undone.version) == (plain.digest, plain.version)
    assert undone.words == plain.words, "a branch keeps what makes partitions, and not what undoes it"


def test_an_app_cannot_have_a_mode_called_saga() -> None:
    ((_, fault),) = faults_of({"a": TABLE | {"modes": {"saga": {}}}})
    assert "saga is no name of a mode" in fault


def test_a_submission_with_mode_saga_uses_the_only_mode_of_a_conf() -> None:
    catalogue = load([write("c.json", json.dumps({"a": TABLE, "confs": {"f": {"late": "a"}}}))])
    asked = meant(catalogue, Submission(app="f", start="2024-01-01", end="2024-01-01", mode="saga"))
    assert (asked.app, asked.mode) == ("a", "late")


def test_a_schedule_may_have_the_mode_saga() -> None:
    schedule = {"cron": "0 0 * * *", "app": "a", "key": "1", "mode": "saga"}
    text = json.dumps({"a": {"job_id": "{x}"}, "schedules": {"nightly": schedule}})
    assert "nightly" in load([write("s.json", text)]).schedules
