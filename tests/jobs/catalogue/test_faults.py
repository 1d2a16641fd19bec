"""Every kind of fault in a definition and its message. All faults are reported at once."""

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.errors import DefinitionError
from tests.jobs.catalogue.faults_of_chunks import FAULTS_OF_CHUNKS
from tests.jobs.catalogue.faults_of_compensation import FAULTS_OF_COMPENSATION
from tests.jobs.catalogue.faults_of_dependencies import FAULTS_OF_DEPENDENCIES
from tests.jobs.catalogue.faults_of_keys import FAULTS_OF_KEYS
from tests.jobs.catalogue.faults_of_partitions import FAULTS_OF_PARTITIONS
from tests.jobs.catalogue.faults_of_sagas import FAULTS_OF_SAGAS
from tests.jobs.catalogue.faults_of_work import FAULTS_OF_WORK
from tests.jobs.catalogue.faulty_apps import app
from tests.planner.definitions import DATED, catalogue_of, faults_of

FAULTS = (
    FAULTS_OF_WORK
    | FAULTS_OF_KEYS
    | FAULTS_OF_DEPENDENCIES
    | FAULTS_OF_CHUNKS
    | FAULTS_OF_PARTITIONS
    | FAULTS_OF_SAGAS
    | FAULTS_OF_COMPENSATION
)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_an_app_is_reported_once(fault: str) -> None:
    apps, words = FAULTS[fault]
    found = faults_of(apps)
    assert any(words in what for _, what in found), found
    assert len(found) == 1, "one mistake, one fault"


def test_all_faults_are_reported_at_once_with_source_and_app() -> None:
    apps = {
        "a": {"job_id": "{date}-{x}", "max_fail": 1, "timeout": "never"},
        "b": {**DATED, "depends_on": {"app_name": ["nobody"]}, "valid_if_or": {}},
        "c": {**DATED, "depends_on": {"app_name": ["d"]}},
        "d": {**DATED, "depends_on": {"app_name": ["c"]}},
        "p": {"job_id": "{date}"},
        "e": {"job_id": "{date}_{x}", "depends_on": {"app_name": ["p"]}},
    }
    with pytest.raises(DefinitionError) as caught:
        catalogue_of(apps)
    found = caught.value.faults
    assert [fault.app for fault in found] == ["a", "a", "a", "b", "b", "c", "e"]
    assert all(fault.source.endswith("apps.json") for fault in found)
    assert caught.value.exit_code == 2
    assert all(str(fault) in caught.value.what for fault in found)


def test_all_undetermined_identifiers_of_a_group_are_reported_at_once() -> None:
    apps = {
        "p": {"job_id": "{date}_{x}_{y}"},
        "c": {"job_id": "{date}_{s}_{t}", "depends_on": {"app_name": ["p"]}},
    }
    told = [what for _, what in faults_of(apps)]
    assert [what.partition("which ")[2].split(" ")[0] for what in told] == ["s", "t", "x", "y"]


def test_two_circles_of_apps_are_both_reported() -> None:
    apps = {
        name: {**DATED, "depends_on": {"app_name": [parent]}}
        for name, parent in {"a": "b", "b": "a", "x": "z", "y": "x", "z": "y"}.items()
    }
    assert [what.partition("circle: ")[2] for _, what in faults_of(apps)] == [
        "a -> b -> a",
        "x -> y -> z -> x",
    ]


def test_a_faulty_app_causes_no_second_fault_in_its_child() -> None:
    apps = {
        "p": {"job_id": "{date}_{x}", "autofill_values": {"x": "3:3"}},
        "c": {**DATED, "depends_on": {"app_name": ["p"]}},
    }
    assert [app for app, _ in faults_of(apps)] == ["p"]


@pytest.mark.parametrize("delimiter", ["", "a", "{", " "])
def test_an_unusable_delimiter_is_refused(delimiter: str) -> None:
    with pytest.raises(DefinitionError, match="SLUICE_KEY_DELIMITER"):
        load([], delimiter=delimiter)


def test_a_configured_limit_of_jobs_is_applied_and_reported() -> None:
    apps = app(autofill_values={"date": "0:10", "x": "0:10"})
    assert "the limit is 99" in faults_of(apps, limit=99)[0][1]
    assert faults_of(apps, limit=100) == []


def test_an_app_name_that_is_no_possible_queue_name_is_a_fault() -> None:
    faults = dict(faults_of({"a.XQ": {"job_id": "{x}"}, "b" * 201: {"job_id": "{x}"}}))
    assert "end in .XQ" in faults["a.XQ"]
    assert "at most 200" in faults["b" * 201]
