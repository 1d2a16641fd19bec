"""Large kwargs, stored once. The jobs that have them refer to them by digest.

Invariant: kwargs that a job refers to exist. Rows are written once and never changed.

Races: a plan that is about to refer to a row, and its removal. The plan holds the row FOR KEY SHARE until it ends.
Removal locks only unlocked rows (SKIP LOCKED), and checks in a later statement that no job refers to them. A plan that
finds its row missing stores it again. If two plans store the same kwargs, the second waits for the first and uses its
row. A half or a compensation copies the digest from a job that its transaction has locked. So at every moment one job
at least refers to the kwargs.

A crash leaves nothing, or a row that no job refers to, which retention removes.
"""

import hashlib
from collections.abc import Collection, Mapping

import msgspec

from sluice.jobs.model.submission import JSON
from sluice.ledger.database.connection import Tx
from sluice.ledger.database.transitions import LONGEST_S, NOW

#: Most bytes of JSON for kwargs in the job's own row: 1 KiB, half of the size above which Postgres stores a row in
#: several pieces.
OWN_BYTES_MAX = 1024

#: SQL that is true if a job refers to its kwargs. A reference is a text, while its own kwargs would be an object.
IS_SHARED = "jsonb_typeof(job.kwargs) = 'string'"
#: SQL for the digest of a job that refers to its kwargs.
DIGEST = "job.kwargs #>> '{}'"
#: SQL for the kwargs of ``job``, for statements that do not lock it. A statement that waits for a job's lock may return
#: the job's new row without the kwargs, which its snapshot does not have. After such a statement use ``read``.
KWARGS = f"""
(CASE WHEN {IS_SHARED} THEN (
    SELECT shared_kwargs.kwargs FROM shared_kwargs WHERE shared_kwargs.digest = {DIGEST})
 ELSE job.kwargs END)
"""

_HOLD = "SELECT digest FROM shared_kwargs WHERE digest = ANY(%(digests)s) ORDER BY digest FOR KEY SHARE"
_STORE = f"""
INSERT INTO shared_kwargs (digest, kwargs, at)
SELECT digest, kwargs::jsonb, {NOW} FROM unnest(%(digests)s::text[], %(kwargs)s::text[]) AS new (digest, kwargs)
ORDER BY digest ON CONFLICT (digest) DO NOTHING RETURNING digest
"""
_READ = "SELECT digest, kwargs::text FROM shared_kwargs WHERE digest = ANY(%(digests)s)"

_UNUSED = f"""
at < {NOW} - make_interval(secs => least(%(keep_s)s, {LONGEST_S}))
AND NOT EXISTS (SELECT 1 FROM job WHERE {IS_SHARED} AND {DIGEST} = shared_kwargs.digest)
"""
_HOLD_UNUSED = f"SELECT digest FROM shared_kwargs WHERE {_UNUSED} LIMIT %(limit)s FOR UPDATE SKIP LOCKED"
_REMOVE = f"DELETE FROM shared_kwargs WHERE digest = ANY(%(digests)s) AND {_UNUSED}"
_COUNT = f"SELECT count(*) FROM shared_kwargs WHERE {_UNUSED}"


def stored(kwargs: Mapping[str, JSON], shared: dict[str, str]) -> str | None:
    """Return the JSON for the ``kwargs`` column of a job: the kwargs or a digest. If it is a digest, add them to
    ``shared``."""
    if not kwargs:
        return None
    text = msgspec.json.encode(kwargs, order="deterministic")
    if len(text) <= OWN_BYTES_MAX:
        return text.decode()
    digest = hashlib.sha256(text).hexdigest()
    shared[digest] = text.decode()
    return f'"{digest}"'


def keep(tx: Tx, shared: Mapping[str, str]) -> None:
    """Store missing kwargs, and lock all of them until this transaction ends."""
    missing = set(shared)
    while missing:
        missing -= {*tx.column(_HOLD, digests=sorted(missing))}
        if missing:
            digests = sorted(missing)
            missing -= {*tx.column(_STORE, digests=digests, kwargs=[shared[each] for each in digests])}


def read(tx: Tx, digests: Collection[str]) -> dict[str, str]:
    """Return the JSON of these kwargs, by digest."""
    return dict(tx.rows(_READ, digests=sorted(digests))) if digests else {}


def prune(tx: Tx, *, keep_s: float, limit: int) -> int:
    """Remove at most ``limit`` unreferenced kwargs that are older than ``keep_s``. Return how many were removed."""
    held = tx.column(_HOLD_UNUSED, keep_s=keep_s, limit=limit)
    return tx.write(_REMOVE, digests=held, keep_s=keep_s) if held else 0


def prunable(tx: Tx, *, keep_s: float) -> int:
    """Return how many kwargs ``prune`` would remove in all."""
    return int(tx.column(_COUNT, keep_s=keep_s)[0])
