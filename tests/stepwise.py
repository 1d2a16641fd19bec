"""Procedures whose statements are sent one by one, so that tests can stop before each, or change one."""

from typing import Any

import msgspec

from sluice.ledger.database.connection import Tx
from sluice.ledger.database.procedures import ContinueIf, Procedure


def stepwise(tx: Tx, procedure: Procedure, params: dict[str, Any]) -> list[list[msgspec.Raw]]:
    """Run the steps of a procedure one by one, with the result of ``Tx.call``."""
    found: list[list[dict[str, Any]]] = []
    for step in procedure.steps:
        earlier = {
            name: [row[each.column] for row in found[each.step]] for name, each in step.earlier.items()
        }
        found.append(tx.structs(dict, step.sql, **params | earlier))
        if not _goes_on(step.then, found[-1], params):
            break
    lines = [[msgspec.Raw(msgspec.json.encode(row)) for row in rows] for rows in found]
    return lines + [[] for _ in procedure.steps[len(lines) :]]


def _goes_on(condition: ContinueIf, rows: list[dict[str, Any]], params: dict[str, Any]) -> bool:
    match condition:
        case ContinueIf.ALWAYS:
            return True
        case ContinueIf.SOME_ROWS:
            return bool(rows)
        case ContinueIf.NO_ROWS:
            return not rows
        case ContinueIf.ALL_ROWS:
            return len(rows) == len(params["jobs"])
        case ContinueIf.OPENED_ONE:
            return len(rows) == 1 and _opens(rows[0], params["app"])


def _opens(gate: dict[str, Any], app: object) -> bool:
    """Return whether a counted gate has opened, so that its job of this app may begin."""
    return gate["app"] == app and gate["is_open"] and gate["may_begin"] and not gate["has_lost"]
