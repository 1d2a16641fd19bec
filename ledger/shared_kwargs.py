"""Large kwargs, stored once; the jobs that have them refer to them by digest.

What holds: kwargs that a job refers to exist. Rows are written once and never changed.

Who races whom: a plan that is about to refer to a row, and its removal. The plan holds the row FOR KEY SHARE until it
has ended. Removal locks only rows that no transaction holds (SKIP LOCKED), and checks in a later statement that no job
refers to them. A plan that finds its row gone stores it again. Two plans that store the same kwargs: the second waits
for the first and uses its row. A half or a compensation copies the digest from a job whose row its transaction holds,
so at every moment one of the two refers to the kwargs.
What a crash leaves: nothing, or a row that no job refers to, which retention removes.
"""

import hashlib
from collections.abc import Collection, Mapping

import msgspec

from sluice.jobs.submission import JSON
from sluice.ledger.connection import Tx
from sluice.ledger.sql import LONGEST_S, NOW

#: Bytes of JSON up to which kwargs are stored in the row of the job: 1 KiB, half of the size above which
#: Postgres stores a row in several pieces.
OWN_BYTES_MAX = 1024

#: Whether a job refers to its kwargs. The reference is a text and its own kwargs are an object.
IS_SHARED = "jsonb_typeof(job.kwargs) = 'string'"
#: The digest, for a job that refers to its kwargs.
DIGEST = "job.kwargs #>> '{}'"
#: The kwargs of ``job``, for statements that do not lock it. A statement that waits for the lock of a job may return
#: its new row without the kwargs, which its snapshot does not have; after such a statement use ``read``.
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
    """Return the JSON that the row of a job has for these kwargs: their own, or a digest. If it is a digest, they are
    added to ``shared``."""
    if not kwargs:
        return None
    text = msgspec.json.encode(kwargs, order="deterministic")
    if len(text) <= OWN_BYTES_MAX:
        return text.decode()
    digest = hashlib.sha256(text).hexdigest()
    shared[digest] = text.decode()
    return f'"{digest}"'


def keep(tx: Tx, shared: Mapping[str, str]) -> None:
    """Store the kwargs that are missing, and lock all of them until this transaction ends."""
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
    """Remove at most ``limit`` that are older than ``keep_s`` and that no job refers to; return how many."""
    held = tx.column(_HOLD_UNUSED, keep_s=keep_s, limit=limit)
    return tx.write(_REMOVE, digests=held, keep_s=keep_s) if held else 0


def prunable(tx: Tx, *, keep_s: float) -> int:
    """Return how many ``prune`` would remove in all."""
    return int(tx.column(_COUNT, keep_s=keep_s)[0])
