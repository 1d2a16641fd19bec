"""Signature of a job's function: which parameter receives the job, an identifier or a kwarg, and of which type.

- A parameter that is annotated ``Job`` or named ``job`` receives the job. The first parameter of a saga's function
  receives the flight.
- A keyword-only parameter receives a kwarg of the submission.
- Any other parameter receives the identifier of its name. If the key has no such identifier, it receives a kwarg.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, NewType, get_args, get_origin

import msgspec
from msgspec import Struct

from sluice.jobs.api.annotations import evaluated
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Job
from sluice.jobs.model.submission import JSON

_Raw = inspect.Parameter
#: Annotation of a parameter that has none, or whose annotation cannot be evaluated.
UNKNOWN = _Raw.empty
_KINDS: Mapping[object, str] = {str: "str", int: "int", date: "date"}


class Each(Struct, frozen=True):
    """Default of a parameter that has a list or a range of autofill values (``sluice.each``)."""

    values: tuple[str | int | date, ...] | str


class Parameter(Struct, frozen=True, kw_only=True):
    """Parameter of a job's function. ``default`` is ``UNKNOWN`` if there is none."""

    name: str
    annotation: object
    default: object
    positional_only: bool = False
    keyword_only: bool = False

    @property
    def required(self) -> bool:
        """True if the job must provide a value. The values of ``each`` are not a default."""
        return self.default is UNKNOWN or isinstance(self.default, Each)

    @property
    def kind(self) -> str | list[str | int] | None:
        """Kind of the identifier, as ``identifiers`` declares it. None if the annotation is missing.

        Raises ValueError if no identifier can have this type.
        """
        annotation = _bare(self.annotation)
        if annotation is UNKNOWN or annotation is Any:
            return None
        if annotation in _KINDS:
            return _KINDS[annotation]
        values = _choices(annotation)
        if (
            values
            and all(type(value) is type(values[0]) for value in values)
            and type(values[0]) in (str, int)
        ):
            return values
        raise ValueError(
            f"{_written(annotation)} is no type of an identifier; use str, int, date or a Literal,"
            " or make the parameter keyword-only, so that it receives a kwarg"
        )

    def of_key(self, value: object) -> object:
        """Return an identifier as the function receives it: a member, if the annotation is an enumeration."""
        annotation = _bare(self.annotation)
        is_enumeration = isinstance(annotation, type) and issubclass(annotation, Enum)
        return annotation(value) if is_enumeration else value

    def of_kwarg(self, value: JSON) -> object:
        """Return a kwarg converted to the annotated type. BadRequest if it does not fit.

        A type that JSON cannot express is not converted.
        """
        if self.annotation is UNKNOWN:
            return value
        try:
            if isinstance(msgspec.inspect.type_info(self.annotation), msgspec.inspect.CustomType):
                return value
        except (TypeError, NameError):
            return value
        try:
            return msgspec.convert(value, self.annotation)
        except msgspec.ValidationError as error:
            raise BadRequest(f"The kwarg {self.name} does not fit its type: {error}.") from None


class Signature(Struct, frozen=True, kw_only=True):
    """Parameters of a job's function. ``job`` are the names of the parameters that receive the job, or the flight.

    ``takes_rest`` is True if the function accepts any further argument by name.
    """

    parameters: tuple[Parameter, ...]
    job: frozenset[str]
    takes_rest: bool

    def named(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of a call by name. The job is not among them. Raises TypeError if they do not fit."""
        positional = [it.name for it in self.parameters if not it.keyword_only]
        if len(args) > len(positional):
            raise TypeError(f"{name}.job() takes {len(positional)} positional arguments, not {len(args)}")
        given = dict(zip(positional, args, strict=False))
        if repeated := given.keys() & kwargs.keys():
            raise TypeError(f"{name}.job() has two values for {', '.join(sorted(repeated))}")
        return {**given, **kwargs}

    @property
    def identifiers(self) -> tuple[Parameter, ...]:
        """Parameters that are identifiers unless a key template is given, in their order."""
        return tuple(it for it in self.parameters if not it.keyword_only)


def read_signature(function: Callable[..., Any], *, of_saga: bool = False) -> Signature:
    """Return the signature of a function. With ``of_saga``, it takes a flight first.

    Some callables written in C have no signature. They receive all arguments by name.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return Signature(parameters=(), job=frozenset(), takes_rest=True)
    found = signature.parameters.values()
    annotations = {it.name: evaluated(function, it.annotation) for it in found}
    if of_saga:
        job = frozenset([*annotations][:1])
    else:
        job = frozenset(
            name for name, annotation in annotations.items() if name == "job" or _is_job(annotation)
        )
    return Signature(
        parameters=tuple(_parameters(found, annotations, job)),
        job=job,
        takes_rest=any(it.kind is _Raw.VAR_KEYWORD for it in found),
    )


def _parameters(found: Any, annotations: Mapping[str, object], job: frozenset[str]) -> Iterator[Parameter]:
    for it in found:
        if it.name in job or it.kind in {_Raw.VAR_KEYWORD, _Raw.VAR_POSITIONAL}:
            continue
        annotation = annotations[it.name]
        yield Parameter(
            name=it.name,
            annotation=UNKNOWN if isinstance(annotation, str) else annotation,
            default=it.default,
            positional_only=it.kind is _Raw.POSITIONAL_ONLY,
            keyword_only=it.kind is _Raw.KEYWORD_ONLY,
        )


def _is_job(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.strip("'\"").rpartition(".")[2] == "Job"
    return isinstance(annotation, type) and issubclass(annotation, Job)


def _bare(annotation: object) -> Any:
    """Return the type without ``Annotated`` and ``NewType`` around it."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        else:
            return annotation


def _choices(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [member.value for member in annotation]
    return []


def _written(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
