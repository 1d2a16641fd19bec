"""Steps of a flight, built from the user's function and compared with the journal.

The steps are built again whenever a worker picks the flight up. ``is_awaited`` detects functions that do nothing when
they are called, but when the returned object is awaited or iterated.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from sluice.jobs.api.signature import read_signature
from sluice.jobs.policy.retry_delay import RetryRule
from sluice.jobs.sagas.abort_reasons import UNBUILDABLE
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.journal import Failure, Log
from sluice.jobs.sagas.spec import Build
from sluice.jobs.sagas.step import Step
from sluice.jobs.text.json_value import as_json

NAME_CHARS_MAX = 200


class _Unbuildable(Exception):
    pass


def build_steps(
    build: Build, flight: Flight, log: Log, blame: Callable[[BaseException], Failure]
) -> Sequence[Step] | Failure:
    """Return the steps, or a failure if the flight cannot continue with them.

    Steps that the flight has not reached may change. A step inserted before them would move the current step, and is
    refused.
    """
    try:
        steps = _steps(build(flight))
        _check_rules(steps)
        _check_against(log, [_name(step) for step in steps])
    except _Unbuildable as unfit:
        return Failure(type=UNBUILDABLE, message=str(unfit))
    except BaseException as error:
        # User code may raise SystemExit and KeyboardInterrupt; neither may end the worker's thread.
        return blame(error)
    return steps


def with_inputs(build: Callable[..., Sequence[Any]]) -> Build:
    """Return a function that takes only the flight. It passes the identifiers and kwargs that ``build`` also takes."""
    parameters = read_signature(build, of_saga=True).parameters
    if not parameters:
        return build

    @wraps(build)
    def built(flight: Any) -> Sequence[Any]:
        inputs = flight.inputs
        given = {it.name: it.of_kwarg(inputs[it.name]) for it in parameters if it.name in inputs}
        return build(flight, **given)

    return built


def _steps(made: object) -> tuple[Step, ...]:
    if isinstance(made, Sequence) and all(isinstance(each, Step) for each in made):
        return tuple(made)
    raise _Unbuildable(f"it returned {made!r:.200}, which is no list of steps")


def _name(step: Step) -> str:
    """Return the step's name. It may be any object because a step's class may compute it."""
    name = step.name
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS_MAX:
        raise _Unbuildable(f"{name!r:.80} is no name of a step; it has 1 to {NAME_CHARS_MAX} characters")
    try:
        as_json(name)
    except ValueError as error:
        raise _Unbuildable(f"a step cannot have this name: {error}") from None
    return name


def _check_rules(steps: Sequence[Step]) -> None:
    """Check the retry rules. With an invalid rule, a step and its undo would fail before they are called, so nothing
    could be undone.
    """
    for step in steps:
        if not callable(getattr(step.retry, "begin", None)):
            raise _Unbuildable(
                f"{step.name} has {step.retry!r:.80} as its retry, which is no rule; write retry.fixed(…)"
            )
        if isinstance(step.retry, RetryRule) and step.retry.times is None and step.retry.within_s is None:
            raise _Unbuildable(f"the retry of {step.name} has no end; add times or within")


def _check_against(log: Log, names: list[str]) -> None:
    last = {} if log.last is None else {log.last.step: log.last.name}
    for step, name in sorted({**log.names, **last}.items()):
        if names[step : step + 1] != [name]:
            there = ", ".join(names) or "none"
            raise _Unbuildable(f"its journal has {name} as step {step}, but its steps are now {there}")


_KINDS = (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction)


def is_awaited(function: object) -> bool:
    """Return whether a call does nothing until the returned object is awaited or iterated. The ``__call__`` of an
    object counts, too.
    """
    called = getattr(type(function), "__call__", None)  # noqa: B004  # Existence of the method is not enough.
    return any(is_kind(each) for each in (function, called) for is_kind in _KINDS)
