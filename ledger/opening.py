"""Opening of tasks: they enter as submissions, and tasks without a key of their own get a number.

Invariants: no number of an app is given out twice, even if its job was removed. A number that a user has used as a key
is skipped. The counter's row is locked until the tasks are in the ledger. So if two transactions open tasks at the same
time, the second gets higher numbers.

A crash leaves nothing or everything, because opening is one transaction. If the same submission is opened again, its
existing keys are returned.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.submission import Submission, SubmissionState, conflict
from sluice.ledger import submissions
from sluice.ledger.above import ABOVE
from sluice.ledger.connection import Tx
from sluice.ledger.requests import BODY, read

# The id of a refused submission is free.
_STANDING = f"""
SELECT id, {BODY} FROM submission WHERE id = ANY(%(ids)s) AND state <> '{SubmissionState.REFUSED}'
"""
_HOLD_COUNTER = f"""
INSERT INTO counter (app, last) VALUES (%(app)s, 0) ON CONFLICT (app) DO UPDATE SET last = counter.last
RETURNING greatest(last, {ABOVE})
"""
# The series ends with the number that fills the page. OFFSET keeps the look-up by the index, key by key.
_FREE = """
SELECT number FROM (SELECT generate_series(%(last)s::bigint + 1, 9223372036854775807) AS number) series
WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.app = %(app)s AND job.key = number::text OFFSET 0)
  AND number::text NOT IN (SELECT unnest(%(given)s::text[]))
LIMIT %(count)s
"""
_ADVANCE = "UPDATE counter SET last = %(last)s WHERE app = %(app)s"


class Parcel(Struct, frozen=True, kw_only=True):
    """Batch of tasks: a submission that names no keys yet, and its keys; None stands for a key that gets a number."""

    submission: Submission
    keys: tuple[str | None, ...]


def open_tasks(tx: Tx, app: str, parcels: Sequence[Parcel]) -> list[tuple[str, ...]]:
    """Admit the batches, with numbers in their order; return the keys of each. An existing batch is left as it is."""
    there = standing(tx, parcels)
    new = [parcel for parcel in parcels if parcel.submission.require_id() not in there]
    given = [key for parcel in new for key in parcel.keys if key is not None]
    numbers = iter(reserve(tx, app, sum(parcel.keys.count(None) for parcel in new), given))
    asked = [_asked(parcel, [next(numbers) if key is None else key for key in parcel.keys]) for parcel in new]
    # If two transactions open the same tasks at the same time, they ask for different numbers. That is no conflict.
    taken = submissions.admit(tx, asked).new
    keys = {each.require_id(): each.named_keys or () for each in asked if each.id in taken}
    # If a concurrent transaction was first with a batch, only the numbers for it are lost.
    keys |= there if len(taken) == len(new) else standing(tx, parcels)
    return [keys[parcel.submission.require_id()] for parcel in parcels]


def standing(tx: Tx, parcels: Sequence[Parcel]) -> Mapping[str, tuple[str, ...]]:
    """Return the keys of the submissions that the ledger has, by id. Raise Conflict if they differ from the batches."""
    by_id = {parcel.submission.require_id(): parcel for parcel in parcels}
    found = {id_: read(body)[0] for id_, body in tx.rows(_STANDING, ids=list(by_id))}
    keys: dict[str, tuple[str, ...]] = {}
    for id_, submission in found.items():
        opened = by_id[id_]
        keys[id_] = submission.named_keys or () if submission else ()
        same_app = submission is not None and submission.app == opened.submission.app
        if not same_app or len(keys[id_]) != len(opened.keys):
            raise conflict(opened.submission)
    return keys


def reserve(tx: Tx, app: str, count: int, given: Sequence[str]) -> list[str]:
    """Return ``count`` numbers that no task of the app has had, and that are not among the ``given`` keys."""
    if not count:
        return []
    last = tx.column(_HOLD_COUNTER, app=app)[0]
    numbers = tx.column(_FREE, app=app, last=last, count=count, given=[*given])
    tx.write(_ADVANCE, app=app, last=numbers[-1])
    return [str(number) for number in numbers]


def _asked(parcel: Parcel, keys: list[str]) -> Submission:
    if len(keys) == 1:
        return replace(parcel.submission, key=keys[0])
    return replace(parcel.submission, keys=tuple(keys))
