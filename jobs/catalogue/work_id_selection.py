"""Selection of the work IDs of a submission. The submission names them, or functions of the app's author do.

These sources are tried in this order. The first existing one decides, even if it names no IDs:

1. the submission's ``work_ids``, or the kwarg ``work_ids``; null in the kwargs counts as missing
2. the app's ``select_work``: a list, or a tuple with the list as its first element
3. the ``default_work_ids`` of the app or its source: a list, or a pair of the list and the kwargs for the chunks
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from operator import index
from typing import Any

from msgspec import Struct

from sluice.jobs.catalogue.sources.functions import blame
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import WorkId, parse_work_ids
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import JSON, Submission
from sluice.jobs.runners.function.call import settled
from sluice.jobs.text.json_value import as_json

#: Kwarg in which a submission may name its IDs, and in which each chunk receives its own IDs.
WORK_IDS = "work_ids"


class Selected(Struct, frozen=True, kw_only=True):
    """Work IDs of a submission, and the kwargs that all its chunks receive.

    ``work_ids`` are sorted and distinct. They may be empty.
    """

    work_ids: tuple[WorkId, ...]
    kwargs: Mapping[str, JSON]


def select(app: App, submission: Submission) -> Selected:
    """Return the work IDs of a submission. Raises BadRequest if none are named or the named IDs are invalid.

    It may call functions of the author, which may take long.
    """
    kwargs = dict(submission.kwargs)
    named = kwargs.pop(WORK_IDS, None)
    if named is not None and submission.work_ids is not None:
        raise BadRequest(
            "work_ids are set both in the submission and in its kwargs.", advice="Set them once."
        )
    if submission.work_ids is not None:
        named = submission.work_ids
    if named is not None:
        return Selected(work_ids=_parsed(named, f"The work_ids for {app.name}"), kwargs=kwargs)
    if app.chunking is not None and app.chunking.select is not None:
        return _by_app(app, app.chunking.select, kwargs)
    if app.chunking is not None and app.chunking.default_ids is not None:
        return _by_default(app, app.chunking.default_ids, kwargs)
    raise BadRequest(
        f"The submission has no work IDs, and {app.name} has no select_work.",
        where=app.origin,
        advice=f"Set work_ids, give {app.name} a select_work, or its source default_work_ids.",
    )


def _by_app(app: App, function: Callable[..., Any], kwargs: Mapping[str, JSON]) -> Selected:
    whose = f"select_work of {app.name}"
    answer = _ask(function, kwargs, whose)
    ids = answer[0] if isinstance(answer, tuple) and answer else answer
    if not isinstance(ids, list):
        raise _refusal(whose, answer, "a list of work IDs, or a tuple that begins with such a list")
    return Selected(work_ids=_parsed([*map(_number, ids)], whose), kwargs=kwargs)


def _by_default(app: App, function: Callable[..., Any], kwargs: Mapping[str, JSON]) -> Selected:
    """Return the IDs and kwargs of ``default_work_ids``.

    The returned kwargs replace the submission's, so kwargs that only this function needs are dropped.
    """
    whose = f"default_work_ids of {app.name}"
    answer = _ask(function, kwargs, whose)
    match answer:
        case list():
            return Selected(work_ids=_parsed([*map(_number, answer)], whose), kwargs=kwargs)
        case (list() as ids, Mapping() as others) if isinstance(answer, tuple):
            return Selected(work_ids=_parsed([*map(_number, ids)], whose), kwargs=_without_ids(others, whose))
    raise _refusal(
        whose, answer, "a list of work IDs, or a pair of such a list and the kwargs for the chunks"
    )


def _ask(function: Callable[..., Any], kwargs: Mapping[str, JSON], whose: str) -> object:
    """Return the result of the function. Any exception in it is reported, an AttributeError like any other."""
    try:
        return settled(function(**deepcopy(dict(kwargs))))
    except (Exception, SystemExit) as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        raise BadRequest(f"{whose} failed: {blame(error)}.") from None


def _refusal(whose: str, answer: object, expected: str) -> BadRequest:
    first = f" of {type(answer[0]).__name__} first" if isinstance(answer, tuple) and answer else ""
    return BadRequest(f"{whose} has to return {expected}; it returned a {type(answer).__name__}{first}.")


def _number(each: Any) -> Any:
    """Return integers of other libraries as ``int``, and any other value unchanged."""
    if isinstance(each, bool):
        return each
    try:
        return index(each)
    except TypeError:
        return each


def _parsed(raw: JSON, whose: str) -> tuple[WorkId, ...]:
    try:
        return parse_work_ids(raw)
    except ValueError as error:
        raise BadRequest(f"{whose} cannot be used: {error}.") from None


def _without_ids(kwargs: Mapping[Any, Any], whose: str) -> dict[str, JSON]:
    """Return the kwargs without work IDs, because each chunk receives its own."""
    try:
        plain = as_json(kwargs)
    except ValueError as error:
        raise BadRequest(f"The kwargs from {whose} cannot be used: {error}.") from None
    return {name: value for name, value in plain.items() if name != WORK_IDS}
