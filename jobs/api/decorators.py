"""Decorators that users write above their functions. A decorator returns a definition; it registers nothing."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, Unpack, overload

from sluice.jobs.api.definition import AppFunction, AppRef
from sluice.jobs.api.options import AppOptions, SagaAppOptions, ScheduleOptions
from sluice.jobs.model.job import Job
from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.step import Step

#: Function that takes a flight and returns its steps.
Build: TypeAlias = Callable[[Flight], Sequence[Step]]
P = ParamSpec("P")
R = TypeVar("R")


class AppDecorator(Protocol):
    """Decorator that makes an app of a function. The job, if it is the first parameter, is passed by the worker."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[Job, P], Coroutine[Any, Any, R]], /
    ) -> AppFunction[P, R, Concatenate[Job, P], Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AppFunction[P, R, P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[Job, P], R], /
    ) -> AppFunction[P, R, Concatenate[Job, P], R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> AppFunction[P, R, P, R]: ...


class SagaDecorator(Protocol):
    """Decorator that makes a saga of a function that takes a flight and returns its steps."""

    def __call__(
        self, build: Callable[Concatenate[Flight, P], Sequence[Step]], /
    ) -> AppFunction[P, None, Concatenate[Flight, P], Sequence[Step]]: ...


@overload
def app(
    function: Callable[Concatenate[Job, P], Coroutine[Any, Any, R]], /
) -> AppFunction[P, R, Concatenate[Job, P], Coroutine[Any, Any, R]]: ...
@overload
def app(function: Callable[P, Coroutine[Any, Any, R]], /) -> AppFunction[P, R, P, Coroutine[Any, Any, R]]: ...
@overload
def app(function: Callable[Concatenate[Job, P], R], /) -> AppFunction[P, R, Concatenate[Job, P], R]: ...
@overload
def app(function: Callable[P, R], /) -> AppFunction[P, R, P, R]: ...
@overload
def app(**options: Unpack[AppOptions]) -> AppDecorator: ...
def app(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make an app of a function. Write it with options, or as ``@app`` without parentheses.

    The identifiers of its keys are the function's parameters, with their annotations as types, unless ``job_id`` gives
    a template. Keyword-only parameters are kwargs. A parameter that is annotated ``Job`` receives the job; write it
    first, so that type checkers know that callers do not pass it. A function without identifiers has one job, with an
    empty key.

    ``**options`` are the options of the app: limits, retries, dependencies and so on. ``function`` is the decorated
    function, if no options are written. The result can be called like the function.

    The app is keyed by chunk if it has ``chunk_size``, and by partition if it has ``partition``, ``step_size``,
    ``table_dependencies`` or ``modes``. With ``output_table`` alone it is keyed by partition, too, unless a parameter
    is a ``date`` or it has a ``job_id``: then all jobs of one day make the partition of this day.
    """
    return _defined(function, options) if function else lambda decorated: _defined(decorated, options)


@overload
def saga(
    build: Callable[Concatenate[Flight, P], Sequence[Step]], /
) -> AppFunction[P, None, Concatenate[Flight, P], Sequence[Step]]: ...
@overload
def saga(**options: Unpack[SagaAppOptions]) -> SagaDecorator: ...
def saga(build: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a saga of a function that takes a flight and returns its steps.

    Its other parameters receive identifiers and kwargs, as those of an ``@app`` do. Without ``job_id``, the identifiers
    of the key follow from them.

    The function is called each time that a worker starts or resumes a flight, and must return the same steps each
    time. So it may use ``flight.inputs`` and ``flight.context``, and nothing that changes. ``context`` makes an
    object that all flights of a process share. ``hooks`` are called with the events of a flight. These two are among
    the ``**options``. ``build`` is the decorated function, if no options are written.
    """
    if "job_type" in options:
        raise TypeError("saga() has no option job_type")
    of_saga = {**options, "job_type": "saga"}
    return _defined(build, of_saga) if build else lambda decorated: _defined(decorated, of_saga)


def _defined(function: Callable[..., Any], options: Mapping[str, Any]) -> AppFunction[Any, Any, Any, Any]:
    written = {option: value for option, value in options.items() if value is not None}
    name = written.pop("name", function.__name__)
    return AppFunction(function, name, written)


class ScheduleDefinition:
    """Options that define a schedule. The catalogue reads and checks them like the schedules of a document."""

    def __init__(self, id: str, options: Mapping[str, object]) -> None:
        self.id = id
        self.options = options

    def __repr__(self) -> str:
        return f"<schedule {self.id}>"


def schedule(*, id: str, app: AppRef, **options: Unpack[ScheduleOptions]) -> ScheduleDefinition:
    """Submit jobs of an app on a schedule. Assign the result to a name at the top of the file.

    ``id`` is the name of the schedule, which no other schedule has. ``app`` is a name or the decorated function.
    ``**options`` set the due times, the keys of the jobs, and the treatment of missed and overlapping starts.
    """
    return ScheduleDefinition(id, {"app": app, **options})
