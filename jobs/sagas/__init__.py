"""Sagas: jobs of several steps, each with an undo for its effects.

This package defines the answers of a step, and the position of a flight by its journal. It also has the loop that runs
a flight from step to step. The loop handles retries, waits and the death of workers, until the flight has succeeded or
is undone.

Invariants:

- The journal is the truth. The position at which a flight continues is a function of its last entry (``next_step``). So
  it does not matter which worker continues, or how often one has died.
- An entry is written at the boundary between two steps and at the switch to undo. Each entry has the whole working map
  and is written under the current claim. A refused entry ends the run because another claim has the flight.
- Undo begins with the step that has failed and proceeds down to the first step. A do may have run not at all, in part,
  or several times when its undo is called. An undo may also run several times.
- Only a failed undo leaves effects behind, and it is logged as ``DISMAL FAILURE``.

Sagas know nothing of the ledger and the broker: the caller passes a journal. The public API for users is in ``step``,
``answers`` and ``jobs.retry``.
"""
