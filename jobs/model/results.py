"""Results of jobs: limits, and the types by which users' code requests and reads them.

A job's result is the value that its function returned, encoded as JSON by msgspec. ``JobRequest`` is a request for one
job whose result has a known type. ``Returning`` is a decorated function, which has the type of its results.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from sluice.jobs.api.annotations import evaluated
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.submission import JSON

#: Maximum size of a result in the ledger: 256 KiB. A larger one is stored in the blob store.
LEDGER_BYTES_MAX = 256 * 1024
#: Maximum size of a result: 16 MiB. The worker and each reader have it in memory as a whole.
RESULT_BYTES_MAX = 16 * 1024 * 1024

#: Kinds of ``decode`` that are called. A generic type, for example ``list[int]``, can be called too, but is a type.
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, partial)

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Returning(Protocol[R_co]):
    """Decorated function of an app. Its ``function`` returns the results of the app's jobs."""

    @property
    def name(self) -> str: ...

    @property
    def function(self) -> Callable[..., R_co]: ...


class JobRequest(Struct, Generic[R], frozen=True, kw_only=True):
    """Request for one job whose result has a type, for ``Client.submit``. ``fetch.job(…)`` returns one."""

    #: Name of the app.
    app: str
    #: Key of the job.
    key: str
    #: Kwargs of the job, as plain JSON.
    kwargs: Mapping[str, JSON] = {}
    #: Type of the result, or a function that makes the result of plain JSON. Default: plain JSON.
    decode: Any = None


@lru_cache(1024)
def result_type(function: Callable[..., Any]) -> Any:
    """Return the annotation of a function's return value. ``Any`` if it has none or if it cannot be evaluated here."""
    annotation = evaluated(function, getattr(function, "__annotations__", {}).get("return", Any))
    return Any if isinstance(annotation, str) else annotation


def decoded(text: str, decode: Any, name: object) -> Any:
    """Return the value of an encoded result. ``decode`` is a type, a function of the plain value, or None.

    A type that msgspec cannot decode has no effect. BadRequest if the value does not fit the type. ``name`` is the job,
    for the message.
    """
    if isinstance(decode, _FUNCTIONS):
        return decode(msgspec.json.decode(text))
    try:
        return msgspec.json.decode(text, type=Any if decode is None else decode)
    except msgspec.ValidationError as error:
        raise BadRequest(
            f"The result of {name} does not fit the type that its function returns: {error}.",
            advice="If the function has changed since, run the job again.",
        ) from error
    except TypeError:
        return msgspec.json.decode(text)
