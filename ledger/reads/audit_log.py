"""Audit log, the latest entry first, page by page along the primary key."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from sluice.jobs.model.submission import JSON
from sluice.ledger.database.connection import Tx

_PAGE = """
SELECT id, at, actor, action, target, result FROM audit
WHERE id < %(before)s AND (%(since)s::timestamptz IS NULL OR at >= %(since)s) ORDER BY id DESC LIMIT %(limit)s
"""
_MAX = 2**63 - 1


class AuditEntry(Struct, frozen=True, kw_only=True):
    """Entry of the audit log. ``target`` is the object of the action."""

    id: int
    at: datetime
    actor: str
    action: str
    target: Mapping[str, JSON]
    result: Mapping[str, JSON]


def acts(tx: Tx, *, before: int | None = None, since: datetime | None = None, limit: int) -> list[AuditEntry]:
    return tx.structs(AuditEntry, _PAGE, before=_MAX if before is None else before, since=since, limit=limit)
