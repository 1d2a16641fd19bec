"""The flight object that the steps of a saga receive, its working map and its shared context.

The ``Working`` map has the values that the steps of a flight leave for each other. The flights of a process share a
context, which the first flight creates (``context_of``).
"""

import logging
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager
from copy import deepcopy
from threading import Lock
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import RunContext, idempotency_token
from sluice.jobs.model.submission import JSON
from sluice.jobs.sagas.answers import Answer, Fatal, Retry, Success, answer_in
from sluice.jobs.sagas.journal import Direction
from sluice.jobs.text.json_value import as_json

#: Maximum size of the working map in bytes. Each entry of the journal has the whole map, so larger data belong
#: elsewhere, with only their name in the map.
BYTES_MAX = 16 * 1024 * 1024


class Working(MutableMapping[str, JSON]):
    """Name → JSON value. Values are copied on the way in and out, so later changes of a value do not change the map.

    A value that the journal cannot store is refused when it is set, and the map stays unchanged.
    """

    def __init__(self, values: Mapping[str, JSON] = {}) -> None:
        self._texts: dict[str, bytes] = {}
        self._bytes = 0
        self.update(values)

    def __getitem__(self, name: str) -> Any:
        return msgspec.json.decode(self._texts[name])

    def __setitem__(self, name: str, value: JSON) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is no name; the working map has texts as names")
        try:
            as_json(name)
            text = msgspec.json.encode(as_json(value))
        except ValueError as error:
            raise ValueError(f"{name!r:.80} cannot be kept in the journal: {error}") from None
        grown = self._bytes - self._size(name) + len(name.encode()) + len(text)
        if grown > BYTES_MAX:
            raise ValueError(f"with {name!r:.80} the working map would have more than {BYTES_MAX:,} bytes")
        self._texts[name], self._bytes = text, grown

    def __delitem__(self, name: str) -> None:
        self._bytes -= self._size(name)
        del self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return f"Working({self.kept()!r})"

    def kept(self) -> dict[str, JSON]:
        """Return the whole map for the journal. A thread that a step has left behind may change the map at the same
        time.
        """
        return {name: msgspec.json.decode(text) for name, text in self._texts.copy().items()}

    def _size(self, name: str) -> int:
        return len(name.encode()) + len(self._texts[name]) if name in self._texts else 0


#: Prefix of meter names that is reserved for Sluice.
RESERVED = "sluice"
METER_CHARS_MAX = 200
_COUNT_MAX = 2**63 - 1
#: Receives the name of a meter, the amount done, and the total.
Meter = Callable[[str, int, int | None], None]


class Seat:
    """State that changes from step to step. The run of the flight sets it, and the flight shows it."""

    def __init__(self) -> None:
        self.working: Working | None = None
        self.events: dict[str, JSON] = {}
        self.step = 0
        self.name = ""
        self.direction = Direction.DO
        #: Opens the transaction of the step, with the answer that is committed.
        self.transaction: Callable[[Answer], AbstractContextManager[Any]] | None = None
        #: Returns the value of ``flight.cancelled``.
        self.cancelled: Callable[[], bool] = lambda: False


