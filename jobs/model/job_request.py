"""Request for one job of an app, as a program makes it: ``fetch.job(day=date(2026, 11, 20), shop="graz")``."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from sluice.jobs.model.submission import JSON

R = TypeVar("R", covariant=True)  # noqa: PLC0105  # The name that the definition's result type has everywhere.


class JobRequest(Struct, Generic[R], frozen=True, kw_only=True):
    """Job and the kwargs with which it is requested. ``returns`` is the annotated type of its result, ``R``."""

    app: str
    key: str
    kwargs: Mapping[str, JSON] = {}
    returns: Any = Any
