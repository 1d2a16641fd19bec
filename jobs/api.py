"""Decorators that users write above their functions. A decorator returns a definition; it registers nothing."""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.step import Step

#: Function that takes a flight and returns its steps.
Build: TypeAlias = Callable[[Flight], Sequence[Step]]
P = ParamSpec("P")
R = TypeVar("R")


class Definition(Generic[P, R]):
    """Function and the options that make an app of it. Calling it calls the function.

    The options are the same as in the declarative form. The catalogue reads, types and checks both in the same way.
    """

    def __init__(self, function: Callable[P, R], name: str, words: Mapping[str, object]) -> None:
        update_wrapper(self, function)
        self.function = function
        self.name = name
        self.words = words

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<app {self.name}>"


def app(
    *,
    name: str | None = None,
    job_id: str | None = None,
    identifiers: Mapping[str, str | Sequence[str | int]] | None = None,
    autofill_values: Mapping[str, str | Sequence[str | int]] | None = None,
    depends_on: Mapping[str, Any] | None = None,
    valid_if_or: Mapping[str, Any] | None = None,
    chunk_size: int | None = None,
    dependencies: Sequence[Mapping[str, Any]] | None = None,
    select_work: str | Callable[..., Any] | None = None,
    output_table: str | None = None,
    partition: str | Mapping[str, Any] | None = None,
    step_size: int | None = None,
    table_dependencies: Sequence[Mapping[str, Any]] | None = None,
    modes: Mapping[str, Mapping[str, Any]] | None = None,
    **words: object,
) -> Callable[[Callable[P, R]], Definition[P, R]]:
    """Make an app of a function, with the options of the declarative form. ``name`` defaults to the function's name.

    The app is keyed by template if it has ``job_id``, by chunk if it has ``chunk_size``, and by partition if it has
    ``output_table`` or an option listed after that. ``words`` takes all other options, for example ``isolate``,
    ``max_fails``, ``timeout`` and ``retry``.
    """
    given = {
        "job_id": job_id,
        "identifiers": identifiers,
        "autofill_values": autofill_values,
        "depends_on": depends_on,
        "valid_if_or": valid_if_or,
        "chunk_size": chunk_size,
        "dependencies": dependencies,
        "select_work": select_work,
        "output_table": output_table,
        "partition": partition,
        "step_size": step_size,
        "table_dependencies": table_dependencies,
        "modes": modes,
        **words,
    }
    written = {word: value for word, value in given.items() if value is not None}

    def define(function: Callable[P, R]) -> Definition[P, R]:
        return Definition(function, name or function.__name__, written)

    return define


def saga(
    *,
    name: str | None = None,
    job_id: str | None = None,
    identifiers: Mapping[str, str | Sequence[str | int]] | None = None,
    autofill_values: Mapping[str, str | Sequence[str | int]] | None = None,
    depends_on: Mapping[str, Any] | None = None,
    valid_if_or: Mapping[str, Any] | None = None,
    hooks: Sequence[Any] | None = None,
    context: str | Callable[[], Any] | None = None,
    **words: Any,
) -> Callable[[Build], Definition[[Flight], Sequence[Step]]]:
    """Make a saga of a function that takes a flight and returns its steps. It takes the options of the declarative
    form.

    The function is called each time that a worker starts or resumes a flight, and must return the same steps each
    time. So it may use ``flight.inputs`` and ``flight.context``, and nothing that changes. ``context`` makes an
    object that all flights of a process share. ``hooks`` are called with the events of a flight. ``words`` takes all
    other options, for example ``max_fails`` and ``timeout``.
    """
    return app(
        name=name,
        job_id=job_id,
        identifiers=identifiers,
        autofill_values=autofill_values,
        depends_on=depends_on,
        valid_if_or=valid_if_or,
        job_type="saga",
        hooks=hooks,
        context=context,
        **words,
    )


class ScheduleDefinition:
    """Options that define a schedule. The catalogue reads and checks them like the schedules of a document."""

    def __init__(self, id: str, words: Mapping[str, object]) -> None:
        self.id = id
        self.words = words

    def __repr__(self) -> str:
        return f"<schedule {self.id}>"


def schedule(
    *,
    id: str,
    app: str | Definition[..., Any],
    cron: str | None = None,
    every: str | int | None = None,
    trigger: object = None,
    timezone: str | None = None,
    **request: object,
) -> ScheduleDefinition:
    """Submit jobs of an app on a schedule, with the options of the declarative form.

    ``app`` is a name or the decorated function. ``trigger`` is an object with ``get_next_fire_time(previous, now)``,
    as APScheduler has it. ``request`` takes all other options of a schedule, for example ``key``, ``kwargs``,
    ``misfire_grace``, ``catch_up`` and ``overlap``.
    """
    given = {"cron": cron, "every": every, "trigger": trigger, "timezone": timezone}
    words = {word: value for word, value in given.items() if value is not None}
    return ScheduleDefinition(id, {"app": app, **words, **request})
