"""The alert rules of Prometheus: their structure, their templates, and samples with which each fires and is silent.

Prometheus's own check, ``promtool check rules``, is not available to the tests.
"""

import re
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import pytest
import yaml

from tests.ops.promql import instant, value_of
from tests.ops.test_dashboards import NAMES, OF_RABBITMQ, selectors

RULES = (Path(__file__).parents[2] / "ops" / "deploy" / "prometheus" / "rules.yml").read_text()

_GROUP = {"name", "interval", "rules"}
_RULE = {"alert", "expr", "for", "keep_firing_for", "labels", "annotations"}
_DURATION = re.compile(r"(?=.)(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?")
_LABEL = re.compile(r"[a-zA-Z_]\w*")
_ACTION = re.compile(r"\{\{(.*?)\}\}")
#: Actions of a template that the rules use.
_ACTIONS = (
    re.compile(r" \$labels\.(\w+) "),
    re.compile(r" \$externalLabels\.\w+ "),
    re.compile(r" \$value( \| (humanize|humanizeDuration))? "),
    re.compile(r" if gt \$value \d+\.\d+ "),
    re.compile(r" end "),
)


class _Loader(yaml.SafeLoader):
    """Loader that refuses a key that is given twice, as Prometheus does."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]  # type: ignore[no-untyped-call] # yaml has no types for it
        if len(keys) > len(set(keys)):
            raise yaml.constructor.ConstructorError(None, None, "a key is given twice", node.start_mark)
        return super().construct_mapping(node, deep)


def faults(text: str) -> list[str]:
    """Return the faults of a file with rules."""
    try:
        found = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        return [f"no YAML: {error}"]
    if not isinstance(found, dict) or {*found} != {"groups"}:
        return ["no groups"]
    groups = [group["name"] for group in found["groups"]]
    rules = [rule for group in found["groups"] for rule in group["rules"]]
    names = [rule.get("alert") for rule in rules]
    return [
        *(f"unknown field {name}" for group in found["groups"] for name in group.keys() - _GROUP),
        *(f"two of {name}" for all_ in (groups, names) for name in {*all_} if all_.count(name) > 1),
        *(f"{rule.get('alert')}: {fault}" for rule in rules for fault in _faults_of(rule)),
    ]


def _faults_of(rule: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"unknown field {name}" for name in rule.keys() - _RULE)
    yield from (f"no {name}" for name in ("alert", "expr", "labels", "annotations") if not rule.get(name))
    for name in ("for", "keep_firing_for"):
        if name in rule and not _DURATION.fullmatch(str(rule[name])):
            yield f"{name} is no duration"
    for texts in (rule.get("labels", {}), rule.get("annotations", {})):
        yield from (f"{name} is no label" for name in texts if not _LABEL.fullmatch(name))
        yield from (f"{name} is no text" for name, text in texts.items() if not isinstance(text, str))
    try:
        expression = promql_parser.parse(str(rule.get("expr")))
    except ValueError as error:
        yield f"no expression: {error}"
        return
    known = {label for each in selectors(expression) for label in _labels_of(each.name)}
    for text in rule.get("annotations", {}).values():
        yield from _faults_of_template(str(text), known)


def _labels_of(name: str) -> tuple[str, ...]:
    return () if name in OF_RABBITMQ else NAMES[name].labels if name in NAMES else ()


def _faults_of_template(text: str, known: set[str]) -> Iterator[str]:
    actions = _ACTION.findall(text)
    if "{{" in _ACTION.sub("", text) or "}}" in _ACTION.sub("", text):
        yield "a template is not closed"
    depth = sum(action.startswith(" if") for action in actions) - actions.count(" end ")
    if depth:
        yield "an if has no end"
    for action in actions:
        if not any(each.fullmatch(action) for each in _ACTIONS):
            yield f"unknown action {action}"
        if (label := _ACTIONS[0].fullmatch(action)) and label[1] not in known:
            yield f"no label {label[1]}"


def test_the_rules_have_no_faults() -> None:
    assert faults(RULES) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("groups:", "group:", "no groups"),
        ("    rules:", "    rule:\n    rules:", "unknown field rule"),
        ("        for: 1m", "        for: 1 minute", "for is no duration"),
        ("        for: 1m", "        For: 1m", "unknown field For"),
        ("        for: 1m", "        for: 1m\n        for: 2m", "no YAML"),
        ("SluiceOldestReadyJob", "SluiceNoLeader", "two of SluiceNoLeader"),
        ("sluice_schedule_late_seconds > 60", "sluice_schedule_late_seconds >", "no expression"),
        ("labels: {severity: warn}", "labels: {a-b: warn}", "a-b is no label"),
        ("labels: {severity: warn}", "labels: {severity: 1}", "severity is no text"),
        ("{{ $value | humanizeDuration }}", "{{ $value | humaneDuration }}", "unknown action"),
        ("{{ $labels.queue }}", "{{ $labels.app }}", "no label app"),
        ("{{ $labels.queue }}", "{{ $labels.queue }", "a template is not closed"),
        ("{{ end }}", "", "an if has no end"),
    ],
)
def test_a_fault_is_found(old: str, new: str, fault: str) -> None:
    assert old in RULES
    found = faults(RULES.replace(old, new, 1))
    assert any(fault in each for each in found), found


class Samples(NamedTuple):
    """Samples with which an alert fires, and samples with which it is silent. ``before`` are those at the begin of each
    range."""

    fires: str
    silent: str
    before: str = ""


def transitions(**times: int) -> str:
    return "\n".join(
        f'sluice_job_transitions_total{{app="a",state="{state}"}} {many}' for state, many in times.items()
    )


_READY = """
sluice_queue_depth{app="a"} 3
sluice_oldest_ready_seconds{app="a"} 700
"""
_BUILD = 'sluice_build_info{version="1",schema="0001"} 1\n'
CASES: Mapping[str, Samples] = {
    "SluiceQueueWithoutWorker": Samples(
        f'{_READY}sluice_queue_workers{{app="a"}} 0\nsluice_app_paused{{app="a"}} 0',
        f'{_READY}sluice_queue_workers{{app="a"}} 0\nsluice_app_paused{{app="a"}} 1',
    ),
    "SluiceOldestReadyJob": Samples(
        f'{_READY}sluice_queue_workers{{app="a"}} 1', f'{_READY}sluice_queue_workers{{app="a"}} 0'
    ),
    "SluiceNoLeader": Samples("sluice_leader_silent_seconds 31", "sluice_leader_silent_seconds 1"),
    "SluiceSubmissionNotPlanned": Samples(
        "sluice_unplanned_submission_seconds 61", "sluice_unplanned_submission_seconds 0"
    ),
    "SluiceSubmissionsRefused": Samples(
        "sluice_refused_submissions_total 1",
        "sluice_refused_submissions_total 0",
        "sluice_refused_submissions_total 0",
    ),
    "SluiceScheduleLate": Samples("sluice_schedule_late_seconds 61", "sluice_schedule_late_seconds 0"),
    "SluiceWorkersLost": Samples(
        'sluice_workers{state="lost"} 1', 'sluice_workers{state="lost"} 0\nsluice_workers{state="alive"} 9'
    ),
    "SluiceDefinitionsDiffer": Samples(
        'sluice_app_definitions{app="a"} 2', 'sluice_app_definitions{app="a"} 1'
    ),
    "SluiceBreakerOpen": Samples('sluice_breaker_open{app="a"} 1', 'sluice_breaker_open{app="a"} 0'),
    "SluiceLeasesLost": Samples(
        "sluice_lease_losses_total 16", "sluice_lease_losses_total 15", "sluice_lease_losses_total 10"
    ),
    "SluiceResultsRefused": Samples(
        "sluice_stale_results_total 16", "sluice_stale_results_total 15", "sluice_stale_results_total 10"
    ),
    "SluiceNotificationsLost": Samples(
        'sluice_groomer_repairs_total{kind="propagate"} 30\n'
        'sluice_groomer_repairs_total{kind="announce_ready"} 30',
        'sluice_groomer_repairs_total{kind="take_lost"} 99',
        'sluice_groomer_repairs_total{kind="propagate"} 0\n'
        'sluice_groomer_repairs_total{kind="announce_ready"} 5\n'
        'sluice_groomer_repairs_total{kind="take_lost"} 0',
    ),
    "SluiceNotificationsDead": Samples(
        'sluice_notifications{state="dead"} 1',
        'sluice_notifications{state="dead"} 0\nsluice_notifications{state="pending"} 9',
    ),
    "SluiceJobsFail": Samples(
        transitions(succeeded=40, failed=11),
        transitions(succeeded=60, failed=11),
        transitions(succeeded=0, failed=0),
    ),
    "SluiceSagaNotUndone": Samples(
        transitions(fatal=1), transitions(fatal=0, failed=1), transitions(fatal=0, failed=0)
    ),
    "SluiceDeadLetters": Samples(
        'sluice_broker_dead_letters{queue="a"} 1', 'sluice_broker_dead_letters{queue="a"} 0'
    ),
    "SluiceBrokerAway": Samples("sluice_broker_up 0", "sluice_broker_up 1"),
    "SluiceBrokerDiskAlarm": Samples(
        "rabbitmq_alarms_free_disk_space_watermark 0\nrabbitmq_alarms_memory_used_watermark 1",
        "rabbitmq_alarms_free_disk_space_watermark 0\nrabbitmq_alarms_memory_used_watermark 0",
    ),
    "SluiceLedgerUnreachable": Samples("sluice_ledger_up 0", "sluice_ledger_up 1"),
    "SluiceOldTransaction": Samples(
        "sluice_ledger_oldest_transaction_seconds 1801", "sluice_ledger_oldest_transaction_seconds 60"
    ),
    "SluiceConnectionsLow": Samples(
        "sluice_ledger_connections 91\nsluice_ledger_connections_max 100",
        "sluice_ledger_connections 90\nsluice_ledger_connections_max 100",
    ),
    "SluiceRetentionBehind": Samples(
        'sluice_retention_overdue_seconds{kind="history"} 21601',
        'sluice_retention_overdue_seconds{kind="history"} 3600',
    ),
    "SluiceMetricsAway": Samples("", f'{_BUILD}sluice_workers{{state="alive"}} 1\nsluice_ledger_up 1'),
    "SluiceBlobsLost": Samples(
        "sluice_blobs_lost_total 3", "sluice_blobs_lost_total 2", "sluice_blobs_lost_total 2"
    ),
    "SluiceLineageDropped": Samples(
        "sluice_lineage_dropped_total 3", "sluice_lineage_dropped_total 2", "sluice_lineage_dropped_total 2"
    ),
}
EXPRESSIONS = {
    rule["alert"]: rule["expr"] for group in yaml.safe_load(RULES)["groups"] for rule in group["rules"]
}


def fires(alert: str, samples: str, before: str = "") -> bool:
    return value_of(EXPRESSIONS[alert], instant(samples + "\n"), instant(before + "\n")) != {}


def test_each_alert_has_samples() -> None:
    assert CASES.keys() == EXPRESSIONS.keys()


@pytest.mark.parametrize("alert", CASES)
def test_an_alert_fires_and_is_silent(alert: str) -> None:
    case = CASES[alert]
    assert fires(alert, case.fires, case.before)
    assert not fires(alert, case.silent, case.before)


def test_without_the_ledger_one_alert_fires_and_not_the_ones_about_its_metrics() -> None:
    """The console answers without the ledger, so its metrics are there and those of the ledger are missing."""
    samples = f"{_BUILD}sluice_ledger_up 0\nsluice_broker_up 1"
    assert [alert for alert in EXPRESSIONS if fires(alert, samples)] == ["SluiceLedgerUnreachable"]


def test_a_ledger_that_is_too_slow_for_its_metrics_is_reported() -> None:
    samples = f"{_BUILD}sluice_ledger_up 1\nsluice_broker_up 1"
    assert [alert for alert in EXPRESSIONS if fires(alert, samples)] == ["SluiceMetricsAway"]
