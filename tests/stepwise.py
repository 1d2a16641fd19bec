"""Procedures whose statements are sent one by one, so that tests can stop before each, or change one."""

from typing import Any

import msgspec

from sluice.ledger.database.connection import Tx
from sluice.ledger.database.procedures import ContinueIf, Procedure


def stepwise(tx: Tx, procedure: Procedure, params: dict[str, Any]) -> list[list[str]]:
    """Run the steps of a procedure one by one, with the result of ``Tx.call``."""
    found: list[list[dict[str, Any]]] = []
    for step in procedure.steps:
        ids = {name: [row["id"] for row in found[place]] for name, place in step.ids.items()}
        found.append(tx.structs(dict, step.sql, **params | ids))
        rows = len(found[-1])
        goes_on = {
            ContinueIf.ALWAYS: True,
            ContinueIf.SOME_ROWS: rows > 0,
            ContinueIf.NO_ROWS: rows == 0,
            ContinueIf.ALL_ROWS: rows == len(params["jobs"]),
        }
        if not goes_on[step.then]:
            break
    lines = [[msgspec.json.encode(row).decode() for row in rows] for rows in found]
    return lines + [[] for _ in procedure.steps[len(lines) :]]
