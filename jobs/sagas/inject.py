"""Answers that a submission replaces to test the effect of a failure (``jobs.sagas.debug``)."""

from sluice.jobs.sagas.answers import Answer, Fatal, Retry
from sluice.jobs.sagas.debug import Debug, Injected
from sluice.jobs.sagas.journal import Direction
from sluice.jobs.sagas.next_step import Leg


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
