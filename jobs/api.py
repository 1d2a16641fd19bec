"""What users write above their functions. A decorator returns a definition; it registers nothing."""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from sluice.jobs.sagas.flight import Flight
from sluice.jobs.sagas.step import Step

#: Takes a flight and makes its steps.
Build: TypeAlias = Callable[[Flight], Sequence[Step]]
P = ParamSpec("P")
R = TypeVar("R")


class Definition(Generic[P, R]):
    """A function and the words that make an app of it. Called, it is the function.

    The words are those of the declarative form; the catalogue reads, types and checks both alike.
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
    """Make an app of a function, in the words of the declarative form; it is named like the function.

    It is keyed by template, with ``job_id``, by chunk, with ``chunk_size``, or by partition, with ``output_table`` or
    a word below it. ``words`` takes the rest of them: ``isolate``, ``max_fails``, ``timeout``, ``retry`` and so on.
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
    """Make a saga of a function that takes a flight and returns its steps, in the words of the declarative form.

    The function is called whenever a flight is taken up, and has to return the same steps each time: it may look at
    ``flight.inputs`` and ``flight.context``, and at nothing that changes. ``context`` makes what all flights of a
    process share; ``hooks`` are told what happens. ``words`` takes the rest: ``max_fails``, ``timeout`` and so on.
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
    """The words that make a schedule, which the catalogue reads and checks as it does those of a document."""

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
    """Submit an app's jobs by themselves, in the words of the declarative form. ``app`` may be the decorated function.

    ``trigger`` is an object with ``get_next_fire_time(previous, now)``, such as APScheduler has. ``request`` takes
    the rest of the words: ``key``, ``kwargs``, ``misfire_grace``, ``catch_up``, ``overlap`` and so on.
    """
    given = {"cron": cron, "every": every, "trigger": trigger, "timezone": timezone}
    words = {word: value for word, value in given.items() if value is not None}
    return ScheduleDefinition(id, {"app": app, **words, **request})
