"""Tests of the checker: a true history breaks no rule, and each fault breaks the rule about it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.chaos import stamps, true_history
from tests.chaos.checker import RULES, Violation, check, judge, named
from tests.chaos.history import History, read
from tests.chaos.mutations import MUTATIONS


@pytest.fixture(scope="module")
def record(embedded_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the record folder of a run that is also in the ledger."""
    folder = tmp_path_factory.mktemp("record")
    true_history.tell(embedded_url, folder)
    yield folder
    with psycopg.connect(embedded_url, autocommit=True) as connection:
        connection.execute(stamps.DROP)


@pytest.fixture(scope="module")
def history(record: Path, embedded_url: str) -> History:
    return read(record, embedded_url)


def test_a_true_history_breaks_no_rule(record: Path, embedded_url: str, history: History) -> None:
    assert check(record, embedded_url) == []
    empty = [name for name in history.rows.__struct_fields__ if not getattr(history.rows, name)]
    assert empty == ["owed", "astray", "breaches"], "a rule about a table without rows could not be broken"


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_history_with_one_fault_breaks_only_the_expected_rules(mutation: str, history: History) -> None:
    tamper, rules = MUTATIONS[mutation]
    assert {violation.rule for violation in judge(tamper(history))} == {named(rule) for rule in rules}


def test_each_rule_has_a_fault_that_breaks_it() -> None:
    broken = {rules[0] for _, rules in MUTATIONS.values()}
    assert broken == set(RULES)


@pytest.fixture
def tampered(record: Path, tmp_path: Path) -> Path:
    """Return a copy of the record that a test may change."""
    return shutil.copytree(record, tmp_path / "record")


def test_a_missing_line_of_an_effect_is_noticed(tampered: Path, embedded_url: str) -> None:
    file = tampered / "effects" / "1.jsonl"
    lines = [line for line in file.read_bytes().splitlines() if not _ends(line, b'"d"')]
    file.write_bytes(b"\n".join(lines) + b"\n")
    assert _rules(check(tampered, embedded_url)) == {"succeeded jobs were done"}


def test_an_unfinished_last_line_is_ignored(tampered: Path, embedded_url: str) -> None:
    with (tampered / "effects" / "1.jsonl").open("ab") as file:
        file.write(b'{"event":"st')
    assert check(tampered, embedded_url) == []


def test_a_changed_row_of_the_ledger_is_noticed(record: Path, embedded_url: str) -> None:
    with psycopg.connect(embedded_url) as connection:
        connection.execute("UPDATE gate SET unmet = 1")
        connection.commit()
        try:
            assert _rules(check(record, embedded_url)) == {"the ledger agrees with itself"}
        finally:
            connection.execute("UPDATE gate SET unmet = 0")
            connection.commit()


def _ends(line: bytes, app: bytes) -> bool:
    return b'"event":"end","app":' + app in line


def _rules(violations: list[Violation]) -> set[str]:
    return {violation.rule for violation in violations}
