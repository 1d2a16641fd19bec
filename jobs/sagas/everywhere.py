"""All possible flights with one fault, or with two if one is the death of a worker. Each is checked for remaining
effects.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.sagas.entry import Direction
from sluice.jobs.sagas.landing import Landed, Landing
from sluice.jobs.sagas.rehearsal import Call, Rehearsal, Trouble
from sluice.jobs.submission import JSON

SUCCEEDED, UNDONE, FATAL = "succeeded", "undone", "fatal"
_ENDINGS = {Landed.SUCCEEDED: SUCCEEDED, Landed.UNDONE: UNDONE, Landed.DISMAL: FATAL}


class Flown(Struct, frozen=True, kw_only=True):
    """One flight.

    ``ending`` is succeeded, undone, or fatal if an undo has failed. ``error`` is the reason if it has not succeeded.
    ``calls`` are the bodies that ran, in order: ``do Reserve``, ``undo Reserve``. ``working`` is the final map of the
    journal. ``what`` describes the injected fault, and ``trouble`` a defect that was found.
    """

    ending: str
    calls: tuple[str, ...]
    working: Mapping[str, JSON]
    error: str | None
    meters: Mapping[str, tuple[int, int | None]]
    what: str = "nothing goes wrong"
    left_behind: Any = None
    trouble: str | None = None

    def __str__(self) -> str:
        return f"{self.what}: {self.trouble or self.ending} ({', '.join(self.calls)})"


class Report(Struct, frozen=True):
    """All flights, in the order in which they ran."""

    flights: tuple[Flown, ...]

    @property
    def troubles(self) -> list[str]:
        """The defects found, one line per flight."""
        return [str(flown) for flown in self.flights if flown.trouble]

    def __str__(self) -> str:
        return "\n".join([f"{len(self.flights)} flights, {len(self.troubles)} in trouble", *self.troubles])


class Everywhere:
    """Generator of the flights. ``rehearse`` creates a rehearsal with the given trouble."""

    def __init__(
        self,
        rehearse: Callable[[Trouble], Rehearsal],
        left_behind: Callable[[], Any],
        reset: Callable[[], object],
    ) -> None:
        self._rehearse = rehearse
        self._left_behind = left_behind
        self._reset = reset

    def flights(self) -> Iterator[Flown]:
        plain = self._rehearse_once(Trouble(), "nothing goes wrong")
        yield from self._with_deaths(plain)
        begun = {call.step: call.name for call in plain.calls if call.direction is Direction.DO}
        for step, name in begun.items():
            for unrun in (True, False):
                what = f"do {name} fails {_when(unrun=unrun)}"
                trouble = Trouble(do=step, do_unrun=unrun)
                yield from self._with_deaths(self._rehearse_once(trouble, what, ending=UNDONE))
        if plain.waits_in_time:
            yield from self._with_deaths(
                self._rehearse_once(Trouble(silent=True), "the event that it waits for does not arrive")
            )
        if begun:
            yield from self._with_undos_failing(max(begun), begun)

    def _with_undos_failing(self, last: int, begun: Mapping[int, str]) -> Iterator[Flown]:
        """Yield flights in which the last do fails, and each undo fails in turn."""
        for step, name in begun.items():
            for unrun in (True, False):
                what = f"do {begun[last]} fails, and undo {name} {_when(unrun=unrun)}"
                trouble = Trouble(do=last, undo=step, undo_unrun=unrun)
                yield from self._with_deaths(self._rehearse_once(trouble, what, ending=UNDONE))

    def _with_deaths(self, base: "_Rehearsed") -> Iterator[Flown]:
        """Yield this flight, and the same flight with a worker that dies at each of its moments."""
        yield base.flown
        for number, moment in enumerate(base.moments, start=1):
            trouble = replace(base.trouble, dies_at=number)
            what = f"{base.flown.what}, and a worker dies when {moment}"
            yield self._rehearse_once(trouble, what, ending=base.flown.ending, like=base).flown

    def _rehearse_once(
        self, trouble: Trouble, what: str, *, ending: str | None = None, like: "_Rehearsed | None" = None
    ) -> "_Rehearsed":
        """Run one flight and record a defect in it.

        Defects are: a different ``ending``, effects that remain after an undo, and a success with effects that differ
        from those after the flight ``like``.
        """
        self._reset()
        before = self._there()
        rehearsal = self._rehearse(trouble)
        flown = replace(flown_in(rehearsal, rehearsal.fly()), what=what, left_behind=self._there())
        calls, moments = tuple(rehearsal.calls), tuple(rehearsal.moments)
        wrong = _ended_wrong(flown, ending)
        if flown.ending == UNDONE:
            wrong = wrong or _left(flown.left_behind, before, "it left behind")
        elif flown.ending == SUCCEEDED:
            should_be = flown.left_behind if like is None else like.flown.left_behind
            wrong = wrong or _left(flown.left_behind, should_be, "it left")
            wrong = self._taken_back(rehearsal, before) or wrong
        waits_in_time = any(
            each.awaits and each.awaits.within_s is not None for each in rehearsal.journal.entries
        )
        return _Rehearsed(trouble, replace(flown, trouble=wrong), calls, moments, waits_in_time)

    def _taken_back(self, rehearsal: Rehearsal, before: Any) -> str | None:
        if not rehearsal.journal.entries:
            return None
        back = flown_in(rehearsal, rehearsal.is_taken_back())
        return _ended_wrong(back, UNDONE) or _left(
            self._there(), before, "undone after its success, it left behind"
        )

    def _there(self) -> Any:
        """Return a copy of the remaining effects, because the next flight may change the same object."""
        return deepcopy(self._left_behind())


class _Rehearsed(Struct, frozen=True):
    trouble: Trouble
    flown: Flown
    calls: tuple[Call, ...]
    moments: tuple[str, ...]
    waits_in_time: bool


def flown_in(rehearsal: Rehearsal, landing: Landing) -> Flown:
    """Return the result of a rehearsal."""
    entries = rehearsal.journal.entries
    why = landing.trouble or landing.failure
    return Flown(
        ending=_ENDINGS[landing.how],
        calls=tuple(map(str, rehearsal.calls)),
        working=entries[-1].working if entries else {},
        error=None if why is None else f"{why.step}: {why}" if why.step else str(why),
        meters=dict(rehearsal.journal.meters),
    )


def _when(*, unrun: bool) -> str:
    return "before it has any effect" if unrun else "after it has run"


def _ended_wrong(flown: Flown, ending: str | None) -> str | None:
    if flown.ending == FATAL:
        return f"it cannot be undone: {flown.error}"
    return None if flown.ending == (ending or flown.ending) else f"it is {flown.ending} instead of {ending}"


def _left(there: Any, should_be: Any, what: str) -> str | None:
    return None if there == should_be else f"{what} {there!r} instead of {should_be!r}"
