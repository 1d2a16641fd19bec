"""``compensate`` and the mode ``saga``: what a definition says of undoing, and what that does not change."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.submission import Submission
from sluice.planner.confs import meant
from tests.jobs.catalogue.sources import write
from tests.planner.definitions import catalogue_of, faults_of

pytestmark = pytest.mark.usefixtures("here")

PAGE = Path(__file__).parents[3] / "docs" / "compensation.md"
TABLE: dict[str, Any] = {"output_table": "t"}
UNDO = {"job_id": "{key}"}


def test_the_example_of_the_page_loads() -> None:
    example = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]
    catalogue = load([write("trip.yaml", example)])
    assert [catalogue[app].compensate for app in ("book", "pay", "mail", "refund")] == [
        "unbook",
        "refund",
        "irreversible",
        None,
    ]
    assert catalogue.undoes("refund")
    assert not catalogue.undoes("mail")


def test_what_undoes_an_app_is_no_part_of_what_it_does() -> None:
    plain = catalogue_of({"a": TABLE, "undo": UNDO})["a"]
    undone = catalogue_of({"a": TABLE | {"compensate": "undo"}, "undo": UNDO})["a"]
    assert (undone.digest, undone.version) == (plain.digest, plain.version)
    assert undone.words == plain.words, "a branch keeps what makes partitions, and not what undoes it"


def test_a_table_has_no_mode_that_is_called_so() -> None:
    ((_, fault),) = faults_of({"a": TABLE | {"modes": {"saga": {}}}})
    assert "saga is no name of a mode" in fault


def test_a_conf_of_one_mode_is_meant_in_that() -> None:
    catalogue = load([write("c.json", json.dumps({"a": TABLE, "confs": {"f": {"late": "a"}}}))])
    asked = meant(catalogue, Submission(app="f", start="2024-01-01", end="2024-01-01", mode="saga"))
    assert (asked.app, asked.mode) == ("a", "late")


def test_a_schedule_may_ask_for_a_saga() -> None:
    schedule = {"cron": "0 0 * * *", "app": "a", "key": "1", "mode": "saga"}
    text = json.dumps({"a": {"job_id": "{x}"}, "schedules": {"nightly": schedule}})
    assert "nightly" in load([write("s.json", text)]).schedules
