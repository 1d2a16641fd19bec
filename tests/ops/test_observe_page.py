"""docs/observe.md: its metrics, fields, variables and spans are the ones in the code."""

import re
from inspect import getsource
from pathlib import Path

from sluice.actors.settings.settings import read_settings
from sluice.actors.telemetry import trace_context, tracing
from sluice.actors.telemetry.openlineage import sender
from sluice.jobs.observe.log_context import Subject
from sluice.jobs.states import State
from sluice.ledger.reads.pool_queue import METRICS_MAX
from sluice.ledger.reads.run_records import PARENTS_MAX
from sluice.ledger.reads.state_statistics import REPAIRS
from sluice.ledger.stats.state_counts import BUCKETS_S, TIMED
from sluice.ops.observe.metrics import families
from sluice.ops.observe.metrics.families import FAMILIES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "observe.md").read_text()


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_table_of_metrics_is_made_from_the_code() -> None:
    rows = [
        f"| `{family.name}` | {family.kind} | {', '.join(f'`{label}`' for label in family.labels)} | {family.says} |"
        for family in FAMILIES
    ]
    assert "\n".join(["| metric | kind | labels | meaning |", "|---|---|---|---|", *rows]) + "\n" in PAGE


def test_the_numbers_of_series_are_those_of_the_families() -> None:
    of_states = {families.JOBS, families.TRANSITIONS}
    others = [family for family in FAMILIES if family.labels in (("app",), ("app", "tenant"), ("queue",))]
    histogram = len(BUCKETS_S) + 3
    most = len(of_states) * len(State) + len(TIMED) * histogram + len(others)
    plain = {State.WAITING, State.READY, State.RUNNING, State.EXECUTED, State.SUCCEEDED}
    usual = len(of_states) * len(plain) + len(plain & {*TIMED}) * histogram + len(others)
    assert (
        f"about {usual // 10 * 10} with the states of jobs that succeed, and {most} with all states" in PAGE
    )
    assert f"{2 * (families.TABLES_MAX + 1)} for the largest tables" in PAGE
    assert f"at most {METRICS_MAX} of them" in PAGE


def test_all_kinds_of_repairs_are_named() -> None:
    assert [kind for kind in REPAIRS if f"`{kind}`" not in section("Metrics")] == []


def test_the_page_has_the_fields_of_the_log() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section("Logs"), re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == [*Subject.__struct_fields__]


def test_the_variables_of_the_page_are_read(tmp_path: Path) -> None:
    given = {
        "SLUICE_LINEAGE_URL": "http://somewhere",
        "SLUICE_LINEAGE_TOKEN": "t",
        "SLUICE_LINEAGE_NAMESPACE": "n",
        "SLUICE_LINEAGE_DATASET_NAMESPACE": "s3://w",
        "SLUICE_TRACE": "on",
        "SLUICE_TRACE_HEADERS": "authorization=t",
        "SLUICE_LOG": "json",
    }
    named = re.findall(r"SLUICE_(?:LINEAGE|TRACE|LOG)\w*", PAGE)
    assert {name.removesuffix("_FILE") for name in named} == {*given}
    found = read_settings(given, folder=tmp_path)
    assert found.lineage is not None
    assert found.trace_headers == {"authorization": "t"}
    assert (found.trace, found.log, found.lineage.jobs, found.lineage.tables) == (True, "json", "n", "s3://w")


def test_the_page_has_the_attributes_of_the_spans() -> None:
    code = getsource(tracing) + getsource(trace_context)
    attributes = set(re.findall(r"`((?:messaging|sluice)\.[\w.]+)`", section("Traces")))
    of_jobs = {"sluice.app", "sluice.key"}
    assert {name for name in attributes - of_jobs if f'"{name}"' not in code} == set()
    assert set(re.findall(r'"(sluice\.[a-z_]+)"', code)) <= attributes
    assert f"{PARENTS_MAX} at the most" in section("Traces")


def test_the_page_has_the_limits_of_lineage() -> None:
    assert sender.WAITING_MAX == 1000
    assert "a queue of a thousand" in section("Lineage")
    assert len(sender.PAUSES_S) + 1 == 3
    assert "after three tries" in section("Lineage")
