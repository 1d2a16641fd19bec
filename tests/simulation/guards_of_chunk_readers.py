"""Guards of jobs with keys that need chunks, by the effect of breaking them."""

from sluice.actors.planner import bubble_down
from sluice.ledger.lifecycle import bisection
from sluice.planner.keyspaces.chunks import chunk_readers
from tests.simulation.mutants import Break, Mutant, code, sql


def _of_chunks(apply: Break, first: int = 0) -> Mutant:
    return Mutant(apply, first=first, theme="chunks")


#: Guards of jobs with keys that need chunks.
MUTANTS = {
    "plans have no chunks for missing results": _of_chunks(
        code(chunk_readers, "missing_work_ids", lambda *given: set())
    ),
    "jobs are pushed before they have results": _of_chunks(
        code(bubble_down, "_has_results", lambda *given: True)
    ),
    "halves of a chunk are needed like parents of the definition": _of_chunks(
        sql(bisection, "_HAND_OVER", "gone.condition, gone.added", "gone.condition, NULL::bool")
    ),
}
