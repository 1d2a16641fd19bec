"""The dashboard and the alert rules: every expression parses, and uses existing metrics and labels."""

import json
import re
from collections.abc import Iterator
from inspect import getsource
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from sluice.broker.messages import CONTROL
from sluice.jobs.states import State
from sluice.ledger.reads.state_statistics import REPAIRS
from sluice.ops.observe.metrics import families
from sluice.ops.observe.metrics.families import FAMILIES, Family, MetricKind
from sluice.ops.observe.overview import alarms
from sluice.ops.observe.overview.alarms import Severity

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "ops" / "deploy"
RUNBOOK = ROOT / "docs" / "runbook.md"
#: Address of the runbook on the site of the documentation, under the external label of Prometheus.
RUNBOOK_URL = "{{ $externalLabels.sluice_docs }}/runbook.html"
BOARD = json.loads((DEPLOY / "grafana" / "sluice.json").read_text())
RULES = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text())["groups"]
    for rule in group["rules"]
]
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]

NAMES: dict[str, Family] = {
    family.name: family for family in FAMILIES if family.kind is not MetricKind.HISTOGRAM
} | {
    f"{family.name}_{part}": family
    for family in FAMILIES
    if family.kind is MetricKind.HISTOGRAM
    for part in ("bucket", "sum", "count")
}
#: Metrics of the plugin rabbitmq_prometheus.
OF_RABBITMQ = {"rabbitmq_alarms_free_disk_space_watermark", "rabbitmq_alarms_memory_used_watermark"}
#: Allowed values of the labels that have a fixed list.
VALUES = {
    "state": {*map(str, State), "alive", "lost", "busy", "idle", "pending", "dead"},
    "kind": {*map(str, REPAIRS)},
    "app": {*CONTROL},
}


def of_board() -> list[str]:
    return [target["expr"] for panel in PANELS for target in panel["targets"]]


def expressions() -> list[str]:
    return [*of_board(), *(rule["expr"] for rule in RULES)]


def parsed(expression: str) -> Any:
    """Parse an expression after replacing the variables that Grafana would replace."""
    return promql_parser.parse(expression.replace("$__rate_interval", "5m").replace("$app", ".*"))


def selectors(node: Any) -> Iterator[Any]:
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    elif isinstance(node, promql_parser.MatrixSelector):
        yield node.vector_selector
    else:
        inner = [getattr(node, name) for name in ("expr", "lhs", "rhs", "param") if hasattr(node, name)]
        for each in [*inner, *getattr(node, "args", [])]:
            if isinstance(each, promql_parser.Expr):
                yield from selectors(each)


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_uses_existing_metrics_labels_and_values(expression: str) -> None:
    found = [*selectors(parsed(expression))]
    assert found
    for selector in found:
        if selector.name in OF_RABBITMQ:
            continue
        family = NAMES[selector.name]
        for matcher in selector.matchers.matchers:
            assert matcher.name in family.labels
            if matcher.value != ".*" and matcher.name in VALUES:
                assert set(matcher.value.split("|")) <= VALUES[matcher.name]


def test_counters_are_used_as_rates_and_gauges_are_not() -> None:
    for expression in expressions():
        for name in re.findall(r"sluice_\w+", expression):
            is_rate = re.search(rf"(rate|increase)\({name}\b", expression) is not None
            assert is_rate == (NAMES[name].kind is not MetricKind.GAUGE), expression


def test_every_metric_is_on_the_board() -> None:
    text = " ".join(of_board())
    assert [family.name for family in FAMILIES if family.name not in text] == []


#: Rows of the board about one part of the installation, and the metrics that must be in each.
ROWS = {
    "Ledger": {
        *(families.TABLE_BYTES, families.TABLE_DEAD_ROWS, families.OLDEST_TRANSACTION),
        *(families.CONNECTIONS, families.CONNECTIONS_MAX),
    },
    "Submissions": {families.SUBMISSIONS, families.REFUSED_SUBMISSIONS},
    "Pools": {families.POOL_SLOTS, families.POOL_TAKEN, families.POOL_WAITING},
    "Retention": {families.RETENTION_OVERDUE, families.RETENTION_BACKLOG},
    "At a glance": {families.LEDGER_UP, families.BUILD_INFO, families.BROKER_UP},
}


@pytest.mark.parametrize("title", ROWS)
def test_a_row_has_the_metrics_of_its_part(title: str) -> None:
    rows = sorted(
        (panel["gridPos"]["y"], panel["title"]) for panel in BOARD["panels"] if panel["type"] == "row"
    )
    begin = next(y for y, each in rows if each == title)
    end = min((y for y, _ in rows if y > begin), default=1000)
    panels = [panel for panel in PANELS if begin < panel["gridPos"]["y"] < end]
    used = {
        selector.name
        for panel in panels
        for target in panel["targets"]
        for selector in selectors(parsed(target["expr"]))
    }
    assert used >= {family.name for family in ROWS[title]}


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        here = {(at["x"] + dx, at["y"] + dy) for dx in range(at["w"]) for dy in range(at["h"])}
        assert not here & taken
        assert all(x < 24 for x, _ in here)
        taken |= here
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    assert all(panel["description"] for panel in PANELS)


def test_each_alert_has_a_severity_and_a_link_to_the_runbook() -> None:
    for rule in RULES:
        assert rule["labels"]["severity"] in {*map(str, Severity)}
        assert rule["annotations"]["summary"]
        assert rule["alert"].startswith("Sluice")
        words = re.sub(r"(?<!^)([A-Z])", r"-\1", rule["alert"].removeprefix("Sluice")).lower()
        assert rule["annotations"]["runbook_url"] == f"{RUNBOOK_URL}#{words}"
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_each_alert_of_the_overview_has_a_rule_of_its_name() -> None:
    """An operator finds the rule of an alert by this name."""
    names = set(re.findall(r'name="([a-z-]+)"', getsource(alarms)))
    assert names
    assert names <= {rule["annotations"]["runbook_url"].partition("#")[2] for rule in RULES}


def test_alerts_and_headings_of_the_runbook_match() -> None:
    described = RUNBOOK.read_text().partition("\n## Alerts\n")[2].partition("\n## ")[0]
    headings = re.findall(r"^### ([a-z-]+)$", described, re.MULTILINE)
    wanted = [rule["annotations"]["runbook_url"].partition("#")[2] for rule in RULES]
    assert len(headings) == len(set(headings))
    assert sorted(headings) == sorted(wanted)
