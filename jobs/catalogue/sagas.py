"""Options of an app of type ``saga``.

function = the path of a function that takes the flight and returns its steps
hooks    = [module:object …]
context  = the path of a function without arguments

In Python the function is the decorated one, and the other two may be the objects themselves.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from sluice.jobs.catalogue.chunks import CHUNK_WORDS
from sluice.jobs.catalogue.draft import Entry, Work
from sluice.jobs.catalogue.faults import At
from sluice.jobs.catalogue.functions import find_function, find_object
from sluice.jobs.catalogue.module_text import text_behind
from sluice.jobs.catalogue.partitions import PARTITION_WORDS
from sluice.jobs.sagas.awaited import is_awaited
from sluice.jobs.sagas.saga import HOOK_METHODS, Saga

SAGA_WORDS = ("hooks", "context")
_COUNT_NOTHING = {
    "fail_on": "it has neither an exit code nor a stderr; a step that fails returns Fatal, or raises",
    "max_losses": "its flight is resumed after the loss of a worker, without a limit",
    "max_timeouts": "a flight over its timeout has failed and is undone; set max_fails to limit how often",
}


def read_saga(words: Mapping[str, object], entry: Entry, at: At) -> Work:
    """Return the work of a saga.

    ``source`` is the text of the function and of everything in its module that it uses. The steps do the work, so a
    change of the steps changes the effect of the app.
    """
    _refuse_what_counts_nothing(words, at)
    build, path = _build(words, entry, at)
    if build is None:
        return Work(job_type="saga")
    saga = Saga(build=build, context=_context(words.get("context"), at), hooks=_hooks(words, at))
    return Work(job_type="saga", function_path=path, saga=saga, source=entry.text or text_behind(build))


def _refuse_what_counts_nothing(words: Mapping[str, object], at: At) -> None:
    others = [word for word in (*CHUNK_WORDS, *PARTITION_WORDS) if word in words]
    if others:
        at.add(f"{', '.join(others)}: a saga runs for one key; give it a job_id, and leave these options out")
    for word, why in _COUNT_NOTHING.items():
        if word in words:
            at.add(f"{word}: it does not apply to a saga: {why}")


def _build(words: Mapping[str, object], entry: Entry, at: At) -> tuple[Callable[..., Any] | None, str | None]:
    build, path = entry.function, entry.function_path
    try:
        if "function" in words:
            written = words["function"]
            if build or not isinstance(written, str):
                raise ValueError("write package.module:name, and only where no function is decorated")
            build, path = find_function(written), written
        if build is None:
            at.add("an app of job_type saga needs its function: package.module:name")
        else:
            _require_a_list(build)
    except ValueError as error:
        at.add(f"function: {error}")
        return None, None
    return build, path


def _require_a_list(build: Callable[..., Any]) -> None:
    name = getattr(build, "__name__", repr(build))
    if isinstance(build, type):
        raise ValueError(f"{name} is a class; a saga is made by a function that returns a list of steps")
    if inspect.iscoroutinefunction(build) or inspect.isasyncgenfunction(build):
        raise ValueError(f"{name} is async, and the choice of steps is not awaited; make it a def")
    if inspect.isgeneratorfunction(build):
        raise ValueError(f"{name} yields its steps; return a list of them")
    if not _takes(build, 1):
        raise ValueError(f"{name} has to take one argument, the flight")


def _context(value: object, at: At) -> Callable[[], Any] | None:
    """Return the function for the context. Each process calls it without arguments, so that is checked here."""
    if value is None:
        return None
    try:
        context = find_function(value) if isinstance(value, str) else value
        if not callable(context):
            raise ValueError(
                f"{value!r} is neither a function nor the path of one; write package.module:name"
            )
        name = getattr(context, "__name__", value)
        if is_awaited(context):
            raise ValueError(
                f"{name} is async, and the shared context of all flights is not awaited; make it a def"
            )
        if not _takes(context, 0):
            raise ValueError(f"{name} must take no arguments")
    except ValueError as error:
        at.add(f"context: {error}")
        return None
    return context


def _hooks(words: Mapping[str, object], at: At) -> tuple[Any, ...]:
    written = words.get("hooks", ())
    if not isinstance(written, list | tuple):
        at.add(f"hooks: {written!r} is no list of hooks; write [package.module:name]")
        return ()
    hooks: list[object] = []
    for each in written:
        try:
            hooks.append(_hook(each))
        except ValueError as error:
            at.add(f"hooks: {error}")
    return tuple(hooks)


def _hook(written: object) -> object:
    """Return a hook. If it is a function, the object that it makes can only be checked later."""
    hook = find_object(written) if isinstance(written, str) else written
    if hook is None:
        place, _, name = str(written).rpartition(":")
        raise ValueError(f"{place} has no {name!r}" if place else "None is no hook")
    has = [name for name in HOOK_METHODS if callable(getattr(hook, name, None))]
    if not has and (isinstance(hook, type) or not callable(hook)):
        raise ValueError(f"{written!r} has none of {', '.join(HOOK_METHODS)}")
    name = getattr(hook, "__name__", type(hook).__name__)
    if awaited := [each for each in has if is_awaited(getattr(hook, each))]:
        raise ValueError(f"{', '.join(awaited)} of {name} is async, and hooks are not awaited; make it a def")
    makes_one = isinstance(hook, type) or not has
    if makes_one and is_awaited(hook):
        raise ValueError(f"{name} is async, and hooks are not awaited; make it a def")
    if makes_one and callable(hook) and not _takes(hook, 1):
        raise ValueError(
            f"{name} has to take one argument, the flight: it is called for the hook of each run"
        )
    return hook


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether the function accepts this many arguments.

    Some callables written in C have no signature; their errors appear when they are called.
    """
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True
