"""Debug options of a submission, with which an author tests how a flight recovers and is undone.

``Debug`` are the options, and an ``Injector`` replaces the answers of steps that they select.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from sluice.jobs.sagas.answers import Answer, Fatal, Retry
from sluice.jobs.sagas.journal import Direction
from sluice.jobs.sagas.next_step import Leg

#: Answer that replaces the real one.
Injected = Literal["retry", "fatal"]


class Debug(Struct, frozen=True, kw_only=True):
    """Debug options of a flight. The ``fail_…`` options let a step run and then replace its answer, once in each run:
    ``"retry"`` or ``"fatal"``.
    """

    #: Hand the flight back at each boundary, as if its worker had died there.
    restart_each_step: bool = False
    #: Answer of the do of a step, by the index of the step.
    fail_at: Mapping[int, Injected] = {}
    #: Answer of the do of a step, by the name of the step.
    fail_do: Mapping[str, Injected] = {}
    #: Answer of the undo of a step, by the name of the step.
    fail_undo: Mapping[str, Injected] = {}
    #: The last do answers ``Fatal``.
    fail_last: bool = False


class Injector:
    """Replacement of answers in one run. Each option takes effect once."""

    def __init__(self, debug: Debug) -> None:
        self._debug = debug
        self._done: set[tuple[str, int | str]] = set()

    def replaced(self, leg: Leg, name: str, answer: Answer, *, is_last: bool) -> Answer:
        """Return the answer that counts. ``answer`` is the real answer of the step, which has run."""
        for injected, mark in self._asked(leg, name, is_last=is_last):
            if injected is not None and mark not in self._done:
                self._done.add(mark)
                text = f"injected by debug, in place of {answer.word}"
                return Retry(text) if injected == "retry" else Fatal(text)
        return answer

    def _asked(
        self, leg: Leg, name: str, *, is_last: bool
    ) -> list[tuple[Injected | None, tuple[str, int | str]]]:
        """Return the replacements for this step, the most specific first."""
        debug = self._debug
        if leg.direction is Direction.UNDO:
            return [(debug.fail_undo.get(name), ("undo", name))]
        return [
            (debug.fail_at.get(leg.step), ("at", leg.step)),
            (debug.fail_do.get(name), ("do", name)),
            ("fatal" if debug.fail_last and is_last else None, ("last", "")),
        ]
