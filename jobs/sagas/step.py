"""Step of a saga, written by users: a do and its undo."""

from functools import cached_property

from sluice.jobs.policy.retry_delay import Rule
from sluice.jobs.retry import none
from sluice.jobs.sagas.answers import Answer
from sluice.jobs.sagas.flight import Flight


class Step:
    """One step. It is created again at each pick-up of the flight, so attributes set on it are lost at any boundary.
    ``flight.working`` is kept.

    ``do`` and ``undo`` return an answer (its class or an instance), or nothing for success, or raise. Both may be
    called again after a crash although they have run, completely or in part. ``undo`` is also called for a ``do`` that
    has failed.
    """

    #: Rule for ``Retry``. It starts again for each call of ``do`` and of ``undo``.
    retry: Rule = none()

    @cached_property
    def name(self) -> str:
        """The name by which the journal identifies the step and checks its position. A class or an instance may set its
        own ``name``.
        """
        return type(self).__name__

    def do(self, flight: Flight) -> Answer | type[Answer] | None:
        """Do the work of the step. ``flight`` has the inputs, and the values that other steps have left."""
        raise NotImplementedError

    def undo(self, flight: Flight) -> Answer | type[Answer] | None:
        """Undo the step for this ``flight``. Default: nothing, which suits a step that changes nothing."""
