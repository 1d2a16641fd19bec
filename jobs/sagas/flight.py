"""The flight as its steps see it."""

import logging
from collections.abc import Callable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any

from sluice.jobs.errors import BadRequest
from sluice.jobs.job import Claimed, idempotency_token
from sluice.jobs.json_value import as_json
from sluice.jobs.sagas.entry import Direction
from sluice.jobs.sagas.working import Working
from sluice.jobs.submission import JSON

#: Meters of such names would pass for our own.
RESERVED = "sluice"
METER_CHARS_MAX = 200
_COUNT_MAX = 2**63 - 1
#: Receives the name of a meter, how much is done, and of how much.
Meter = Callable[[str, int, int | None], None]


class Seat:
    """What changes from step to step. Whoever flies has it, and the flight shows it."""

    def __init__(self) -> None:
        self.working: Working | None = None
        self.events: dict[str, JSON] = {}
        self.step = 0
        self.name = ""
        self.direction = Direction.DO
        #: Answers ``flight.cancelled``.
        self.cancelled: Callable[[], bool] = lambda: False


class Flight:
    """What ``do`` and ``undo`` receive, and the function that makes the steps, before there is a step.

    ``inputs`` are the identifiers of the key and the kwargs of the submission; ``context`` is what the saga's own
    ``context`` has made in this process; ``log`` takes %-arguments like a standard logger.
    """

    def __init__(
        self,
        claimed: Claimed,
        *,
        context: Any,
        log: logging.Logger,
        meter: Meter,
        seat: Seat,
    ) -> None:
        fixed = ", ".join(sorted(claimed.ids.keys() & claimed.kwargs.keys()))
        if fixed:
            raise BadRequest(f"The kwargs {fixed} are fixed by the key {claimed.name.key}; leave them out.")
        self.context = context
        self.log = log
        self._claimed = claimed
        self._meter = meter
        self._seat = seat
        self._inputs = {**claimed.ids, **claimed.kwargs}
        self._copied_for: object = None
        self._copies: dict[str, Mapping[str, JSON]] = {}

    @property
    def inputs(self) -> Mapping[str, JSON]:
        """What a step changes within one of these is changed for that step alone, as if it were taken up elsewhere."""
        return self._copy("inputs", self._inputs)

    @property
    def app(self) -> str:
        return self._claimed.name.app

    @property
    def key(self) -> str:
        return self._claimed.name.key

    @property
    def round(self) -> int:
        """How many flights of this job were undone before this one."""
        return self._claimed.round

    @property
    def claim(self) -> int:
        """The fencing number: it grows whenever the flight is taken up, so a store can refuse an older one."""
        return self._claimed.claim

    @property
    def token(self) -> str:
        """The idempotency key of this step for the outside world: the same for its do and its undo, however often and
        wherever either is called."""
        return idempotency_token(self._claimed.token, str(self._seat.step), self._seat.name)

    @property
    def step(self) -> int:
        """The index of the step, from 0."""
        return self._seat.step

    @property
    def step_name(self) -> str:
        return self._seat.name

    @property
    def working(self) -> Working:
        """Kept at the boundaries between steps and at the switch to undo, and nowhere else."""
        if self._seat.working is None:
            raise BadRequest(
                "flight.working is of the steps: what makes them has to make the same ones each time.",
                where=str(self._claimed.name),
                advice="Choose steps by flight.inputs and flight.context.",
            )
        return self._seat.working

    @property
    def events(self) -> Mapping[str, JSON]:
        """What came for each wait so far, by the name of the event, with what was said along with it. One that was only
        told to go on has it under ``""``."""
        return self._copy("events", self._seat.events)

    @property
    def undoing(self) -> bool:
        return self._seat.direction is Direction.UNDO

    @property
    def cancelled(self) -> bool:
        """Whether to come to an end: its worker is leaving or, while nothing is undone yet, the flight is called off or
        over its timeout. Ask it in long loops. What the step answers counts all the same: an undo that is not through
        says ``Retry`` or ``Rerun``."""
        return self._seat.cancelled()

    def progress(self, done: int, total: int | None = None, name: str = "") -> None:
        """Show how far the step is, by a meter of this name or of its own. It is kept at once, and never taken back."""
        meter = name or self._seat.name
        if not isinstance(meter, str) or not 0 < len(meter) <= METER_CHARS_MAX:
            raise ValueError(f"{meter!r:.80} is no name of a meter; it has 1 to {METER_CHARS_MAX} characters")
        as_json(meter)
        if meter.lower().startswith(RESERVED):
            raise ValueError(f"{meter!r} is not yours: names that begin with {RESERVED!r} are taken")
        self._meter(meter, _count(done), None if total is None else _count(total))

    def _copy(self, name: str, values: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """The same for as long as one step is at it."""
        at = (self._seat.step, self._seat.direction, len(self._seat.events))
        if at != self._copied_for:
            self._copies, self._copied_for = {}, at
        copies = self._copies
        if name not in copies:
            copies[name] = MappingProxyType(deepcopy(dict(values)))
        return copies[name]


def _count(number: int) -> int:
    if not -_COUNT_MAX <= number <= _COUNT_MAX:
        raise ValueError(f"{number!r} is more than a meter can show")
    return int(number)
