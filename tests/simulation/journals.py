"""What holds of the journals of all flights."""

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from sluice.jobs.sagas.course import Leg, next_leg
from sluice.jobs.sagas.entry import Direction, Entry, Mark
from sluice.ledger.connection import Tx

# An entry of one's own, under the claim that stands. What is forced is written after the last has ended.
_LATE = f"""
SELECT step.job, step.flight, step.seq FROM step
WHERE mark <> '{Mark.FORCED}' AND NOT EXISTS (
    SELECT 1 FROM round WHERE round.job = step.job AND round.claim = step.claim
    AND step.at BETWEEN round.running_at AND coalesce(round.executed_at, step.at))
"""
# Whoever goes on has read what was there, so of two claims the later has the later entries.
_MIXED = """
SELECT job, flight, seq FROM (
    SELECT step.*, max(claim) OVER (PARTITION BY job, flight ORDER BY seq) AS latest FROM step) each
WHERE claim < latest
"""
_TAKEN_TWICE = "SELECT event FROM step WHERE event IS NOT NULL GROUP BY event HAVING count(*) > 1"
_ENTRIES = """
SELECT job, flight, to_jsonb(written) - ARRAY['job', 'flight', 'claim', 'at'] AS entry FROM step AS written
ORDER BY job, flight, seq
"""


class _Written(Struct, frozen=True):
    job: int
    flight: int
    entry: Entry


def misplaced(tx: Tx) -> list[str]:
    """Entries that were written under a claim that did not stand."""
    rules = {"late": _LATE, "mixed": _MIXED, "taken twice": _TAKEN_TWICE}
    return [f"{rule}: {row}" for rule, sql in rules.items() for row in tx.rows(sql)]


def off_course(tx: Tx) -> Iterator[str]:
    """Entries that do not follow on those before them."""
    written = tx.structs(_Written, _ENTRIES)
    for one, next_ in pairwise(written):
        is_same = (one.job, one.flight) == (next_.job, next_.flight)
        if is_same and not _follows(one.entry, next_.entry):
            yield f"flight {one.flight} of job {one.job}: {one.entry} is followed by {next_.entry}"
    firsts = [each for each in written if each.entry.seq == 1]
    yield from (f"{each} is a first entry" for each in firsts if each.entry.step != 0)


def _follows(last: Entry, entry: Entry) -> bool:
    turns = entry.direction is Direction.SWITCH
    if last.mark is Mark.AWAITS:
        came = entry.mark is Mark.CAME and entry.direction is last.direction
        return entry.step == last.step and (came or (turns and last.direction is Direction.DO))
    if entry.mark is Mark.FORCED:
        return last.mark is Mark.DISMAL and entry.step == last.step
    if turns:
        # That which has begun goes back, or that which was about to.
        return last.direction is Direction.DO and entry.step in {last.step, next_leg(last).step}
    return Leg(entry.step, entry.direction) == next_leg(last)