class Flight:
    """Argument of ``do`` and ``undo``, and of the function that builds the steps, when no step exists yet.

    It is one run of a saga, from the first do to its end or to the last undo.
    """

    def __init__(
        self,
        claimed: RunContext,
        *,
        context: Any,
        log: logging.Logger,
        meter: Meter,
        seat: Seat,
    ) -> None:
        fixed = ", ".join(sorted(claimed.ids.keys() & claimed.kwargs.keys()))
        if fixed:
            raise BadRequest(f"The kwargs {fixed} are fixed by the key {claimed.name.key}; leave them out.")
        #: Result of the saga's ``context`` function in this process. None without such a function.
        self.context = context
        #: Logger with %-arguments. Its lines become part of the job's output and of the worker's log.
        self.log = log
        self._claimed = claimed
        self._meter = meter
        self._seat = seat
        self._inputs = {**claimed.typed_ids, **claimed.kwargs}
        self._copied_for: object = None
        self._copies: dict[str, Mapping[str, JSON]] = {}

    @property
    def inputs(self) -> Mapping[str, JSON]:
        """The identifiers of the key and the kwargs of the submission. A step that changes a value inside them changes
        it only for itself, as if it ran on another worker.
        """
        return self._copy("inputs", self._inputs)

    @property
    def app(self) -> str:
        """Name of the saga's app."""
        return self._claimed.name.app

    @property
    def key(self) -> str:
        """Key of the job in its canonical form."""
        return self._claimed.name.key

    @property
    def round(self) -> int:
        """Number of flights of this job that were undone before this one."""
        return self._claimed.round

    @property
    def claim(self) -> int:
        """The fencing number. It grows whenever a worker picks up the flight, so a store can refuse an older one."""
        return self._claimed.claim

    @property
    def token(self) -> str:
        """The idempotency key of this step for external systems. It is the same for its do and its undo, in every
        call on every worker.
        """
        return idempotency_token(self._claimed.token, str(self._seat.step), self._seat.name)

    @property
    def step(self) -> int:
        """The index of the step, from 0."""
        return self._seat.step

    @property
    def step_name(self) -> str:
        """Name of the step."""
        return self._seat.name

    @property
    def working(self) -> Working:
        """The working map. It is saved only at the boundaries between steps and at the switch to undo."""
        if self._seat.working is None:
            raise BadRequest(
                "flight.working belongs to the steps; the saga's function must return the same steps each time.",
                where=str(self._claimed.name),
                advice="Choose the steps by flight.inputs and flight.context.",
            )
        return self._seat.working

    @property
    def events(self) -> Mapping[str, JSON]:
        """Payload of each event that has ended a wait so far, by the name of the event. A plain resume is under
        ``""``.
        """
        return self._copy("events", self._seat.events)

    @property
    def undoing(self) -> bool:
        """True if the steps of the flight are being undone."""
        return self._seat.direction is Direction.UNDO

    @property
    def cancelled(self) -> bool:
        """True if the step should end: its worker is leaving, or, before any undo, the flight is aborted or over its
        timeout.

        Read it in long loops. The answer of the step still counts: an unfinished undo answers ``Retry`` or ``Rerun``.
        """
        return self._seat.cancelled()

    def transaction(self, then: Answer | type[Answer] = Success) -> AbstractContextManager[Any]:
        """Return a psycopg connection to the ledger's database. Its writes commit together with the end of this step.

        ``then`` is the answer of the step: ``Success``, ``Rerun``, ``Stop`` or ``Wait``. The working map is saved as it
        is at the end of the block. Nothing that the step does afterwards changes its answer or the map. A step has one
        such block.
        """
        answer = answer_in(then)
        if answer is None or isinstance(answer, Retry | Fatal):
            raise TypeError(f"{then!r:.80} cannot be committed; then is Success, Rerun, Stop or Wait")
        if self._seat.transaction is None:
            raise BadRequest("flight.transaction() belongs to the steps.", where=str(self._claimed.name))
        return self._seat.transaction(answer)

    def progress(self, done: int, total: int | None = None, name: str = "") -> None:
        """Show the progress of the step: the amount ``done``, and the ``total`` if it is known. It is stored
        immediately and never undone.

        ``name`` is the name of the meter. Default: the name of the step.
        """
        meter = name or self._seat.name
        if not isinstance(meter, str) or not 0 < len(meter) <= METER_CHARS_MAX:
            raise ValueError(f"{meter!r:.80} is no name of a meter; it has 1 to {METER_CHARS_MAX} characters")
        as_json(meter)
        if meter.lower().startswith(RESERVED):
            raise ValueError(f"{meter!r} cannot be used: names that begin with {RESERVED!r} are reserved")
        self._meter(meter, _count(done), None if total is None else _count(total))

    def _copy(self, name: str, values: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return a copy of the values. All reads during one step return the same copy."""
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


class _Made:
    """Result of one function, created once. Concurrent callers wait for it; callers of other functions do not."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made: tuple[Any] | None = None

    def value(self, make: Callable[[], Any]) -> Any:
        with self._lock:
            if self._made is None:
                self._made = (make(),)
            return self._made[0]


_MADE: WeakKeyDictionary[Callable[[], Any], _Made] = WeakKeyDictionary()
_LOCK = Lock()


def context_of(make: Callable[[], Any] | None) -> Any:
    """Return the result of this function in this process. None for a saga without such a function."""
    if make is None:
        return None
    with _LOCK:
        made = _MADE.setdefault(make, _Made())
    return made.value(make)
