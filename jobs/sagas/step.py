"""What users write: one step of a saga, its do and its undo."""

from functools import cached_property

from sluice.jobs.retry import Rule, none
from sluice.jobs.sagas.answers import Answer
from sluice.jobs.sagas.flight import Flight


class Step:
    """One step. A new one is made whenever the flight is taken up, so what it keeps in itself is lost at any boundary;
    ``flight.working`` is not.

    ``do`` and ``undo`` return an answer (``jobs.sagas.answers``), or nothing for success, or raise. Both may be called
    again after a crash though they have run, wholly or in part; ``undo`` is also called for a ``do`` that has failed.
    """

    #: What becomes of ``Retry``; each call of ``do`` and of ``undo`` begins with it anew.
    retry: Rule = none()

    @cached_property
    def name(self) -> str:
        """By which the journal knows it, and checks that it still stands where it stood. A class or an instance that
        has a ``name`` of its own goes by that."""
        return type(self).__name__

    def do(self, flight: Flight) -> Answer | type[Answer] | None:
        raise NotImplementedError

    def undo(self, flight: Flight) -> Answer | type[Answer] | None:
        """What only looks has nothing to take back."""
