"""Hooks of a saga. A hook has any of these methods, and each is optional::

    class Watch:
        def start_flight(self, flight): ...
        def start_step(self, flight): ...            # once for each try of a do or an undo
        def end_step(self, flight, answer): ...      # the word of the answer
        def end_flight(self, flight, landing): ...   # how this run of the flight has ended

A class or a function among the hooks creates one hook for each run. An exception of a hook is logged and has no other
effect. Hooks are not awaited: an ``async def`` among the methods is a fault.
"""

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.journal import Failure
from sluice.jobs.sagas.spec import HOOK_METHODS
from sluice.jobs.sagas.steps import is_awaited


class FlightHooks:
    """Hooks of one run, called in the order in which they are listed. They are users' objects: any access may raise an
    exception that has no text. ``blame`` can handle that.
    """

    def __init__(
        self, written: Iterable[Any], flight: Flight, blame: Callable[[BaseException], Failure]
    ) -> None:
        self._flight = flight
        self._blame = blame
        self._hooks = [made for each in written if (made := self._made(each)) is not None]

    def start_flight(self) -> None:
        self._tell("start_flight")

    def end_flight(self, landing: str) -> None:
        self._tell("end_flight", landing)

    def start_step(self) -> None:
        self._tell("start_step")

    def end_step(self, answer: str) -> None:
        self._tell("end_step", answer)

    def _made(self, written: Any) -> Any:
        """Return the hook of this run, or None if it could not be created."""
        try:
            if not isinstance(written, type) and any(hasattr(written, name) for name in HOOK_METHODS):
                return written
            made = written(self._flight)
            if awaited := [name for name in HOOK_METHODS if is_awaited(getattr(made, name, None))]:
                raise TypeError(f"{', '.join(awaited)} is async, and hooks are not awaited")
            return made
        except BaseException as error:
            # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
            self._complain(written, "could not be created", error)
            return None

    def _tell(self, what: str, *words: str) -> None:
        for hook in self._hooks:
            try:
                method = getattr(hook, what, None)
                if method is not None:
                    method(self._flight, *words)
            except BaseException as error:
                self._complain(hook, f"failed at {what}", error)

    def _complain(self, hook: Any, what: str, error: BaseException) -> None:
        named = hook if isinstance(hook, type | FunctionType) else type(hook)
        self._flight.log.warning("the hook %s %s: %s", named.__qualname__, what, self._blame(error))
