"""The options ``notify`` and ``due_within``: valid values, and the faults of all others."""

from typing import Any

import pytest

from sluice.jobs.errors import DefinitionError
from sluice.jobs.notifications.rules import JobEvent, NotifyRule, Receiver
from tests.world import catalogue_of

WORDS = {"job_id": "{x}", "bash_cmd": "true"}
URL = "https://alerts.example.org/x"


def rules(*values: Any) -> tuple[NotifyRule, ...]:
    return catalogue_of({"a": WORDS | {"notify": list(values)}})["a"].policy.notify


def test_rules_are_parsed() -> None:
    assert rules({"on": ["failed", "recovered"], "webhook": URL, "format": "slack"}) == (
        NotifyRule(on=(JobEvent.FAILED, JobEvent.RECOVERED), to=Receiver(webhook=URL, format="slack")),
    )


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("x", "is not a list of rules"),
        ([3], "rule 1: 3 is no mapping"),
        ([{"webhook": URL}], "there is no on"),
        ([{"on": ["failed"]}], "there is no receiver"),
        ([{"on": "failed", "webhook": URL}], "is not a list of events"),
        ([{"on": ["fail"], "webhook": URL}], r"did you mean failed\?"),
        ([{"on": ["recovered"], "webhook": URL}], "a job recovers from an event that the rule sends"),
        ([{"on": ["failed"], "webhok": URL}], r"did you mean webhook\?"),
        ([{"on": ["failed"], "webhook": "ftp://x"}], "neither an http nor an https URL"),
        ([{"on": ["failed"], "webhook": "https://u:p@x/"}], "is a secret"),
        ([{"on": ["failed"], "webhook": "${SLUICE_LEDGER_URL}"}], "is a setting or a secret of the worker"),
        ([{"on": ["failed"], "webhook": "https://x/${A-B}"}], "a reference to a secret is"),
        ([{"on": ["failed"], "webhook": URL, "format": "xml"}], "is none of json, slack"),
        ([{"on": ["failed"], "webhook": URL}] * 21, "more than the 20"),
    ],
)
def test_an_invalid_rule_is_a_fault(value: Any, fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        catalogue_of({"a": WORDS | {"notify": value}})


def test_due_within_is_a_duration() -> None:
    assert catalogue_of({"a": WORDS | {"due_within": "4h"}})["a"].policy.due_within_s == 4 * 3600
    with pytest.raises(DefinitionError, match="due_within: '0s' is not longer than 0s"):
        catalogue_of({"a": WORDS | {"due_within": "0s"}})


def test_neither_changes_the_digest_of_an_app() -> None:
    plain = catalogue_of({"a": WORDS})["a"].digest
    notify = [{"on": ["failed"], "webhook": URL}]
    assert catalogue_of({"a": WORDS | {"notify": notify, "due_within": "1h"}})["a"].digest == plain


def test_the_label_of_a_receiver_shows_no_path() -> None:
    assert (
        Receiver(webhook="https://hooks.example.org/services/T1/secret").label
        == "webhook https://hooks.example.org"
    )
    assert Receiver(webhook="${ALERT_URL}").label == "webhook ${ALERT_URL}"
