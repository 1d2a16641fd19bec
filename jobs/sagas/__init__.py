"""Sagas: steps that each know how to take back what they have done.

Owns what a step may answer, where a flight stands by what its journal says, and the loop that leads it from one
step to the next, over retries, waits and the death of workers, to its end or all the way back.

What holds:

- The journal is the truth. Where a flight goes on is a function of its last entry (``course``), so it does not
  matter which worker goes on, nor how often one has died.
- An entry is written at the boundary between two steps and at the switch to undo, each with the whole working map,
  and under the claim that stands. A refused entry ends the run: somebody else has the flight.
- Undo begins with the step whose do has failed, and goes down to the first. A do may have run never, in part, or
  several times when its undo is called; an undo likewise.
- Only an undo that fails leaves anything behind, and that is said aloud.

Knows nothing of ledger and broker: a journal is handed in. What users write is in ``step``, ``answers`` and
``jobs.retry``.
"""
