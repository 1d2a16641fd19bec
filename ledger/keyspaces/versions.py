"""Definitions that are stored by content: each version of an app once, and the versions of each branch.

They are written when a branch is synchronised, and when a plan uses them. So any worker can run a job of a version that
its own definitions no longer have. Rows of ``app_version`` are only added, or get other options with the same meaning.
A branch changes as a whole under its own lock, so synchronisations of one branch run one after the other.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from sluice.jobs.model.submission import JSON
from sluice.ledger.database.connection import Tx, arrays
from sluice.ledger.database.transitions import NOW

#: First key of the advisory locks by branch; it distinguishes them from other locks in the same database.
_SYNCS = 5_318_011

_KEEP = f"""
INSERT INTO app_version (app, version, code, options, seen_at)
SELECT app, version, code, options::jsonb, {NOW}
FROM unnest(%(app)s::text[], %(version)s::text[], %(code)s::text[], %(options)s::text[])
     AS new (app, version, code, options)
ORDER BY app, version
ON CONFLICT (app, version) DO UPDATE SET options = excluded.options, seen_at = excluded.seen_at
WHERE app_version.options <> excluded.options
"""
_KEPT = "SELECT app, version, code, options FROM app_version WHERE app = %(app)s AND version = %(version)s"

_TAKE_TURN = "SELECT pg_advisory_xact_lock(%(syncs)s, hashtext(%(branch)s))"
_SYNC = f"""
INSERT INTO branch_sync (branch, confs, synced_by, synced_at)
VALUES (%(branch)s, %(confs)s::jsonb, %(by)s, {NOW})
ON CONFLICT (branch) DO UPDATE SET confs = excluded.confs, synced_by = excluded.synced_by,
                                   synced_at = excluded.synced_at
"""
_CLEAR = "DELETE FROM branch WHERE branch = %(branch)s AND app <> ALL(%(app)s::text[])"
_POINT = """
INSERT INTO branch (branch, app, version)
SELECT %(branch)s, app, version FROM unnest(%(app)s::text[], %(version)s::text[]) AS new (app, version) ORDER BY app
ON CONFLICT (branch, app) DO UPDATE SET version = excluded.version
"""
_BRANCH = """
SELECT app, version, code, options FROM branch JOIN app_version USING (app, version)
WHERE branch = %(branch)s ORDER BY app
"""
_SYNCED = "SELECT branch, confs, synced_by, synced_at FROM branch_sync WHERE branch = %(branch)s"
_BRANCHES = """
SELECT branch_sync.branch, synced_by, synced_at, count(branch.app) AS apps
FROM branch_sync LEFT JOIN branch USING (branch) GROUP BY branch_sync.branch ORDER BY branch_sync.branch
"""
_REMADE = """
SELECT old.table_name, count(*) FROM unnest(%(table)s::text[], %(before)s::text[], %(after)s::text[])
     AS change (table_name, before, after)
JOIN partition old ON old.table_name = change.table_name AND old.version = change.before AND old.done_at IS NOT NULL
WHERE NOT EXISTS (
    SELECT 1 FROM partition new WHERE new.table_name = old.table_name AND new.version = change.after
    AND new.partition = old.partition AND new.done_at IS NOT NULL)
GROUP BY old.table_name
"""


class Kept(Struct, frozen=True):
    """One version of an app, with the options of its definition (``jobs.model.app.App``)."""

    app: str
    version: str
    code: str
    options: Mapping[str, JSON]


class Synced(Struct, frozen=True):
    """A branch as a whole. ``confs`` maps each conf to the app that it ends in, by mode."""

    branch: str
    confs: Mapping[str, Mapping[str, str]]
    synced_by: str | None
    synced_at: datetime


class ListedVersion(Struct, frozen=True):
    branch: str
    synced_by: str | None
    synced_at: datetime
    apps: int


class Change(Struct, frozen=True):
    """A table that is filled by another version of its app than before."""

    table: str
    before: str
    after: str


def store(tx: Tx, versions: Collection[Kept]) -> None:
    """Store these versions. A version that exists gets the options that it has now."""
    rows = [
        (each.app, each.version, each.code, msgspec.json.encode(each.options).decode()) for each in versions
    ]
    if rows:
        tx.write(_KEEP, **arrays(rows, "app", "version", "code", "options"))


def kept(tx: Tx, app: str, version: str) -> Kept | None:
    return next(iter(tx.structs(Kept, _KEPT, app=app, version=version)), None)


def lock_branch(tx: Tx, branch: str) -> None:
    """Lock this branch until the transaction ends, so that no other transaction synchronises it."""
    tx.rows(_TAKE_TURN, syncs=_SYNCS, branch=branch)


def set_branch(
    tx: Tx, branch: str, versions: Sequence[Kept], confs: Mapping[str, Mapping[str, str]], *, by: str | None
) -> None:
    """Set the versions of a branch to exactly these."""
    store(tx, versions)
    tx.write(_SYNC, branch=branch, confs=msgspec.json.encode(confs).decode(), by=by)
    apps = [each.app for each in versions]
    tx.write(_CLEAR, branch=branch, app=apps)
    tx.write(_POINT, branch=branch, app=apps, version=[each.version for each in versions])


def synced(tx: Tx, branch: str) -> Synced | None:
    """Return a branch, or None if it was never synchronised."""
    return next(iter(tx.structs(Synced, _SYNCED, branch=branch)), None)


def of_branch(tx: Tx, branch: str) -> list[Kept]:
    return tx.structs(Kept, _BRANCH, branch=branch)


def branches(tx: Tx) -> list[ListedVersion]:
    return tx.structs(ListedVersion, _BRANCHES)


def count_remade(tx: Tx, changes: Sequence[Change]) -> dict[str, int]:
    """Return, by table, how many existing partitions would have to be made again."""
    rows = [(each.table, each.before, each.after) for each in changes]
    return dict(tx.rows(_REMADE, **arrays(rows, "table", "before", "after"))) if rows else {}
