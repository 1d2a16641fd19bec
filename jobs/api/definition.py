"""The decorated function, and the dependencies that other definitions make of it.

``needs=[fetch.all("shop"), any_of(stock, manual.when("finished"))]`` is a list of dependencies, all of which are
required. ``any_of`` lists alternatives, of which one is enough.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from enum import Enum
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from sluice.jobs.api.signature import Each, Signature, read_signature
from sluice.jobs.keys.identifiers import number_of_day
from sluice.jobs.model.dependency import When
from sluice.jobs.model.results import JobRequest, result_type

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
V = TypeVar("V")

#: ``"10m"``, ``timedelta(minutes=10)`` or a number of seconds.
Duration: TypeAlias = str | float | timedelta
#: Value of an identifier.
KeyValue: TypeAlias = str | int | date


class AppDependency(Struct, frozen=True, kw_only=True):
    """Dependency on jobs of one app, for ``needs``. Each method returns a further restricted copy.

    An identifier that neither ``all`` nor ``where`` names has the value that it has in the dependent job.
    """

    app: str
    every: tuple[str, ...] = ()
    values: Mapping[str, tuple[KeyValue, ...]] = {}
    condition: When | None = None
    lag: Duration | None = None

    def all(self, *identifiers: str) -> "AppDependency":
        """Need the jobs of every autofill value of these ``identifiers``."""
        return replace(self, every=(*self.every, *identifiers))

    def where(self, **values: KeyValue | Sequence[KeyValue]) -> "AppDependency":
        """Need the jobs with this value, or each of these values, of an identifier. ``values`` are named by identifier:
        ``where(shop=["graz", "oslo"])``."""
        return replace(
            self, values={**self.values, **{name: _listed(value) for name, value in values.items()}}
        )

    def when(self, condition: When) -> "AppDependency":
        """Set the ``condition`` that the needed jobs must meet: ``"succeeded"`` (default), ``"failed"``,
        ``"finished"`` or ``"running"``."""
        return replace(self, condition=condition)

    def max_lag(self, lag: Duration) -> "AppDependency":
        """Set the maximum age of the success of the needed jobs: ``lag``. Older jobs run again."""
        return replace(self, lag=lag)


class Alternatives(Struct, frozen=True):
    """Alternatives of a dependency. Each is a list of dependencies that are required together."""

    choices: "tuple[tuple[AppDependency, ...], ...]"


class Definition(Generic[P, R]):
    """Function and the options that make an app of it: the result of ``@app`` and ``@saga``. It registers nothing.

    It is called like the function, for example in tests. It can replace the name of the app anywhere. ``P`` are the
    function's parameters without the job, ``R`` is the type of its result.
    """

    def __init__(self, function: Callable[..., Any], name: str, options: Mapping[str, object]) -> None:
        update_wrapper(cast("Callable[..., Any]", self), function)
        #: The function that was decorated. For an ``async def`` too, ``R`` is the type of the awaited value.
        self.function: Callable[..., R] = function
        #: Name of the app: the option ``name``, or the name of the function.
        self.name = name
        self.options = options

    def __repr__(self) -> str:
        return f"<app {self.name}>"

    def job(self, *args: P.args, **kwargs: P.kwargs) -> JobRequest[R]:
        """Return a request for one job, for ``Client.submit``.

        ``*args`` and ``**kwargs`` are the arguments of the function without the job: identifiers and kwargs. Raises
        TypeError if an identifier is missing, or if an argument is neither an identifier nor a parameter.
        """
        signature = read_signature(self.function, of_saga=self.options.get("job_type") == "saga")
        given = signature.named(self.name, args, kwargs)
        names = _names(self.options, signature)
        if missing := [name for name in names if name not in given]:
            raise TypeError(f"{self.name}.job() needs {', '.join(missing)}, which the key consists of")
        known = {*names, *(it.name for it in signature.parameters)}
        if unknown := [name for name in given if name not in known and not signature.takes_rest]:
            raise TypeError(f"{self.name}.job() has no argument {', '.join(unknown)}")
        return JobRequest(
            app=self.name,
            key=_delimiter(self.options).join(_text(given[name]) for name in names),
            kwargs={name: to_builtins(value) for name, value in given.items() if name not in names},
            decode=result_type(self.function),
        )

    def all(self, *identifiers: str) -> AppDependency:
        """Return a dependency on the jobs of every autofill value of these ``identifiers``."""
        return AppDependency(app=self.name).all(*identifiers)

    def where(self, **values: KeyValue | Sequence[KeyValue]) -> AppDependency:
        """Return a dependency on the jobs with this value, or each of these values, of an identifier. ``values`` are
        named by identifier: ``where(shop=["graz", "oslo"])``."""
        return AppDependency(app=self.name).where(**values)

    def when(self, condition: When) -> AppDependency:
        """Return a dependency on jobs that meet this ``condition``: ``"failed"``, ``"finished"`` or ``"running"``.
        Without it, a dependency is met if the jobs have succeeded."""
        return AppDependency(app=self.name).when(condition)

    def max_lag(self, lag: Duration) -> AppDependency:
        """Return a dependency on the jobs, which run again if their success is older than ``lag``."""
        return AppDependency(app=self.name).max_lag(lag)


class AppFunction(Definition[P, R], Generic[P, R, Q, S]):
    """Definition that can be called like its function, with the function's own parameters ``Q`` and return type ``S``.

    For an ``async def``, ``S`` is the coroutine and ``R`` the value that it returns.
    """

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> S:
        function: Callable[..., Any] = self.function
        returned: S = function(*args, **kwargs)
        return returned


#: An app's name or its decorated function.
AppRef: TypeAlias = str | Definition[..., Any]
#: One entry of ``needs``: an app's function or name, a restricted dependency, or alternatives.
Need: TypeAlias = str | Definition[..., Any] | AppDependency | Alternatives
#: One alternative: an entry, or several that are required together.
Choice: TypeAlias = (
    str | Definition[..., Any] | AppDependency | Sequence[str | Definition[..., Any] | AppDependency]
)


def app_name(app: AppRef) -> str:
    """Return the name of an app."""
    return app if isinstance(app, str) else app.name


def any_of(*choices: Choice) -> Alternatives:
    """Return a dependency that is met if any of the ``choices`` is met. A list is one choice, and needs all of its
    entries.

    The first choice is requested. If it fails, the next one is.
    """
    if len(choices) < 2:
        raise ValueError("any_of needs at least two alternatives")
    return Alternatives(tuple(tuple(_dependencies(choice)) for choice in choices))


def as_dependency(entry: object) -> AppDependency:
    """Return an entry of ``needs`` that is no alternative. Raises ValueError if it is something else."""
    if isinstance(entry, AppDependency):
        return entry
    if isinstance(entry, Definition):
        return AppDependency(app=entry.name)
    if isinstance(entry, str):
        return AppDependency(app=entry)
    raise ValueError(
        f"{entry!r} is no dependency; write an app's function or name, fetch.all(…), fetch.where(…) or any_of(…)"
    )


@overload
def each(values: str) -> Any: ...
@overload
def each(values: Sequence[V]) -> V: ...
def each(values: Sequence[Any] | str) -> Any:
    """Return the default of a parameter that has these autofill values: the values that are used if a request names
    none.

    ``values`` is a list, a ``range``, or a half-open range as text: ``"0:10"``, ``"2026-01-01:2027-01-01"``.
    """
    if isinstance(values, range) and values.step > 0:
        return Each(f"{values.start}:{values.stop}:{values.step}")
    if isinstance(values, str):
        return Each(values)
    return Each(tuple(value.value if isinstance(value, Enum) else value for value in values))


_BRACES = re.compile(r"\{([^{}]*)\}")


def _names(options: Mapping[str, object], signature: Signature) -> list[str]:
    """Return the identifiers of the key in their order."""
    template = options.get("job_id", options.get("job_id_template"))
    if isinstance(template, str):
        return _BRACES.findall(template)
    return [it.name for it in signature.identifiers]


def _delimiter(options: Mapping[str, object]) -> str:
    """Return the text between two identifiers. Default: ``_``, as in templates that follow from signatures."""
    template = options.get("job_id", options.get("job_id_template"))
    between = _BRACES.split(template)[2:-1:2] if isinstance(template, str) else []
    return between[0] if between else "_"


def _text(value: object) -> str:
    """Return an identifier as keys contain it."""
    if isinstance(value, Enum):
        return str(value.value)
    return str(number_of_day(value)) if isinstance(value, date) else str(value)


def _dependencies(choice: Choice) -> Iterator[AppDependency]:
    if isinstance(choice, Sequence) and not isinstance(choice, str):
        yield from map(as_dependency, choice)
    else:
        yield as_dependency(choice)


def _listed(value: KeyValue | Sequence[KeyValue]) -> tuple[KeyValue, ...]:
    return (value,) if isinstance(value, str | int | date) else tuple(value)
