"""Subqueries that lock rows are run once for each statement."""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping

import pytest
from msgspec import Struct

from sluice import ledger

_LOCK = re.compile(r"\bFOR\s+(?:NO\s+KEY\s+)?(?:UPDATE|KEY\s+SHARE|SHARE)\b")
#: Text before the parenthesis of a subquery that Postgres runs once, or of which it needs only one row.
_RUN_ONCE = re.compile(r"\b(?:ARRAY|AS|MATERIALIZED|EXISTS)\s*$")
_RUN_AGAIN = re.compile(r"\b(?:IN|ANY|ALL|FROM|JOIN|USING)\s*$")
ADVICE = """
These statements have a subquery that locks rows as a list for IN, or in FROM. Postgres may run it again for each row of
a nested loop. Each time it chooses other rows, because it skips those that are locked or already written. Then the
statement writes more rows than its LIMIT. Use `id = ANY(ARRAY(SELECT …))` or a common table expression AS MATERIALIZED.
"""


def _around(sql: str, place: int) -> Iterator[str]:
    """Yield the text before each parenthesis around this place, the innermost first."""
    depth = 0
    for at in range(place - 1, -1, -1):
        depth += (sql[at] == ")") - (sql[at] == "(")
        if depth < 0:
            depth = 0
            yield sql[:at]


def is_run_again(sql: str) -> bool:
    """Return whether a subquery of the statement locks rows, and Postgres may run it more than once."""
    for lock in _LOCK.finditer(sql):
        for before in _around(sql, lock.start()):
            if _RUN_ONCE.search(before):
                break
            if _RUN_AGAIN.search(before):
                return True
    return False


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, Struct):
        for field in value.__struct_fields__:
            yield from _texts(getattr(value, field))


def _statements() -> Iterator[tuple[str, str]]:
    """Yield each text in the modules of the ledger, with the name of its constant. Migrations are history."""
    for found in pkgutil.walk_packages(ledger.__path__, "sluice.ledger."):
        if ".migrations" not in found.name:
            for name, value in vars(importlib.import_module(found.name)).items():
                for text in _texts(value):
                    yield f"{found.name}.{name}", text


@pytest.mark.parametrize(
    ("sql", "again"),
    [
        ("UPDATE t SET a = 1 WHERE id IN (SELECT id FROM t LIMIT 9 FOR UPDATE SKIP LOCKED)", True),
        ("DELETE FROM t WHERE (a, b) IN (\n SELECT a, b FROM t LIMIT 9 FOR NO KEY UPDATE)", True),
        ("UPDATE t SET a = 1 FROM (SELECT id FROM t LIMIT 9 FOR UPDATE) AS x WHERE t.id = x.id", True),
        ("DELETE FROM t WHERE id IN (SELECT id FROM a, LATERAL (SELECT id FROM t FOR UPDATE) x)", True),
        ("DELETE FROM t WHERE id = ANY(SELECT id FROM t LIMIT (SELECT 9) FOR UPDATE)", True),
        ("UPDATE t SET a = 1 WHERE id = ANY(ARRAY(SELECT id FROM t LIMIT 9 FOR UPDATE SKIP LOCKED))", False),
        (
            "WITH x AS MATERIALIZED (SELECT id FROM t FOR UPDATE) DELETE FROM t USING x WHERE t.id = x.id",
            False,
        ),
        ("WITH x AS (SELECT id FROM t WHERE id IN (SELECT 1) FOR UPDATE) SELECT 1", False),
        ("SELECT id FROM t WHERE id IN (SELECT id FROM u) ORDER BY id FOR UPDATE", False),
        (
            "SELECT id FROM a CROSS JOIN LATERAL (SELECT id FROM t WHERE a.b = t.b LIMIT 1 FOR UPDATE) x",
            False,
        ),
    ],
)
def test_a_subquery_that_may_run_again_is_recognized(sql: str, *, again: bool) -> None:
    assert is_run_again(sql) == again


def test_no_statement_of_the_ledger_has_a_locking_subquery_that_may_run_again() -> None:
    statements = [*_statements()]
    assert sum(bool(_LOCK.search(text)) for _, text in statements) > 50
    offences = sorted({name for name, text in statements if is_run_again(text)})
    assert not offences, "\n".join([ADVICE, *offences])
