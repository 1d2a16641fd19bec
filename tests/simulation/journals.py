"""Checks of the journals of all flights."""

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from sluice.jobs.sagas.journal import Direction, EntryResult, JournalEntry
from sluice.jobs.sagas.next_step import Leg, next_leg
from sluice.ledger.database.connection import Tx

# Entries that were not written while their claim was running. Forced ones are excepted: an operator writes them after
# the last claim has ended.
_LATE = f"""
SELECT saga_journal.job, saga_journal.flight, saga_journal.seq FROM saga_journal
WHERE result <> '{EntryResult.FORCED}' AND NOT EXISTS (
    SELECT 1 FROM round WHERE round.job = saga_journal.job AND round.claim = saga_journal.claim
    AND saga_journal.at BETWEEN round.running_at AND coalesce(round.executed_at, saga_journal.at))
"""
# Entries after an entry of a later claim. A worker that takes over reads the existing entries first, so of two claims
# the later one has the later entries.
_MIXED = """
SELECT job, flight, seq FROM (
    SELECT saga_journal.*, max(claim) OVER (PARTITION BY job, flight ORDER BY seq) AS latest FROM saga_journal) each
WHERE claim < latest
"""
_TAKEN_TWICE = "SELECT event FROM saga_journal WHERE event IS NOT NULL GROUP BY event HAVING count(*) > 1"
_ENTRIES = """
SELECT job, flight, to_jsonb(written) - ARRAY['job', 'flight', 'claim', 'at'] AS entry FROM saga_journal AS written
ORDER BY job, flight, seq
"""


class _Written(Struct, frozen=True):
    job: int
    flight: int
    entry: JournalEntry


def misplaced(tx: Tx) -> list[str]:
    """Return entries that were written under an invalid claim, and events that were taken twice."""
    rules = {"late": _LATE, "mixed": _MIXED, "taken twice": _TAKEN_TWICE}
    return [f"{rule}: {row}" for rule, sql in rules.items() for row in tx.rows(sql)]


def off_course(tx: Tx) -> Iterator[str]:
    """Yield entries that do not follow from the entry before them."""
    written = tx.structs(_Written, _ENTRIES)
    for one, next_ in pairwise(written):
        is_same = (one.job, one.flight) == (next_.job, next_.flight)
        if is_same and not _follows(one.entry, next_.entry):
            yield f"flight {one.flight} of job {one.job}: {one.entry} is followed by {next_.entry}"
    firsts = [each for each in written if each.entry.seq == 1]
    yield from (f"{each} is a first entry" for each in firsts if each.entry.step != 0)


def _follows(last: JournalEntry, entry: JournalEntry) -> bool:
    turns = entry.direction is Direction.SWITCH
    if last.result is EntryResult.AWAITS:
        came = entry.result is EntryResult.CAME and entry.direction is last.direction
        return entry.step == last.step and (came or (turns and last.direction is Direction.DO))
    if entry.result is EntryResult.FORCED:
        return last.result is EntryResult.UNDO_FAILED and entry.step == last.step
    if turns:
        # A flight turns back at the step that has begun, or at the next one, which was about to begin.
        return last.direction is Direction.DO and entry.step in {last.step, next_leg(last).step}
    return Leg(entry.step, entry.direction) == next_leg(last)
